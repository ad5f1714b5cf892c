#include "plugins/builtin/volumes/volume_affinity.hpp"

#include <algorithm>

#include "framework/api/decode.hpp"
#include "framework/api/selectors.hpp"

namespace plimsoll::volumes {

using sdk::List;

Result<AffinityRef> VolumeAffinity::read(std::string_view json) {
  std::string wrapped = R"({"requiredDuringSchedulingIgnoredDuringExecution":)";
  wrapped.append(json).append("}");
  auto decoded = decode_node_affinity(wrapped);
  if (!decoded) return fail(std::move(decoded.error()));
  std::shared_ptr<VolumeAffinity> made(new VolumeAffinity(std::string(json)));
  made->decoded_ = std::move(*decoded);
  made->prepare();
  return made;
}

void VolumeAffinity::prepare() {
  for (const auto& term : List<plimsoll_node_selector_term>(decoded_->required)) {
    const bool is_empty = term.expressions.count == 0 && term.fields.count == 0;
    if (is_empty || has_error(term)) continue;
    if (term.expressions.count == 0) every_node_ = true;
    terms_.push_back(term);
    terms_.back().fields = {};
  }
  if (every_node_ || terms_.size() != 1) return;
  const List<plimsoll_requirement> expressions = terms_.front().expressions;
  const plimsoll_requirement& only = expressions[0];
  if (expressions.size() == 1 && only.op == PLIMSOLL_OP_IN && only.values.count == 1) {
    only_value_ = &only;
  }
}

bool VolumeAffinity::matches(sdk::Node node) const {
  if (every_node_) return true;
  return std::any_of(terms_.begin(), terms_.end(), [&](const plimsoll_node_selector_term& term) {
    return plimsoll::matches(term, node.object());
  });
}

}  // namespace plimsoll::volumes
