#pragma once
// Errors of the topology library: a sentence that says what, where and what to do. The library is
// linked into plugins, which see nothing of the scheduler, so it has its own small type.

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace plimsoll::topology {

template <typename T>
using Parsed = tl::expected<T, std::string>;

[[nodiscard]] inline tl::unexpected<std::string> bad(std::string message) {
  return tl::unexpected<std::string>(std::move(message));
}

}  // namespace plimsoll::topology
