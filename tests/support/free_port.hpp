#pragma once
// A TCP port for a program that cannot be told to choose one itself.

#include <cstdint>

#include "framework/base/result.hpp"

namespace plimsoll::test {

// A port that was free on all addresses a moment ago: drawn at random below those that Linux takes
// for outgoing connections, bound and closed again. Another process may take it in between, so
// whoever starts a program on it tries again with another one if that program cannot bind. What
// can bind port 0 by itself should.
[[nodiscard]] Result<std::uint16_t> free_port();

}  // namespace plimsoll::test
