#include "serving/read_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace plimsoll::serving {
namespace {

constexpr std::size_t kMost = 1U << 20U;

}  // namespace

Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return fail(ErrorCode::kInvalid, "it is no regular file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::kNotFound, std::strerror(errno));
  std::string text(kMost + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return fail(ErrorCode::kInvalid, "it cannot be read to its end");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMost) return fail(ErrorCode::kInvalid, "it has more than 1 MiB");
  return text;
}

}  // namespace plimsoll::serving
