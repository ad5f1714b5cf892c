// Answers about a node may change only with an aspect of it that is declared.

#include <algorithm>
#include <utility>

#include "lint/comparing.hpp"
#include "lint/examiner.hpp"

namespace plimsoll::lint {
namespace {

constexpr uint32_t kAnothers = UINT32_MAX;  // the slot was given to another node

}  // namespace

void Examiner::check_change(const Change& change) {
  note_.idle();
  for (Probe& probe : probes_) {
    const Answer before = std::move(probe.answer);
    const uint64_t asked_at = std::exchange(probe.asked_at, cluster_.log_end());
    probe.answer = ask_about(probe.pod);
    const std::vector<uint32_t> changed = cluster_.changed_since(asked_at);
    for (const Part part : {Part::kFilter, Part::kScore}) {
      if (!comparable(part, before, probe.answer)) continue;
      const size_t slots = std::min(before.by_slot.size(), probe.answer.by_slot.size());
      for (uint32_t slot = 0; slot < slots; ++slot) {
        const NodeAnswer& was = before.by_slot[slot];
        const NodeAnswer& is = probe.answer.by_slot[slot];
        if (changed[slot] == kAnothers || !was.present || !is.present) continue;
        if ((changed[slot] & declared(part)) == 0 && before.signable) ++notes_.of(part).compared;
        if (same(part, was, is)) continue;
        blame(part, change, probe, was, is, slot, changed[slot], before.signable);
      }
    }
  }
}

void Examiner::blame(Part part, const Change& change, const Probe& probe, const NodeAnswer& before,
                     const NodeAnswer& after, uint32_t slot, uint32_t changed, bool signable) {
  const std::string name(part_name(part));
  const std::string aspects_of = name + "_aspects";
  const bool own = change.node == node_name(slot);
  const bool elsewhere = changed == 0 && !own && change.kind != Change::Kind::kObject;
  notes_.of(part).rests_on |= changed;
  if (elsewhere && change.kind != Change::Kind::kTime) {
    notes_.needs_cluster[static_cast<int>(part)] = true;
  }
  const uint32_t aspects = declared(part);
  // Nothing is kept of a plugin that declares nothing or cluster scope.
  if (aspects == 0 || (aspects & PLIMSOLL_ASPECT_CLUSTER) != 0 || (aspects & changed) != 0) return;
  const std::string cluster_advice = "add PLIMSOLL_ASPECT_CLUSTER to " + aspects_of +
                                     "; if it is state that the plugin keeps of each node: add "
                                     "PLIMSOLL_ASPECT_PLUGIN, and call touch_node for every node "
                                     "that it changes for";
  std::string what;
  std::string advice;
  if (changed != 0) {
    std::string where;
    if (change.kind == Change::Kind::kNodeField && own) {
      const std::string key = smallest_node_change(probe, change, slot, part);
      if (!key.empty()) where = " (" + std::string(change.field->name) + "[\"" + key + "\"])";
    }
    const bool several = (changed & (changed - 1)) != 0;
    what = name + " rests on " + (several ? "one of: " : "") + aspect_names(changed) +
           " of the node" + where + ", and " + aspects_of + (several ? " has none" : " has it not");
    advice = "add " + std::string(several ? "the one that it reads" : "it") + " to " + aspects_of;
    if ((changed & PLIMSOLL_ASPECT_PODS) != 0) {
      advice += "; if it is state of the plugin's own: PLIMSOLL_ASPECT_PLUGIN, and touch_node";
    }
  } else if (change.kind == Change::Kind::kTime) {
    what = name + " rests on the time";
    advice =
        "call touch_node when time makes a difference (run_on_loop has a delay) and add "
        "PLIMSOLL_ASPECT_PLUGIN to " +
        aspects_of + ", or add PLIMSOLL_ASPECT_CLUSTER";
  } else if (change.kind == Change::Kind::kObject) {
    what = name + " rests on objects of " + change.resource + " without a call of touch_node";
    advice =
        "call touch_node for each node that an object changes something for, and add "
        "PLIMSOLL_ASPECT_PLUGIN to " +
        aspects_of;
  } else if (own && change.kind == Change::Kind::kNodeField) {
    what = name + " rests on the node's " + std::string(change.field->name) +
           ", whose changes have no aspect";
    advice = "add PLIMSOLL_ASPECT_CLUSTER to " + aspects_of + ", or do without";
  } else if (own) {
    what = name + " rests on state of the plugin that changed without a call of touch_node";
    advice = "call touch_node, and add PLIMSOLL_ASPECT_PLUGIN to " + aspects_of;
  } else {
    what = name + " rests on other nodes than the one it is asked about";
    advice = cluster_advice;
  }
  notes_.find(part, what,
              "pod " + full_name(*probe.pod) + ", node " + node_name(slot) + ": " +
                  answer_text(cluster_, part, before) + ", and " +
                  answer_text(cluster_, part, after) + " after: " + change.text,
              advice, !signable);
}

// Goes back to what the node was, then on by one key at a time.
std::string Examiner::smallest_node_change(const Probe& probe, const Change& change, uint32_t slot,
                                           Part part) {
  const auto answer_with = [&](const Json& node) {
    if (!changes_.put_node(node)) return NodeAnswer{};
    return ask(cluster_, examined_, probe.pod, note_).by_slot[slot];
  };
  const NodeAnswer before = answer_with(change.before);
  const std::string key =
      smallest(change.before, change.after, *change.field,
               [&](const Json& trial) { return !same(part, before, answer_with(trial)); });
  changes_.put_node(change.after);
  return key;
}

}  // namespace plimsoll::lint
