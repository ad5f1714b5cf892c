#include "framework/runtime/plugin/modules.hpp"

#include <algorithm>

#include "framework/api/symbols.hpp"
#include "framework/base/log.hpp"
#include "framework/runtime/loading/plugin_file.hpp"
#include "framework/runtime/plugin/plugin_instance.hpp"
#include "framework/runtime/plugin/prepared_plugins.hpp"
#include "framework/runtime/plugin/running_call.hpp"

namespace plimsoll {

namespace {

namespace fs = std::filesystem;

// The capability bits have the order of ExtensionPoint.
static_assert(PLIMSOLL_CAPABILITY_POST_BIND == uint64_t{1} << (kExtensionPoints - 1));

std::vector<ExtensionPoint> stated_points(uint64_t capabilities) {
  std::vector<ExtensionPoint> points;
  for (size_t i = 0; i < kExtensionPoints; ++i) {
    if ((capabilities >> i & 1) != 0) points.push_back(static_cast<ExtensionPoint>(i));
  }
  return points;
}

}  // namespace

Modules::Modules() = default;
Modules::~Modules() = default;
Modules::Modules(Modules&&) noexcept = default;
Modules& Modules::operator=(Modules&&) noexcept = default;

Result<plimsoll_note> read_plugin_note(const fs::path& file) {
  std::error_code ignored;
  const PluginFile opened(fs::absolute(file, ignored));
  if (!opened.verdict()) return fail(opened.verdict().error().within(file.string()));
  return opened.notes().note;
}

void Modules::add_builtin(std::span<const StaticModule> modules) {
  for (const StaticModule& module : modules) {
    ModuleRecord record;
    record.name = module.name;
    record.version = module.version;
    record.create = module.create;
    record.capabilities = module.capabilities;
    record.default_args = module.default_args;
    record.loaded = true;
    add(std::move(record));
  }
}

Result<void> Modules::load_directory(const fs::path& directory,
                                     std::span<const StaticModule> instead) {
  if (auto usable = check_plugin_directory(directory); !usable) {
    return fail(usable.error().within("plugin directory " + directory.string()));
  }
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".so") files.push_back(it->path());
  }
  if (error) {
    return fail(ErrorCode::kUnavailable,
                "plugin directory " + directory.string() + ": cannot be read: " + error.message());
  }
  folders_.push_back(directory);
  std::sort(files.begin(), files.end());
  const auto is_replaced = [instead](const fs::path& file) {
    if (instead.empty()) return false;  // avoids reading every note twice
    const auto note = read_plugin_note(file);
    return note && std::any_of(instead.begin(), instead.end(), [&note](const StaticModule& module) {
             return module.name == note->name;
           });
  };
  for (const fs::path& file : files) {
    if (!is_replaced(file)) load_file(file);
  }
  return {};
}

const ModuleRecord& Modules::load_file(const fs::path& file) {
  ModuleRecord record;
  record.path = file.string();
  std::error_code ignored;
  PluginFile opened(fs::absolute(file, ignored));
  const plimsoll_note& note = opened.notes().note;
  record.name = note.name;
  record.version = note.version;
  record.license = note.license;
  record.sdk_version = note.sdk_version;
  record.capabilities = note.capabilities;
  record.build_id = opened.notes().build_id;
  const auto refuse = [&](const std::string& why) -> const ModuleRecord& {
    record.refusal = record.path + ": " + why;
    log_warn("a plugin file is refused", {{"reason", record.refusal}});
    return add(std::move(record));
  };
  if (!opened.verdict()) return refuse(opened.verdict().error().message);
  if (const ModuleRecord* other = find(record.name)) {
    return refuse("a plugin of the name \"" + record.name + "\" is already " +
                  (other->path.empty() ? "built in" : "loaded from " + other->path) +
                  ": remove or rename one of the two");
  }
  const RunningCall::Plugin loading{record.name.c_str(), record.version.c_str(),
                                    record.path.c_str()};
  const LooseCall running(loading, "the loading of its file");
  auto create = opened.load();
  if (!create) return refuse(create.error().message);
  record.create = *create;
  record.loaded = true;
  log_info("plugin loaded", {{"plugin", record.name},
                             {"version", record.version},
                             {"path", record.path},
                             {"build_id", record.build_id}});
  return add(std::move(record));
}

const ModuleRecord* Modules::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Result<std::vector<ExtensionPoint>> Modules::extension_points(std::string_view name,
                                                              std::string_view args_json) const {
  const ModuleRecord* module = find(name);
  if (module != nullptr && (module->capabilities & PLIMSOLL_CAPABILITY_STATED) != 0) {
    return stated_points(module->capabilities);
  }
  SymbolTable symbols;
  PreparedPlugins one(symbols);
  auto made = one.make(*this, {}, std::string(name), std::string(args_json));
  if (made || module == nullptr) return made;
  return fail(made.error().within("initializing plugin " + in_quotes(name)));
}

ModuleRecord& Modules::add(ModuleRecord record) {
  records_.push_back(std::make_unique<ModuleRecord>(std::move(record)));
  ModuleRecord& kept = *records_.back();
  if (kept.loaded) by_name_.emplace(kept.name, &kept);
  return kept;
}

}  // namespace plimsoll
