#pragma once
// The available plugins: those that are linked in and those in plugin directories.
//
// The ELF note and the permissions of a file are checked before any of its code runs; only then is
// it loaded. A library is never unloaded. A file that is refused is kept as a record with the exact
// reason: which file, what is wrong with it, and what to do.

#include <plimsoll/plugin_abi.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"
#include "framework/runtime/plugin/profile_spec.hpp"

namespace plimsoll {

struct StaticModule {
  std::string name;
  std::string version;
  plimsoll_plugin_create_fn create;
  uint64_t capabilities = 0;        // as in a note
  std::string default_args = "{}";  // JSON: what its args are where a profile says nothing
};

// One plugin, loaded or refused.
struct ModuleRecord {
  std::string path;  // empty: built in
  std::string name;  // as far as it could be read
  std::string version;
  std::string license;
  std::string sdk_version;
  std::string build_id;  // hex; empty: none
  bool loaded = false;
  std::string refusal;  // why it is not loaded
  plimsoll_plugin_create_fn create = nullptr;
  uint64_t capabilities = 0;        // from the note
  std::string default_args = "{}";  // as far as they are known: of those that are linked in
};

// Reads and checks the note of a plugin file without running it. The error is a full sentence.
[[nodiscard]] Result<plimsoll_note> read_plugin_note(const std::filesystem::path& file);

// Main thread, before the scheduler starts; read-only afterwards.
class Modules {
 public:
  Modules();
  ~Modules();
  Modules(Modules&&) noexcept;
  Modules& operator=(Modules&&) noexcept;

  void add_builtin(std::span<const StaticModule> modules);

  // Loads every *.so of the directory in the order of their names, except files whose note names a
  // plugin of `instead`. Runs the files' static constructors. Fails only if the directory itself
  // cannot be used (missing, unreadable, writable by others). The record of a file says what is
  // wrong with it.
  Result<void> load_directory(const std::filesystem::path& directory,
                              std::span<const StaticModule> instead = {});
  // Loads one file. The returned record says whether it was refused.
  const ModuleRecord& load_file(const std::filesystem::path& file);

  // The loaded plugin of that name, or null.
  [[nodiscard]] const ModuleRecord* find(std::string_view name) const;
  // All, in the order they were added: built in, loaded, refused.
  [[nodiscard]] const std::vector<std::unique_ptr<ModuleRecord>>& records() const {
    return records_;
  }
  // The directories that were read.
  [[nodiscard]] const std::vector<std::filesystem::path>& folders() const { return folders_; }

  // The extension points of a loaded plugin, from its note. If the note does not state them, the
  // plugin is created with `args_json` on a host that answers nothing, inspected and destroyed;
  // this fails if the plugin's constructor does.
  [[nodiscard]] Result<std::vector<ExtensionPoint>> extension_points(
      std::string_view name, std::string_view args_json = "{}") const;

 private:
  ModuleRecord& add(ModuleRecord record);

  std::vector<std::unique_ptr<ModuleRecord>> records_;
  std::vector<std::filesystem::path> folders_;
  std::map<std::string, const ModuleRecord*, std::less<>> by_name_;
};

}  // namespace plimsoll
