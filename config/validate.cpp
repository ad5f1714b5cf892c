#include "config/validate.hpp"

#include "config/foreign_args.hpp"
#include "config/plugin_args.hpp"
#include "config/print.hpp"

namespace plimsoll::config {
namespace {

void append(Problems& to, Problems from) {
  for (Problem& problem : from) to.push_back(std::move(problem));
}

// An unknown field is said as everywhere in the file: with its whole path and the nearest name.
Problem problem_of(const PluginArgs& args, ArgsError error) {
  if (error.message != "unknown field") return args.problem(error.path, std::move(error.message));
  Problem problem = args.problem(error.path, "");
  problem.message = "unknown field " + go_quoted(problem.path);
  if (!args.path.empty()) problem.at = locate_key(args.source, error.path);
  const std::string close = nearest_args_field(args.name, error.path);
  if (!close.empty()) problem.message += ", did you mean " + go_quoted(close) + "?";
  return problem;
}

Validation validate_loaded(LoadedConfig loaded, const PluginRegistry& registry,
                           const ArgsChecker& check_args) {
  Validation out;
  out.file = std::move(loaded.file);
  out.errors = std::move(loaded.errors);
  out.warnings = std::move(loaded.warnings);
  if (!loaded.config && !loaded.partial) return out;
  out.config = std::move(loaded.config ? *loaded.config : *loaded.partial);
  Expansion expansion = expand_profiles(out.config, registry);
  out.profiles = std::move(expansion.profiles);
  append(out.errors, std::move(expansion.errors));
  append(out.warnings, std::move(expansion.warnings));
  if (check_args) {
    for (const EffectiveProfile& profile : out.profiles) {
      for (const PluginArgs& args : profile.args) {
        if (has_known_args(args.name)) continue;
        for (ArgsError& error : check_args(args.name, args.json)) {
          out.errors.push_back(problem_of(args, std::move(error)));
        }
      }
    }
  }
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
  return ok() ? print_effective(config, profiles) : std::string();
}

std::string Validation::effective_json() const {
  return ok() ? config::effective_json(config, profiles) : std::string();
}

Validation validate_file(const std::string& path, const PluginRegistry& registry,
                         const ArgsChecker& check_args) {
  return validate_loaded(load_config_file(path), registry, check_args);
}

Validation validate_text(std::string_view text, std::string file, const PluginRegistry& registry,
                         const ArgsChecker& check_args) {
  return validate_loaded(load_config_text(text, std::move(file)), registry, check_args);
}

}  // namespace plimsoll::config
