#pragma once
// What the expressions of the vectors say of a device: those forms alone, each read by its pattern.

#include "plugins/dynamicresources/allocator/known_slice.hpp"

namespace plimsoll::dra::test {

[[nodiscard]] Judgement judge(const std::string& expression, std::string_view driver,
                              const Device& device);

}  // namespace plimsoll::dra::test
