#pragma once
// Every field of a decoded object as text, so that two of them can be compared.

#include <plimsoll/objects.h>

#include <string>

namespace plimsoll::test {

[[nodiscard]] std::string describe(const plimsoll_pod& pod);
[[nodiscard]] std::string describe(const plimsoll_node& node);

}  // namespace plimsoll::test
