// Answers of HTTP extenders: any bytes are read or refused with a text, and what was read has the
// promised bounds.

#include <string>

#include "framework/extenders/wire.hpp"
#include "fuzz/target.hpp"

namespace plimsoll::fuzz {

void extender_answers(std::string_view input) {
  constexpr size_t kLongestReason = 300;
  for (const bool names_only : {false, true}) {
    const auto filtered = extender_wire::read_filtered(input, names_only);
    if (!filtered) {
      require(!filtered.error().message.empty(), "an error says something");
      continue;
    }
    for (const auto* failed : {&filtered->failed, &filtered->unresolvable}) {
      for (const auto& [node, why] : *failed) {
        require(why.size() <= kLongestReason, "a reason is bounded");
      }
    }
  }
  (void)extender_wire::read_scores(input);
  (void)extender_wire::read_victims(input);
  (void)extender_wire::read_bound(input);
  (void)extender_wire::node_of(input);
}

}  // namespace plimsoll::fuzz
