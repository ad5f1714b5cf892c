#pragma once
// Files that only root and the user who runs the scheduler can change.
//
// A path is opened from "/" on, directory by directory and link by link. Each one is checked
// through the descriptor that opens it, so the checked file is the opened file, even if something
// is renamed meanwhile. Every directory and link on the path must belong to root or to our user. No
// directory may be writable by its group or by others, unless it is sticky like /tmp. In a sticky
// directory the next entry must belong to root or to our user too, so nobody else can replace it.

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll {

class TrustedPath {
 public:
  // Opens an absolute path: a file, a directory or anything else. The error names what cannot be
  // opened, or the directory or link on the path that is not trusted.
  [[nodiscard]] static Result<TrustedPath> open(const std::filesystem::path& path);
  TrustedPath(TrustedPath&& other) noexcept;
  TrustedPath& operator=(TrustedPath&& other) noexcept;
  ~TrustedPath();

  // Whether the opened file itself is trusted; the sticky bit makes no difference here. `what`
  // names it in the error: "the file".
  [[nodiscard]] Result<void> judge(std::string_view what) const;
  [[nodiscard]] const struct stat& info() const { return info_; }
  // Opened with O_PATH.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // The path without symbolic links.
  [[nodiscard]] std::string real_path() const;

 private:
  explicit TrustedPath(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
  struct stat info_ {};
};

// The path of an open descriptor, for functions that accept only paths.
[[nodiscard]] std::string descriptor_path(int descriptor);

}  // namespace plimsoll
