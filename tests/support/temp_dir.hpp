#pragma once
// Folders and files of a test's own, gone when the test is over.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll::test {

// A new empty folder with mode 0700 under TMPDIR (or /tmp), removed with all it holds by the
// destructor, unless the environment has PLIMSOLL_KEEP_TEMP set: then it stays and its name is
// printed. Not copied; one owner.
class TempDir {
 public:
  // Throws std::filesystem::filesystem_error if no folder can be made: no test can go on then.
  explicit TempDir(std::string_view prefix = "plimsoll-test");
  ~TempDir();
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&&) = delete;
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // path() / name, whether it is there or not.
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// The whole file; kNotFound if it cannot be opened.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& file);

// Writes the whole file, with the given mode, over any old one. The folder must be there.
[[nodiscard]] Result<void> write_file(const std::filesystem::path& file, std::string_view content,
                                      unsigned mode = 0600);

// The last `lines` lines of a text, for printing the end of a log.
[[nodiscard]] std::string tail(std::string_view text, std::size_t lines);

}  // namespace plimsoll::test
