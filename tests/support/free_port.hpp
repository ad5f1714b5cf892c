#pragma once
// A TCP port on 127.0.0.1 for a program that cannot be told to choose one itself.

#include <cstdint>

#include "framework/base/result.hpp"

namespace plimsoll::test {

// A port that was free a moment ago: bound on 127.0.0.1 with port 0, read back, and closed again.
// Another process may take it in between, so whoever starts a program on it tries again with
// another one if that program cannot bind. What can bind port 0 by itself should.
[[nodiscard]] Result<std::uint16_t> free_port();

}  // namespace plimsoll::test
