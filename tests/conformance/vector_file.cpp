#include "tests/conformance/vector_file.hpp"

#include <sys/stat.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace plimsoll::conformance {

Result<void> for_each_line(const std::string& path,
                           const std::function<bool(std::string_view)>& visit) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return fail(ErrorCode::kNotFound, path + ": " + std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kInvalid, path + ": not a file");
  // gzread also reads files that are not compressed, as they are.
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return fail(ErrorCode::kNotFound, path + ": cannot be opened");

  std::string rest;
  std::vector<char> buffer(size_t{256} << 10);
  while (true) {
    const int count = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    if (count == 0) break;
    if (count < 0) {
      int code = 0;
      return fail(ErrorCode::kInvalid, path + ": " + gzerror(file.get(), &code));
    }
    rest.append(buffer.data(), static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      if (end > begin && !visit(std::string_view(rest).substr(begin, end - begin))) return {};
      begin = end + 1;
    }
    rest.erase(0, begin);
  }
  int code = Z_OK;
  const char* problem = gzerror(file.get(), &code);
  if (code != Z_OK && code != Z_STREAM_END) {
    return fail(ErrorCode::kInvalid, path + ": cut off or damaged: " + problem);
  }
  if (!rest.empty()) visit(rest);
  return {};
}

}  // namespace plimsoll::conformance
