#pragma once
// A way through the API server to a port of a pod: `kubectl port-forward`, which runs as long as
// this object lives.

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::cli {

class PortForward {
 public:
  // `target`: "pod/NAME" or "service/NAME". `flags`: kubectl's, about the cluster. Blocks until
  // the port is forwarded, for half a minute at most; the error has what kubectl says.
  [[nodiscard]] static Result<std::unique_ptr<PortForward>> start(
      const std::string& ns, const std::string& target, unsigned port,
      const std::vector<std::string>& flags);
  // On 127.0.0.1.
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  PortForward() = default;
  std::uint16_t port_ = 0;
  std::jthread kubectl_;  // ends the program when it is destroyed
};

}  // namespace plimsoll::cli
