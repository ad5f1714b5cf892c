// Fields of the pod that are not signed must not matter.

#include <algorithm>

#include "framework/api/decode.hpp"
#include "lint/comparing.hpp"
#include "lint/examiner.hpp"

namespace plimsoll::lint {

void Examiner::check_pod_fields(Probe& probe) {
  static const std::vector<Field> kAll = all_pod_fields();
  for (const Field& field : kAll) {
    Json changed = probe.json;
    field.set(changed, dice_, words_);
    if (changed == probe.json) continue;
    auto decoded = decode_pod(changed.dump(), cluster_.symbols());
    if (!decoded) continue;
    const Answer answer = ask_about(*decoded);
    const bool kept =
        probe.answer.signable && answer.signable && probe.answer.signature == answer.signature;
    if (probe.answer.signature != answer.signature) {
      notes_.signed_fields.insert(std::string(field.name));
    }
    for (const Part part : {Part::kFilter, Part::kScore}) {
      if (kept) ++notes_.of(part).compared;
      const uint32_t slot = difference(part, probe.answer, answer);
      if (slot == kNoSlot) continue;
      auto& matters = notes_.report.matters;
      if (std::find(matters.begin(), matters.end(), field.name) == matters.end()) {
        matters.emplace_back(field.name);
      }
      if (!kept) continue;
      std::string what(field.name);
      if (const std::string key = smallest_pod_change(probe, field, changed, part); !key.empty()) {
        what += "[\"" + key + "\"]";
      }
      notes_.find(
          part,
          std::string(part_name(part)) + " reads the pod's " + what + ", which sign leaves out",
          "pod " + full_name(*probe.pod) + ", node " + node_name(slot) + ": " +
              answer_text(cluster_, part, probe.answer.by_slot[slot]) + ", and " +
              answer_text(cluster_, part, answer.by_slot[slot]) + " with " +
              std::string(field.name) + " changed from " + value_text(probe.json, field.pointer) +
              " to " + value_text(changed, field.pointer),
          "let sign put it down, or return Skip for pods whose answer rests on it");
    }
  }
}

std::string Examiner::smallest_pod_change(const Probe& probe, const Field& field, const Json& after,
                                          Part part) {
  return smallest(probe.json, after, field, [&](const Json& trial) {
    const auto decoded = decode_pod(trial.dump(), cluster_.symbols());
    if (!decoded) return false;
    const Answer answer = ask(cluster_, examined_, *decoded, note_);
    return answer.signable && answer.signature == probe.answer.signature &&
           difference(part, probe.answer, answer) != kNoSlot;
  });
}

}  // namespace plimsoll::lint
