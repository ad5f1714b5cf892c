#include "tests/support/temp_dir.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace plimsoll::test {

TempDir::TempDir(std::string_view prefix) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / (std::string(prefix) + ".XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::filesystem::filesystem_error("cannot make a temporary folder", pattern,
                                            std::error_code(errno, std::generic_category()));
  }
  path_ = pattern;
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TempDir::~TempDir() {
  if (path_.empty()) return;
  if (std::getenv("PLIMSOLL_KEEP_TEMP") != nullptr) {
    std::fprintf(stderr, "kept: %s\n", path_.c_str());
    return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<std::string> read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    return fail(ErrorCode::kNotFound, "reading " + file.string() + ": " + std::strerror(errno));
  }
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Result<void> write_file(const std::filesystem::path& file, std::string_view content,
                        unsigned mode) {
  const auto failed = [&file](const char* what) {
    return fail(ErrorCode::kInternal,
                std::string(what) + " " + file.string() + ": " + std::strerror(errno));
  };
  const int fd =
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, static_cast<mode_t>(mode));
  if (fd < 0) return failed("creating");
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      auto error = failed("writing");
      ::close(fd);
      return error;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  ::fchmod(fd, static_cast<mode_t>(mode));
  if (::close(fd) != 0) return failed("closing");
  return {};
}

std::string tail(std::string_view text, std::size_t lines) {
  std::size_t start = text.size();
  if (start > 0 && text[start - 1] == '\n') --start;
  while (lines > 0 && start != std::string_view::npos && start > 0) {
    start = text.rfind('\n', start - 1);
    --lines;
  }
  return std::string(text.substr(start == std::string_view::npos || lines > 0 ? 0 : start + 1));
}

}  // namespace plimsoll::test
