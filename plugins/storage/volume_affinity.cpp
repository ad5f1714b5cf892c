#include "plugins/storage/volume_affinity.hpp"

#include <algorithm>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/api/decode/pack.hpp"
#include "framework/api/selectors.hpp"
#include "framework/base/quote.hpp"

namespace plimsoll::volumes {

using sdk::List;

namespace {

// `"name":[one,two]`, after a comma where it is needed; nothing if the list is empty.
template <typename Element, typename Append>
void append_list(std::string& out, std::string_view name, const plimsoll_list& list,
                 const Append& append) {
  if (list.count == 0) return;
  if (out.back() != '{') out += ',';
  append_json_string(out, name);
  out += ':';
  char before = '[';
  for (const Element& element : List<Element>(list)) {
    out += std::exchange(before, ',');
    append(element);
  }
  out += ']';
}

std::string node_selector_json(const plimsoll_list& terms) {
  std::string out = "{";
  const auto requirement = [&out](const plimsoll_requirement& each) {
    out += "{\"key\":";
    append_json_string(out, sdk::view(each.key));
    out += ",\"operator\":";
    append_json_string(out, operator_name(each.op));
    append_list<plimsoll_str>(out, "values", each.values, [&out](const plimsoll_str& value) {
      append_json_string(out, sdk::view(value));
    });
    out += '}';
  };
  append_list<plimsoll_node_selector_term>(
      out, "nodeSelectorTerms", terms, [&](const plimsoll_node_selector_term& term) {
        out += '{';
        append_list<plimsoll_requirement>(out, "matchExpressions", term.expressions, requirement);
        append_list<plimsoll_requirement>(out, "matchFields", term.fields, requirement);
        out += '}';
      });
  return out += '}';
}

}  // namespace

AffinityRef VolumeAffinity::of(const plimsoll_list& terms) {
  plimsoll_node_affinity affinity{};
  affinity.size = sizeof affinity;
  affinity.has_required = 1;
  affinity.required = terms;
  std::shared_ptr<VolumeAffinity> made(new VolumeAffinity(node_selector_json(terms)));
  made->decoded_ = pack_node_affinity(affinity);
  made->prepare();
  return made;
}

Result<AffinityRef> VolumeAffinity::read(std::string_view json) {
  std::string wrapped = R"({"requiredDuringSchedulingIgnoredDuringExecution":)";
  wrapped.append(json).append("}");
  auto decoded = decode_node_affinity(wrapped);
  if (!decoded) return fail(std::move(decoded.error()));
  return of((*decoded)->required);
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

bool VolumeAffinity::matches(const plimsoll_node& node) const {
  if (every_node_) return true;
  return std::any_of(terms_.begin(), terms_.end(), [&](const plimsoll_node_selector_term& term) {
    return plimsoll::matches(term, node);
  });
}

}  // namespace plimsoll::volumes
