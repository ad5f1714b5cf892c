#pragma once
// One plugin file. It is opened once, then checked and loaded through the same descriptor, so that
// the checked file is the file that runs. Internal to the runtime.

#include <plimsoll/plugin_abi.h>

#include <filesystem>
#include <string>

#include "framework/base/result.hpp"
#include "framework/runtime/loading/elf_note.hpp"

namespace plimsoll {

// Whether plugins may be loaded from this path: it is a directory, and only root and the user who
// runs the scheduler can change it (TrustedPath).
[[nodiscard]] Result<void> check_plugin_directory(const std::filesystem::path& directory);

class PluginFile {
 public:
  // Checks the file without running it. verdict() says what is wrong; notes() has what could be
  // read.
  explicit PluginFile(const std::filesystem::path& file);
  PluginFile(const PluginFile&) = delete;
  PluginFile& operator=(const PluginFile&) = delete;
  ~PluginFile();

  [[nodiscard]] const Result<void>& verdict() const { return verdict_; }
  [[nodiscard]] const ElfNotes& notes() const { return notes_; }

  // Loads the library; call this only if the verdict is good. It is never unloaded. Runs its static
  // constructors. Backtraces and dladdr show its own path, not the descriptor's.
  [[nodiscard]] Result<plimsoll_plugin_create_fn> load();

 private:
  Result<void> judge(const std::filesystem::path& file);

  int descriptor_ = -1;
  std::string real_path_;
  bool uses_origin_ = false;  // it looks for libraries in its own directory ($ORIGIN)
  ElfNotes notes_;
  Result<void> verdict_;
};

}  // namespace plimsoll
