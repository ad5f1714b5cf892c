#include "framework/runtime/loading/trusted_path.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace plimsoll {
namespace {

constexpr int kMostLinks = 40;  // the kernel's limit

std::string octal(mode_t mode) {
  std::string text = "0000";
  for (std::size_t i = 0; i < 4; ++i) {
    text[3 - i] = static_cast<char>('0' + ((mode >> (3 * i)) & 7));
  }
  return text;
}

Result<void> judge_owner(const struct stat& info, std::string_view what) {
  if (info.st_uid == 0 || info.st_uid == ::geteuid()) return {};
  return fail(ErrorCode::kInvalid,
              std::string(what) + " belongs to user " + std::to_string(info.st_uid) +
                  ", who could change what the scheduler runs: chown it to root or to the user who "
                  "runs the scheduler");
}

Result<void> judge_mode(const struct stat& info, std::string_view what) {
  if ((info.st_mode & (S_IWOTH | S_IWGRP)) == 0) return {};
  const bool others = (info.st_mode & S_IWOTH) != 0;
  const bool group = (info.st_mode & S_IWGRP) != 0;
  return fail(ErrorCode::kInvalid, std::string(what) + " is writable by " +
                                       (others ? "others" : "its group") + " (mode " +
                                       octal(info.st_mode & 07777) +
                                       "), who could change what the scheduler runs: chmod " +
                                       (group ? "g" : "") + (others ? "o" : "") + "-w it");
}

std::string target_of(int descriptor, const char* name) {
  std::array<char, 4097> text{};
  const ssize_t size = ::readlinkat(descriptor, name, text.data(), text.size() - 1);
  return size < 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

std::string shown(const struct stat& info, int descriptor) {
  const std::string path = target_of(AT_FDCWD, descriptor_path(descriptor).c_str());
  return (S_ISLNK(info.st_mode) ? "the link " : "the folder ") + path + " on the way to it";
}

// Appends the parts of the path in reverse order.
void push_parts(const std::filesystem::path& path, std::vector<std::string>& left) {
  std::vector<std::string> parts;
  for (const auto& part : path) {
    const std::string text = part.string();
    if (!text.empty() && text != "." && text != "/") parts.push_back(text);
  }
  left.insert(left.end(), parts.rbegin(), parts.rend());
}

tl::unexpected<Error> not_opened() {
  return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid, std::strerror(errno));
}

}  // namespace

std::string descriptor_path(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

TrustedPath::TrustedPath(TrustedPath&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), info_(other.info_) {}

TrustedPath& TrustedPath::operator=(TrustedPath&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(info_, other.info_);
  return *this;
}

TrustedPath::~TrustedPath() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<TrustedPath> TrustedPath::open(const std::filesystem::path& path) {
  constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  TrustedPath at(::open("/", kFlags));
  if (at.descriptor_ < 0 || ::fstat(at.descriptor_, &at.info_) != 0) return not_opened();
  std::vector<std::string> left;
  push_parts(path, left);
  int links = 0;
  while (!left.empty()) {
    if (S_ISDIR(at.info_.st_mode)) {
      const std::string what = shown(at.info_, at.descriptor_);
      if (auto owned = judge_owner(at.info_, what); !owned) return fail(owned.error());
      const bool sticky = (at.info_.st_mode & S_ISVTX) != 0;
      if (auto closed = judge_mode(at.info_, what); !closed && !sticky) return fail(closed.error());
    }
    const std::string name = std::move(left.back());
    left.pop_back();
    TrustedPath next(::openat(at.descriptor_, name.c_str(), kFlags));
    if (next.descriptor_ < 0 || ::fstat(next.descriptor_, &next.info_) != 0) return not_opened();
    if (S_ISLNK(next.info_.st_mode)) {
      const std::string what = shown(next.info_, next.descriptor_);
      if (auto owned = judge_owner(next.info_, what); !owned) return fail(owned.error());
      if (++links > kMostLinks) {
        errno = ELOOP;
        return not_opened();
      }
      const std::filesystem::path target = target_of(next.descriptor_, "");
      push_parts(target, left);
      if (!target.is_absolute()) continue;
      next = TrustedPath(::open("/", kFlags));
      if (next.descriptor_ < 0 || ::fstat(next.descriptor_, &next.info_) != 0) return not_opened();
    }
    at = std::move(next);
  }
  return at;
}

Result<void> TrustedPath::judge(std::string_view what) const {
  if (auto owned = judge_owner(info_, what); !owned) return owned;
  return judge_mode(info_, what);
}

std::string TrustedPath::real_path() const {
  return target_of(AT_FDCWD, descriptor_path(descriptor_).c_str());
}

}  // namespace plimsoll
