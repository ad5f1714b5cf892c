#include "serving/socket_place.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace plimsoll::serving {
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

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
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

bool is_own_folder(const char* path) {
  struct stat found {};
  return stat(path, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid();
}

}  // namespace

std::string default_socket_path() {
  constexpr const char* kName = "/scheduler.sock";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') return std::string(runtime) + "/plimsoll" + kName;
  if (geteuid() == 0 || is_own_folder("/run/plimsoll")) return std::string("/run/plimsoll") + kName;
  return "/tmp/plimsoll-" + std::to_string(geteuid()) + kName;
}

Result<SocketPlace> SocketPlace::take(const std::string& path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return fail(ErrorCode::kInvalid,
                "a socket's path has 1 to " + std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                    " bytes: \"" + path + "\"; name another place with --socket");
  }
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
  if (somebody_listens(address_of(path))) return taken(path);
  place.remove_socket();
  return place;
}

SocketPlace::SocketPlace(SocketPlace&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

SocketPlace::~SocketPlace() {
  if (lock_ >= 0) close(lock_);
}

Result<int> SocketPlace::listen() const {
  const sockaddr_un address = address_of(path_);
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool listens =
      made >= 0 && bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      chmod(path_.c_str(), 0600) == 0 && ::listen(made, SOMAXCONN) == 0;
  if (listens) return made;
  const std::string why = reason();
  if (made >= 0) close(made);
  return fail(ErrorCode::kInvalid, "listening on " + path_ + ": " + why);
}

void SocketPlace::remove_socket() const {
  unlink(path_.c_str());
}

}  // namespace plimsoll::serving
