#include "cli/socket_place.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace plimsoll::cli {
namespace {

std::string reason() {
  return std::strerror(errno);
}

Result<void> own_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ErrorCode::kInvalid, "the socket's folder " + folder + " cannot be made: " +
                                         reason() + "; name another place with --socket");
  }
  struct stat found {};
  // Not through a symbolic link: in /tmp anybody could have created one.
  if (lstat(folder.c_str(), &found) != 0) {
    return fail(ErrorCode::kInvalid, "the socket's folder " + folder + ": " + reason());
  }
  if (!S_ISDIR(found.st_mode)) {
    return fail(ErrorCode::kInvalid, "the socket's folder " + folder + " is not a folder");
  }
  if (found.st_uid != geteuid() || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorCode::kInvalid,
                "the socket's folder " + folder +
                    " belongs to somebody else or can be written by others; name a folder of your "
                    "own, or one that is not there yet, with --socket");
  }
  return {};
}

bool somebody_listens(const sockaddr_un& address) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  const bool connected =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  const bool busy = !connected && errno == EAGAIN;  // its queue is full
  close(probe);
  return connected || busy;
}

tl::unexpected<Error> taken(const std::string& path) {
  return fail(ErrorCode::kConflict,
              "another process listens on " + path + "; name another place with --socket");
}

}  // namespace

Result<SocketPlace> SocketPlace::take(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return fail(ErrorCode::kInvalid,
                "a socket's path has 1 to " + std::to_string(sizeof(address.sun_path) - 1) +
                    " bytes: \"" + path + "\"; name another place with --socket");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const std::string folder = std::filesystem::path(path).parent_path();
  if (auto owned = own_folder(folder.empty() ? "." : folder); !owned) return fail(owned.error());

  const std::string lock_path = path + ".lock";
  const int lock = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return fail(ErrorCode::kInvalid, "opening " + lock_path + ": " + reason());
  SocketPlace place(path, lock);
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) return taken(path);
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return place;
  if (!S_ISSOCK(found.st_mode)) {
    return fail(ErrorCode::kInvalid, path +
                                         " is there and is no socket; name another place with "
                                         "--socket");
  }
  if (somebody_listens(address)) return taken(path);
  place.remove_socket();
  return place;
}

SocketPlace::SocketPlace(SocketPlace&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

SocketPlace::~SocketPlace() {
  if (lock_ >= 0) close(lock_);
}

Result<void> SocketPlace::close_to_others() const {
  if (chmod(path_.c_str(), 0600) == 0) return {};
  return fail(ErrorCode::kInvalid, "setting the mode of " + path_ + ": " + reason());
}

void SocketPlace::remove_socket() const {
  unlink(path_.c_str());
}

}  // namespace plimsoll::cli
