#include "tests/support/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace plimsoll::test {

Result<std::uint16_t> free_port() {
  const auto failed = [](const char* what) {
    return fail(ErrorCode::kUnavailable,
                std::string("looking for a free port: ") + what + ": " + std::strerror(errno));
  };
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    auto error = failed("bind on 127.0.0.1");
    ::close(fd);
    return error;
  }
  ::close(fd);
  return ntohs(address.sin_port);
}

}  // namespace plimsoll::test
