#pragma once
// Files that nobody can change but root and the user who runs the scheduler.
//
// A path is walked from "/" on, folder by folder and link by link, each looked at through the
// descriptor by which it is entered: so what is judged is what is opened, whatever is renamed
// meanwhile. Every folder and link on the way must belong to root or to us, and no folder may be
// writable by its group or by others, unless it is sticky as /tmp is: then what is entered in it
// belongs to root or to us, and nobody else can put something else in its place.

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll {

class TrustedPath {
 public:
  // What an absolute path leads to, be it a file, a folder or something else. The error says what
  // cannot be opened, or which folder or link on the way is not to be trusted.
  [[nodiscard]] static Result<TrustedPath> open(const std::filesystem::path& path);
  TrustedPath(TrustedPath&& other) noexcept;
  TrustedPath& operator=(TrustedPath&& other) noexcept;
  ~TrustedPath();

  // Whether that itself is to be trusted; no exception for what is sticky. `what`: "the file".
  [[nodiscard]] Result<void> judge(std::string_view what) const;
  [[nodiscard]] const struct stat& info() const { return info_; }
  // Of the kind that only names it (O_PATH).
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Without links.
  [[nodiscard]] std::string real_path() const;

 private:
  explicit TrustedPath(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
  struct stat info_ {};
};

// The path of an open descriptor, for whoever takes paths only.
[[nodiscard]] std::string descriptor_path(int descriptor);

}  // namespace plimsoll
