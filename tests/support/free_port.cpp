#include "tests/support/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string>

namespace plimsoll::test {

namespace {

// Below Linux's ports for outgoing connections (net.ipv4.ip_local_port_range, 32768 and up): a
// connection of any program may sit on one of those, and a server that is started again would not
// get its port back.
constexpr int kFirst = 12000;
constexpr int kLast = 32000;
constexpr int kAttempts = 200;

}  // namespace

Result<std::uint16_t> free_port() {
  std::random_device random;
  std::uniform_int_distribution<int> draw(kFirst, kLast);
  std::string last;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int port = draw(random);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      return fail(ErrorCode::kUnavailable,
                  std::string("looking for a free port: socket: ") + std::strerror(errno));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    const int bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    if (bound != 0) last = std::strerror(errno);
    ::close(fd);
    if (bound == 0) return static_cast<std::uint16_t>(port);
  }
  return fail(ErrorCode::kUnavailable, "looking for a free port: none of " +
                                           std::to_string(kAttempts) + " drawn from " +
                                           std::to_string(kFirst) + " to " + std::to_string(kLast) +
                                           " could be bound: " + last);
}

}  // namespace plimsoll::test
