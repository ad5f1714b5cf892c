#include "node/kubelet/kubelet_line.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace plimsoll::node {
namespace {

using namespace std::string_view_literals;

// The start of an HTTP/2 connection: its preface and empty SETTINGS (RFC 9113, section 3.4). A gRPC
// server closes a connection that does not begin so.
constexpr std::string_view kHello =
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"sv;

int connect_to(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = socket.native();
  if (path.size() >= sizeof address.sun_path) return -1;
  std::copy(path.begin(), path.end(), address.sun_path);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const bool done =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::send(fd, kHello.data(), kHello.size(), MSG_NOSIGNAL) == ssize_t(kHello.size());
  if (done) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

bool KubeletLine::hold() {
  if (open()) return true;
  close();
  fd_ = connect_to(socket_);
  return fd_ >= 0;
}

bool KubeletLine::open() const {
  if (fd_ < 0) return false;
  pollfd state{fd_, POLLRDHUP, 0};
  return poll(&state, 1, 0) == 0;
}

void KubeletLine::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace plimsoll::node
