#pragma once
// Tells at once when a kubelet ends: holds a connection to its pod-resources socket, which the
// kernel closes with the process. A file on disk would be noticed only when the next kubelet makes
// its socket. One thread at a time.

#include <filesystem>

namespace plimsoll::node {

class KubeletLine {
 public:
  explicit KubeletLine(std::filesystem::path socket) : socket_(std::move(socket)) {}
  ~KubeletLine() { close(); }
  KubeletLine(const KubeletLine&) = delete;
  KubeletLine& operator=(const KubeletLine&) = delete;

  // Returns whether a kubelet is there, and connects again if the connection has ended: servers
  // close one that is idle for long.
  bool hold();
  // Only for poll(), for its POLLRDHUP; -1: not connected.
  [[nodiscard]] int fd() const { return fd_; }

 private:
  [[nodiscard]] bool open() const;
  void close();

  const std::filesystem::path socket_;
  int fd_ = -1;
};

}  // namespace plimsoll::node
