#include "lab/lint/examiner.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <utility>

#include "framework/api/decode/decode.hpp"

namespace plimsoll::lint {
namespace {

using When = Notes::When;

constexpr size_t kProbes = 6;
constexpr size_t kMostFailures = 10;  // with different texts
constexpr const char* kCostsTheAttempt =
    "refuse the pod with unschedulable, or take a value that it cannot read for none: an exception "
    "or an error costs the pod its attempt, and no event wakes it";
constexpr uint32_t kAnothers = UINT32_MAX;  // the slot was given to another node

size_t at(Part part) {
  return static_cast<size_t>(part);
}

// Calls `call(slot)` for each node that was asked about both times, if the scheduler would have
// kept the first answer for the second's time.
void compare(Part part, const Answer& before, const Answer& after, const auto& call) {
  const size_t p = at(part);
  if (!before.complete[p] || !after.complete[p] || before.called[p] != after.called[p]) return;
  const size_t slots = std::min(before.said[p].size(), after.said[p].size());
  for (uint32_t slot = 0; slot < slots; ++slot) {
    if (before.said[p][slot].asked && after.said[p][slot].asked) call(slot);
  }
}

// The first slot where the two differ; kNoSlot: nowhere, or they cannot be compared.
uint32_t difference(Part part, const Answer& before, const Answer& after) {
  uint32_t first = kNoSlot;
  compare(part, before, after, [&](uint32_t slot) {
    if (before.said[at(part)][slot] != after.said[at(part)][slot]) first = std::min(first, slot);
  });
  return first;
}

// Which key of a map of texts makes the difference alone; nothing: none does.
std::optional<std::string> smallest(const Json& before, const Json& after, const Field& field,
                                    const std::function<bool(const Json&)>& still_differs) {
  const auto map_of = [&field](const Json& object) {
    return field.each ? Json() : object.value(field.at, Json::object());
  };
  const auto is_map = [](const Json& map) {
    return map.is_object() && std::none_of(map.begin(), map.end(),
                                           [](const Json& one) { return one.is_structured(); });
  };
  const Json old_map = map_of(before);
  const Json new_map = map_of(after);
  if (!is_map(old_map) || !is_map(new_map)) return std::nullopt;
  std::set<std::string> keys;
  for (const Json* map : {&old_map, &new_map}) {
    for (const auto& [key, value] : map->items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    if (old_map.value(key, Json()) == new_map.value(key, Json())) continue;
    Json trial = before;
    trial[field.at] = old_map;
    if (new_map.contains(key)) {
      trial[field.at][key] = new_map[key];
    } else {
      trial[field.at].erase(key);
    }
    if (still_differs(trial)) return key;
  }
  return std::nullopt;
}

// `metadata.labels["app"]`.
std::string with_key(const Field& field, const std::optional<std::string>& key) {
  return field.name + (key ? "[\"" + *key + "\"]" : "");
}

// " from X to Y": of the key alone, if that is known.
std::string from_to(const Json& before, const Json& after, const Field& field,
                    const std::optional<std::string>& key) {
  Field of = field;
  if (key) of.at /= *key;
  return " from " + value_text(before, of) + " to " + value_text(after, of);
}

}  // namespace

void Notes::find(Part part, When when, const std::string& what, const std::string& example,
                 const std::string& advice) {
  const auto [found_at, is_new] =
      found.try_emplace(what, Found{{what, example, advice, 0}, when, part});
  Found& known = found_at->second;
  ++known.finding.times;
  if (known.when == When::kUnlessSigned && when != known.when) {
    known.when = when;
    known.finding.example = example;
  }
}

void Notes::fails(Part part, const std::string& call, const std::string& error,
                  const std::string& example, const std::string& advice) {
  constexpr size_t kLongest = 300;
  const std::string what =
      call + " fails: " + error.substr(0, std::min(error.find('\n'), kLongest));
  if (!found.contains(what) && failures == kMostFailures) return;
  failures += found.contains(what) ? 0 : 1;
  find(part, When::kAlways, what, example, advice);
}

std::vector<Finding> Notes::findings() const {
  std::vector<Finding> all;
  for (const auto& [what, one] : found) {
    if (one.when == When::kUnlessSigned && report.signs) continue;
    if (one.when != When::kAlways && unsteady[at(one.part)]) continue;
    all.push_back(one.finding);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Finding& a, const Finding& b) { return a.times > b.times; });
  return all;
}

Result<void> Examiner::run() {
  if (auto filled = changes_.fill(); !filled) return filled;
  notes_.watched.insert(cluster_.watched().begin(), cluster_.watched().end());
  make_probes();
  for (Probe& probe : probes_) {
    check_steady(probe);
    for (const Part part : kBothParts) check_rows(probe, part);
    check_feasible_set(probe);
    check_scores(probe);
    for (const Field& field : pod_fields()) check_pod_field(probe, field);
  }
  for (const Changes::Happens& happens : changes_.all()) {
    if (const auto change = happens()) check_change(*change);
    if (!world_.dice.one_in(3)) continue;
    Probe& probe = probes_[world_.dice.below(probes_.size())];
    const auto change = changes_.reserve_or_give_back(probe.answer, probe.pod);
    if (change) check_change(*change);
  }
  for (Probe& probe : probes_) check_scores(probe);
  probes_.clear();  // answers hold plugins' state
  return {};
}

void Examiner::make_probes() {
  while (probes_.size() < kProbes) {
    Json json = world_.pod("pod-" + std::to_string(probes_.size()));
    auto decoded = decode_pod(json.dump(), cluster_.symbols());
    if (!decoded) continue;  // a template's texts at odds with a random change
    Probe probe{std::move(json), std::move(*decoded), {}, cluster_.log_end()};
    probe.answer = ask(probe.pod);
    probes_.push_back(std::move(probe));
  }
}

const Answer& Notes::taken(const Answer& answer, const PodRef& pod) {
  if (answer.signable) report.signs = true;
  if (!answer.error.empty()) {
    const bool scores = answer.failed.ends_with("score");
    const Part part = scores ? Part::kScore : Part::kFilter;
    error[at(part)] = answer.failed + ": " + answer.error;
    fails(part, answer.failed, answer.error,
          "pod " + full_name(*pod) + (answer.failed_on.empty() ? "" : ", node " + answer.failed_on),
          kCostsTheAttempt);
  }
  for (const Part part : kBothParts) {
    if (!answer.called[at(part)]) continue;
    for (const Said& said : answer.said[at(part)]) {
      if (!said.asked) continue;
      PartReport& part_report = of(part);
      const auto [first, is_first] = first_said.try_emplace(part, said.value);
      part_report.varied = part_report.varied || said.value != first->second;
      ++part_report.answers;
      if (part == Part::kFilter && said.value != PLIMSOLL_SUCCESS) ++part_report.refused;
    }
  }
  return answer;
}

Answer Examiner::ask(const PodRef& pod, uint32_t without) {
  Answer answer = plugin_.ask(pod, without);
  note_.about_to("between its calls");
  notes_.taken(answer, pod);
  return answer;
}

std::string Examiner::node_name(uint32_t slot) const {
  const NodeInfo* node = cluster_.state().node_at(slot);
  return node == nullptr ? "" : node->name();
}

std::string Examiner::seen(const Probe& probe, uint32_t slot, Part part, const Said& was,
                           const std::string& between, const Said& is) const {
  return "pod " + full_name(*probe.pod) + ", node " + node_name(slot) + ": " +
         plugin_.text(part, was) + between + plugin_.text(part, is);
}

bool Examiner::keeps(Part part) const {
  const uint32_t aspects = notes_.of(part).declared;
  return aspects != 0 && (aspects & PLIMSOLL_ASPECT_CLUSTER) == 0;
}

// ---- the same question again

void Examiner::check_steady(const Probe& probe) {
  const Answer again = ask(probe.pod);
  for (const Part part : kBothParts) {
    const uint32_t slot = difference(part, probe.answer, again);
    if (slot == kNoSlot) continue;
    notes_.unsteady[at(part)] = true;
    notes_.find(part, When::kAlways,
                part_name(part) + " answers the same question in different ways",
                seen(probe, slot, part, probe.answer.said[at(part)][slot], ", and asked again ",
                     again.said[at(part)][slot]),
                "let it rest on nothing but the pod, the node and what events told: no counters, "
                "no randomness, no clock");
  }
}

void Examiner::check_rows(const Probe& probe, Part part) {
  // A score that is asked for each time may rank all nodes together.
  const Answer& answer = probe.answer;
  if (!answer.called[at(part)] || (part == Part::kScore && !keeps(part))) return;
  const auto check = [&](const Rows& rows) {
    std::string error;
    const std::vector<Said> now =
        plugin_.say(part, *answer.cycle, probe.pod, rows, rows.size() != 1, error);
    for (size_t i = 0; i < now.size(); ++i) {
      const Said& was = answer.said[at(part)][rows[i]->slot];
      if (was == now[i]) continue;
      notes_.find(part, When::kIfSteady,
                  part_name(part) +
                      " answers about a node depend on which other nodes are asked about with it",
                  seen(probe, rows[i]->slot, part, was, " among all nodes, ", now[i]) + " among " +
                      std::to_string(rows.size()) + (rows.size() != 1 ? "" : " without columns"),
                  "decide about each row by itself: the scheduler asks about all nodes, some, or "
                  "one");
      return;
    }
  };
  Rows rows = part == Part::kFilter ? cluster_.state().rows() : answer.feasible;
  for (const plimsoll_node_info* row : rows) check({row});
  std::reverse(rows.begin(), rows.end());
  check(rows);
}

// Raw scores are kept while other nodes come to fit, or no longer do.
void Examiner::check_feasible_set(const Probe& probe) {
  const Part part = Part::kScore;
  if (!probe.answer.complete[at(part)] || probe.answer.feasible.size() < 2) return;
  const uint32_t without = world_.dice.of(probe.answer.feasible)->slot;
  const Answer fewer = ask(probe.pod, without);
  const uint32_t slot = difference(part, probe.answer, fewer);
  if (slot == kNoSlot) return;
  notes_.needs_cluster[at(part)] = true;
  if (!keeps(part)) return;
  notes_.find(part, probe.answer.signable ? When::kIfSteady : When::kUnlessSigned,
              "score rests on which other nodes fit the pod",
              seen(probe, slot, part, probe.answer.said[at(part)][slot],
                   ", and without node " + node_name(without) + " ", fewer.said[at(part)][slot]),
              "add PLIMSOLL_ASPECT_CLUSTER to score_aspects, or let normalize compare the nodes");
}

// ---- the pod: fields that are not signed must not matter

void Examiner::check_pod_field(const Probe& probe, const Field& field) {
  const Answer& before = probe.answer;
  const auto ask_with = [&](const Json& pod) {
    const auto decoded = decode_pod(pod.dump(), cluster_.symbols());
    return decoded ? ask(*decoded) : Answer{};
  };
  Json changed = probe.json;
  if (!world_.change(changed, field)) return;
  const Answer after = ask_with(changed);
  if (after.cycle == nullptr) return;  // it cannot be decoded
  const auto is_kept = [&before](const Answer& answer) {
    return before.signable && answer.signable && before.signature == answer.signature;
  };
  if (before.signature != after.signature) notes_.signed_fields.insert(field.name);
  for (const Part part : kBothParts) {
    if (is_kept(after)) ++notes_.of(part).compared;
    const uint32_t slot = difference(part, before, after);
    if (slot == kNoSlot) continue;
    auto& matters = notes_.report.matters;
    if (std::find(matters.begin(), matters.end(), field.name) == matters.end()) {
      matters.push_back(field.name);
    }
    // What is asked for each time, whoever asked before, need not be signed.
    if (!is_kept(after) || !keeps(part)) continue;
    const auto key = smallest(probe.json, changed, field, [&](const Json& trial) {
      const Answer answer = ask_with(trial);
      return is_kept(answer) && difference(part, before, answer) != kNoSlot;
    });
    notes_.find(
        part, When::kIfSteady,
        part_name(part) + " reads the pod's " + with_key(field, key) + ", which sign leaves out",
        seen(probe, slot, part, before.said[at(part)][slot], ", and ", after.said[at(part)][slot]) +
            " with " + with_key(field, key) + " changed" + from_to(probe.json, changed, field, key),
        "let sign put it down, or return Skip for pods whose answer rests on it");
  }
}

// ---- the node: answers may change only with an aspect of it that is declared

void Examiner::check_change(const Change& change) {
  for (Probe& probe : probes_) {
    const Answer before = std::move(probe.answer);
    const uint64_t asked_at = std::exchange(probe.asked_at, cluster_.log_end());
    probe.answer = ask(probe.pod);
    const std::vector<uint32_t> changed = cluster_.changed_since(asked_at);
    // A pod that is signed otherwise now is of another class: what is kept of the old one is not
    // used for it.
    const bool same_class = before.signature == probe.answer.signature;
    for (const Part part : kBothParts) {
      compare(part, before, probe.answer, [&](uint32_t slot) {
        if (changed[slot] == kAnothers) return;
        PartReport& report = notes_.of(part);
        if ((changed[slot] & report.declared) == 0 && before.signable) ++report.compared;
        const Said& was = before.said[at(part)][slot];
        const Said is = probe.answer.said[at(part)][slot];
        if (was == is || !same_class) return;
        blame(part, change, probe, was, is, slot, changed[slot], before.signable);
      });
    }
  }
}

void Examiner::blame(Part part, const Change& change, const Probe& probe, const Said& was,
                     const Said& is, uint32_t slot, uint32_t changed, bool signable) {
  using Kind = Change::Kind;
  const std::string aspects_of = part_name(part) + "_aspects";
  const bool own = change.node == node_name(slot);
  PartReport& report = notes_.of(part);
  report.rests_on |= changed;
  if (changed == 0 && !own && change.kind != Kind::kObject && change.kind != Kind::kTime) {
    notes_.needs_cluster[at(part)] = true;
  }
  if (!keeps(part) || (report.declared & changed) != 0) return;
  std::string what;
  std::string advice;
  std::string happened = change.text;
  if (changed != 0) {
    const bool several = (changed & (changed - 1)) != 0;
    std::string where;
    if (change.kind == Kind::kNodeField && own) {
      const auto key = smallest_node_change(probe, change, slot, part);
      if (key) {
        where = " (" + with_key(*change.field, key) + ")";
        happened = "node " + change.node + ": " + with_key(*change.field, key) +
                   from_to(change.before, change.after, *change.field, key);
      }
    }
    what = (several ? "one of: " : "") + aspect_names(changed) + " of the node" + where + ", and " +
           aspects_of + (several ? " has none" : " has it not");
    advice = "add " + std::string(several ? "the one that it reads" : "it") + " to " + aspects_of;
    if ((changed & PLIMSOLL_ASPECT_PODS) != 0) {
      advice += "; if it is state of the plugin's own: PLIMSOLL_ASPECT_PLUGIN, and touch_node";
    }
  } else if (change.kind == Kind::kTime) {
    what = "the time";
    advice =
        "call touch_node when time makes a difference (run_on_loop has a delay) and add "
        "PLIMSOLL_ASPECT_PLUGIN to " +
        aspects_of + ", or add PLIMSOLL_ASPECT_CLUSTER";
  } else if (change.kind == Kind::kObject) {
    what = "objects of " + change.resource + " without a call of touch_node";
    advice =
        "call touch_node for each node that an object changes something for, and add "
        "PLIMSOLL_ASPECT_PLUGIN to " +
        aspects_of;
  } else if (own && change.kind == Kind::kNodeField) {
    what = "the node's " + change.field->name + ", whose changes have no aspect";
    advice = "add PLIMSOLL_ASPECT_CLUSTER to " + aspects_of + ", or do without";
  } else if (own) {
    what = "state of the plugin that changed without a call of touch_node";
    advice = "call touch_node, and add PLIMSOLL_ASPECT_PLUGIN to " + aspects_of;
  } else {
    what = "other nodes than the one it is asked about";
    advice = "add PLIMSOLL_ASPECT_CLUSTER to " + aspects_of +
             "; if it is state that the plugin keeps of each node: add PLIMSOLL_ASPECT_PLUGIN, and "
             "call touch_node for every node that it changes for";
  }
  notes_.find(part, signable ? When::kIfSteady : When::kUnlessSigned,
              part_name(part) + " rests on " + what,
              seen(probe, slot, part, was, ", and ", is) + " after: " + happened, advice);
}

// Goes back to what the node was, then on by one key at a time.
std::optional<std::string> Examiner::smallest_node_change(const Probe& probe, const Change& change,
                                                          uint32_t slot, Part part) {
  const auto answer_with = [&](const Json& node) {
    return changes_.put_node(node) ? ask(probe.pod).said[at(part)][slot] : Said{};
  };
  const Said before = answer_with(change.before);
  const auto key = smallest(change.before, change.after, *change.field, [&](const Json& trial) {
    const Said now = answer_with(trial);
    return before.asked && now.asked && before != now;
  });
  changes_.put_node(change.after);
  return key;
}

// ---- normalising

// False: it failed, or left the range, which is noted.
bool Examiner::normalize(const Probe& probe, const Rows& rows, std::vector<int64_t>& scores) {
  constexpr int64_t kLowest = 0;
  constexpr int64_t kHighest = 100;
  const std::vector<int64_t> raw = scores;
  const Status status = plugin_.normalize(*probe.answer.cycle, probe.pod, rows, scores);
  if (status.ok()) return true;
  const bool normalizes = notes_.report.normalizes;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= kLowest && scores[i] <= kHighest) continue;
    notes_.find(Part::kScore, When::kAlways,
                normalizes ? "normalize leaves scores outside of 0 to 100"
                           : "score leaves 0 to 100, and there is no normalize",
                "pod " + full_name(*probe.pod) + ", node " + node_name(rows[i]->slot) + ": " +
                    std::to_string(raw[i]) +
                    (normalizes ? " becomes " + std::to_string(scores[i]) : ""),
                "bring the scores into 0 to 100: an attempt with others is given up as an error");
    return false;
  }
  notes_.fails(Part::kScore, "normalize", status.error, "pod " + full_name(*probe.pod),
               kCostsTheAttempt);
  return false;
}

