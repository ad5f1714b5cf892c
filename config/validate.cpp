#include "config/validate.hpp"

#include "config/extenders.hpp"
#include "config/print.hpp"
#include "config/request_hints.hpp"
#include "config/text/fields.hpp"

namespace plimsoll::config {
namespace {

void append(Problems& to, Problems from) {
  for (Problem& problem : from) to.push_back(std::move(problem));
}

// What the file explains and the plugin's JSON does not: quotes (the words of <plimsoll/args.hpp>).
std::string hint_about_quotes(const Value* value, std::string_view message) {
  if (value == nullptr) return {};
  const auto wants = [&](std::string_view what) {
    return message.starts_with("must be " + std::string(what));
  };
  return quoting_hint(*value, wants("a string, not") || wants("a name, not") ? "a string"
                              : wants("true or false, not")                  ? "true or false"
                              : wants("a number")                            ? "a number"
                                                                             : "");
}

// An unknown field is reported with its whole path, as elsewhere in the file.
Problem problem_of(const PluginArgs& args, ArgsError error) {
  Problem problem = args.problem(error.path, std::move(error.message));
  if (problem.message.rfind(kUnknownField, 0) == 0) {
    problem.message.insert(kUnknownField.size(), " " + go_quoted(problem.path));
    if (!args.path.empty()) problem.at = locate_key(args.source, error.path);
  } else {
    problem.message += hint_about_quotes(value_at(args.source, error.path), problem.message);
  }
  return problem;
}

Validation validate_loaded(LoadedConfig loaded, const PluginRegistry& registry,
                           const PluginAsker& ask) {
  Validation out;
  out.file = std::move(loaded.file);
  out.errors = std::move(loaded.errors);
  out.warnings = std::move(loaded.warnings);
  if (!loaded.config) return out;
  out.config = std::move(*loaded.config);
  PluginMaker make;
  if (ask) {
    make = [&](const std::string& scheduler_name, const PluginArgs& args, Problems& errors,
               Problems& warnings) -> std::optional<ExtensionPoints> {
      MadePlugin made = ask(scheduler_name, args.name, args.json);
      out.default_args[args.name] = std::move(made.default_args);
      for (ArgsError& warning : made.warnings)
        warnings.push_back(problem_of(args, std::move(warning)));
      if (made.errors.empty()) return made.points;
      for (ArgsError& error : made.errors) errors.push_back(problem_of(args, std::move(error)));
      return std::nullopt;
    };
  }
  Expansion expansion = expand_profiles(out.config, registry, make);
  out.profiles = std::move(expansion.profiles);
  for (ProfileSpec& profile : out.profiles) {
    const auto fit = profile.args.find("NodeResourcesFit");
    if (fit == profile.args.end()) continue;
    fit->second = with_ignored_resources(fit->second, out.config.extenders);
    if (const auto devices = profile.args.find("NodeDevice"); devices != profile.args.end())
      fit->second = with_hints_ignored(fit->second, devices->second);
  }
  append(out.errors, std::move(expansion.errors));
  append(out.warnings, std::move(expansion.warnings));
  sort_by_position(out.errors);
  sort_by_position(out.warnings);
  return out;
}

std::string counted(std::size_t count, std::string_view what) {
  return std::to_string(count) + ' ' + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace

std::string Validation::report() const {
  std::string out;
  for (const Problem& error : errors) out += "error: " + to_string(error, file) + '\n';
  for (const Problem& warning : warnings) out += "warning: " + to_string(warning, file) + '\n';
  out += file + ": " +
         (ok() ? "valid, " + counted(profiles.size(), "profile") : counted(errors.size(), "error"));
  if (!warnings.empty()) out += ", " + counted(warnings.size(), "warning");
  return out + '\n';
}

std::string Validation::effective_yaml() const {
  return ok() ? print_effective(config, profiles, default_args) : std::string();
}

std::string Validation::effective_json() const {
  return ok() ? config::effective_json(config, profiles, default_args) : std::string();
}

Validation validate_file(const std::string& path, const PluginRegistry& registry,
                         const PluginAsker& ask) {
  return validate_loaded(load_config_file(path), registry, ask);
}

Validation validate_text(std::string_view text, std::string file, const PluginRegistry& registry,
                         const PluginAsker& ask) {
  return validate_loaded(load_config_text(text, std::move(file)), registry, ask);
}

}  // namespace plimsoll::config
