#pragma once
// The location of a local socket in the file system: a folder that nobody else can write to, and a
// lock file next to the socket that its owner holds during its lifetime.

#include <string>

#include "framework/base/result.hpp"

namespace plimsoll::serving {

// The default path for the scheduler and its clients: in $XDG_RUNTIME_DIR/plimsoll. Without that
// variable: in /run/plimsoll for root and the owner of that folder, in /tmp/plimsoll-<user id> for
// all others.
[[nodiscard]] std::string default_socket_path();

class SocketPlace {
 public:
  // Creates the folder if needed, takes the lock, removes a stale socket. Errors: kConflict
  // (somebody listens there), kInvalid (the path or its folder is not usable).
  [[nodiscard]] static Result<SocketPlace> take(const std::string& path);
  SocketPlace(SocketPlace&& other) noexcept;
  SocketPlace& operator=(SocketPlace&&) = delete;
  ~SocketPlace();  // releases the lock

  // A socket that listens there (a file descriptor, non-blocking): only the owner may connect (mode
  // 0600).
  [[nodiscard]] Result<int> listen() const;
  void remove_socket() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  SocketPlace(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;  // file descriptor
};

}  // namespace plimsoll::serving
