#pragma once
// One plugin file: opened once, judged by what that descriptor shows, and loaded by the same
// descriptor, so that what was judged is what runs. Inner part of the runtime.

#include <plimsoll/plugin_abi.h>

#include <filesystem>
#include <string>

#include "framework/base/result.hpp"
#include "framework/runtime/elf_note.hpp"

namespace plimsoll {

// Whether plugins may be taken from a folder: it is one, and only root and we can change what is in
// it (TrustedPath).
[[nodiscard]] Result<void> check_plugin_directory(const std::filesystem::path& directory);

class PluginFile {
 public:
  // Judges without running anything: error() says what is wrong, notes() what could be read of it.
  explicit PluginFile(const std::filesystem::path& file);
  PluginFile(const PluginFile&) = delete;
  PluginFile& operator=(const PluginFile&) = delete;
  ~PluginFile();

  [[nodiscard]] const Result<void>& verdict() const { return verdict_; }
  [[nodiscard]] const ElfNotes& notes() const { return notes_; }

  // Loads the library, for ever; only if the verdict is good. Runs its static constructors. In
  // backtraces and to dladdr it has its path, not the descriptor's.
  [[nodiscard]] Result<plimsoll_plugin_create_fn> load();

 private:
  Result<void> judge(const std::filesystem::path& file);

  int descriptor_ = -1;
  std::string real_path_;
  bool uses_origin_ = false;  // it looks for its own libraries beside itself
  ElfNotes notes_;
  Result<void> verdict_;
};

}  // namespace plimsoll