// Scores that this pod got at some time, among them the extremes: each must become what it becomes
// beside the extremes alone.
void Examiner::check_scores(Probe& probe) {
  constexpr size_t kTrials = 4;
  const Answer& answer = probe.answer;
  const Rows& rows = answer.feasible;
  if (!answer.complete[at(Part::kScore)] || rows.size() < 2) return;
  std::vector<int64_t> some;
  for (const plimsoll_node_info* row : rows) {
    some.push_back(answer.said[at(Part::kScore)][row->slot].value);
  }
  probe.raws.insert(probe.raws.end(), some.begin(), some.end());
  for (size_t trial = 0; trial < kTrials; ++trial) {
    std::vector<int64_t> together = some;
    if (!normalize(probe, rows, together) || !notes_.report.normalizes) return;
    const auto [low, high] = std::minmax_element(some.begin(), some.end());
    const Rows extremes = {rows[static_cast<size_t>(low - some.begin())],
                           rows[static_cast<size_t>(high - some.begin())]};
    for (size_t i = 0; i < some.size(); ++i) {
      std::vector<int64_t> alone = {*low, *high, some[i]};
      if (!normalize(probe, {extremes[0], extremes[1], rows[i]}, alone)) return;
      ++notes_.normalized;
      if (alone[2] == together[i]) continue;
      notes_.normalizes_by_more = true;
      if (!notes_.report.by_extremes) return;
      notes_.find(Part::kScore, When::kIfSteady,
                  "normalize looks at more than a score and the extremes, and declares that it "
                  "does not",
                  "pod " + full_name(*probe.pod) + ": " + std::to_string(some[i]) + " of " +
                      sdk::join(some) + " becomes " + std::to_string(together[i]) +
                      ", and beside " + std::to_string(*low) + " and " + std::to_string(*high) +
                      " alone " + std::to_string(alone[2]),
                  "leave out normalizes_by_extremes (PLIMSOLL_FLAG_NORMALIZES_BY_EXTREMES)");
      return;
    }
    for (int64_t& score : some) score = world_.dice.of(probe.raws);
  }
}

}  // namespace plimsoll::lint
