#pragma once
// The place of a local socket in the file system: a folder that nobody else can write, and a lock
// beside the socket that its owner holds for as long as it lives.

#include <string>

#include "framework/base/result.hpp"

namespace plimsoll::cli {

class SocketPlace {
 public:
  // Makes the folder if needed, takes the lock, removes a socket that was left behind. Errors:
  // kConflict (somebody listens there), kInvalid (the path or its folder will not do).
  [[nodiscard]] static Result<SocketPlace> take(const std::string& path);
  SocketPlace(SocketPlace&& other) noexcept;
  SocketPlace& operator=(SocketPlace&&) = delete;
  ~SocketPlace();  // gives the lock back

  // Once the socket is bound: nobody but its owner may connect (mode 0600).
  [[nodiscard]] Result<void> close_to_others() const;
  void remove_socket() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  SocketPlace(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;  // file descriptor
};

}  // namespace plimsoll::cli
