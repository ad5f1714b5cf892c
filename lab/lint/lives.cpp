#include "lab/lint/lives.hpp"

#include <algorithm>
#include <utility>

#include "framework/api/decode/decode.hpp"

namespace plimsoll::lint {
namespace {

using When = Notes::When;

constexpr size_t kPods = 5;
constexpr size_t kTimes = 12;  // what is left behind may show only when it has come together

struct Asked {
  Json json;
  PodRef pod;
};

// What the plugin says of one pod on each node, as text that is the same in another cluster; by
// Part and the node's name. PreFilter's word, if that lets no node be asked about, has no name.
using Sayings = std::map<std::pair<Part, std::string>, std::string>;

class Life {
 public:
  Life(const Lives& lives, TrialCluster& cluster, World& world, CallNote& note, Notes& notes)
      : lives_(lives),
        cluster_(cluster),
        world_(world),
        note_(note),
        notes_(notes),
        plugin_(cluster, note, lives.plugin),
        changes_(cluster, world, lives.options, note) {}

  [[nodiscard]] Changes& changes() { return changes_; }

  void draw_pods() {
    while (asked_.size() < kPods) {
      Json json = world_.pod("life-" + std::to_string(asked_.size()));
      json["spec"].erase("nodeName");
      add(std::move(json));
    }
    said_ = say();
  }
  void add(Json json) {
    auto decoded = decode_pod(json.dump(), cluster_.symbols());
    if (decoded) asked_.push_back({std::move(json), std::move(*decoded)});
  }
  [[nodiscard]] const std::vector<Asked>& asked() const { return asked_; }

  // By pod.
  [[nodiscard]] std::vector<Sayings> say() {
    std::vector<Sayings> all;
    for (const Asked& one : asked_)
      all.push_back(sayings_of(notes_.taken(plugin_.ask(one.pod), one.pod)));
    return all;
  }

  // Each of these is true if nothing was left behind.
  [[nodiscard]] bool reserves_and_unreserves();
  [[nodiscard]] bool adds_and_removes();
  [[nodiscard]] bool is_bound_and_removed();
  void binds_some();
  [[nodiscard]] bool compare(const std::string& what, const std::string& after,
                             const std::string& advice, const std::vector<Sayings>& now);
  // What was said last, to be compared.
  void remember() { said_ = say(); }
  [[nodiscard]] std::vector<Sayings> said() const { return said_; }
  void expect(std::vector<Sayings> said) { said_ = std::move(said); }

 private:
  [[nodiscard]] Sayings sayings_of(const Answer& answer) const;
  // Reserve of an attempt of its own. Null: it does not fit any more, or is refused.
  [[nodiscard]] PodRef reserve(const Asked& one, const std::string& node_name,
                               std::shared_ptr<CycleContext>& cycle);
  [[nodiscard]] std::string some_node(const Asked& one);
  [[nodiscard]] std::optional<Json> bound(const Asked& one, const std::string& node_name);

  const Lives& lives_;
  TrialCluster& cluster_;
  World& world_;
  CallNote& note_;
  Notes& notes_;
  Plugin plugin_;
  Changes changes_;
  std::vector<Asked> asked_;
  std::vector<Sayings> said_;
};

Sayings Life::sayings_of(const Answer& answer) const {
  Sayings sayings;
  for (const Part part : kBothParts) {
    const auto p = static_cast<size_t>(part);
    if (!answer.complete[p]) sayings[{part, ""}] = answer.error.empty() ? "nothing" : answer.error;
    for (uint32_t slot = 0; slot < answer.said[p].size(); ++slot) {
      const NodeInfo* node = cluster_.state().node_at(slot);
      if (node == nullptr || !answer.said[p][slot].asked) continue;
      sayings[{part, node->name()}] = plugin_.text(part, answer.said[p][slot]);
    }
  }
  return sayings;
}

bool Life::compare(const std::string& what, const std::string& after, const std::string& advice,
                   const std::vector<Sayings>& now) {
  for (size_t i = 0; i < said_.size() && i < now.size(); ++i) {
    for (const auto& [where, was] : said_[i]) {
      const auto found = now[i].find(where);
      // A node that does not fit any more has no score; that it does not, Filter's answer shows.
      if (found == now[i].end() && where.first == Part::kScore) continue;
      const std::string is = found == now[i].end() ? "nothing" : found->second;
      // It waits for something, as for a node's next report.
      const bool waits = was.starts_with("Pending") || is.starts_with("Pending");
      if (is == was || waits) continue;
      const auto& [part, node] = where;
      notes_.find(part, When::kIfSteady, what + ": " + part_name(part) + " answers otherwise",
                  "pod " + full_name(*asked_[i].pod) + (node.empty() ? "" : ", node " + node) +
                      ": " + was + ", and after " + after + " " + is,
                  advice);
      return false;
    }
  }
  return true;
}

std::string Life::some_node(const Asked& one) {
  const Answer answer = plugin_.ask(one.pod);
  if (answer.feasible.empty()) return {};
  return std::string(view(world_.dice.of(answer.feasible)->node->meta.name));
}

PodRef Life::reserve(const Asked& one, const std::string& node_name,
                     std::shared_ptr<CycleContext>& cycle) {
  const Answer answer = plugin_.ask(one.pod);
  for (const plimsoll_node_info* row : answer.feasible) {
    if (view(row->node->meta.name) != node_name) continue;
    note_.about_to("reserve", full_name(*one.pod) + " on node " + node_name);
    cycle = answer.cycle;
    std::string error;
    PodRef assumed = cluster_.reserve(*answer.cycle, one.pod, *row, error);
    note_.failed("reserve", error);
    return assumed;
  }
  return nullptr;
}

bool Life::reserves_and_unreserves() {
  for (const Asked& one : asked_) {
    const std::string node = some_node(one);
    if (node.empty()) continue;
    std::string refused;
    for (size_t time = 0; time < kTimes; ++time) {
      std::shared_ptr<CycleContext> cycle;
      const PodRef assumed = reserve(one, node, cycle);
      if (!assumed && time == 0) break;
      if (!assumed && cycle != nullptr) {
        notes_.find(Part::kFilter, When::kIfSteady,
                    "reserve and unreserve do not cancel out: reserve refuses",
                    "pod " + full_name(*one.pod) + " on node " + node + ", after it was reserved " +
                        "and unreserved " + std::to_string(time) + " times",
                    "let unreserve take back all that reserve did");
        return false;
      }
      if (!assumed) break;
      note_.about_to("unreserve", full_name(*one.pod) + " on node " + node);
      cluster_.unreserve(*cycle, assumed);
    }
    if (!compare("reserve and unreserve do not cancel out",
                 "pod " + full_name(*one.pod) + " was reserved and unreserved on node " + node,
                 "let unreserve take back all that reserve did", say())) {
      return false;
    }
  }
  return true;
}

bool Life::adds_and_removes() {
  for (const Asked& one : asked_) {
    const Answer answer = plugin_.ask(one.pod);
    if (!answer.called[static_cast<size_t>(Part::kFilter)]) continue;
    const uint32_t slot = world_.dice.of(cluster_.state().rows())->slot;
    const NodeInfo& node = *cluster_.state().node_at(slot);
    const PodRef other = assigned_copy(world_.dice.of(asked_).pod, node.name());
    note_.about_to("add_pod and remove_pod", full_name(*one.pod) + " on node " + node.name());
    const auto what_if = cluster_.what_if(*answer.cycle, one.pod, slot);
    const auto text = [&](const Status& status) {
      return code_name(static_cast<int32_t>(status.code)) +
             (status.is_error()    ? " (" + status.error + ")"
              : status.reason == 0 ? ""
                                   : " (" + cluster_.reason_text(status.reason) + ")");
    };
    const std::string was = text(what_if->filter());
    bool failed = false;
    for (size_t time = 0; time < kTimes && !failed; ++time) {
      failed = !what_if->add_pod(*other).ok() || !what_if->remove_pod(*other).ok();
    }
    const std::string is = text(what_if->filter());
    if (failed || is == was) continue;
    notes_.find(Part::kFilter, When::kIfSteady,
                "add_pod and remove_pod do not cancel out: filter answers otherwise",
                "pod " + full_name(*one.pod) + ", node " + node.name() + ": " + was +
                    ", and after pod " + full_name(*other) + " was added and removed " + is,
                "let remove_pod take back all that add_pod did to the cycle's state");
    return false;
  }
  return true;
}

// The pod as the API server has it once it is bound.
std::optional<Json> Life::bound(const Asked& one, const std::string& node_name) {
  std::shared_ptr<CycleContext> cycle;
  const PodRef assumed = reserve(one, node_name, cycle);
  if (!assumed) return std::nullopt;
  Json json = one.json;
  json["spec"]["nodeName"] = node_name;
  json["status"]["phase"] = "Running";
  for (const auto& [key, value] : cycle->annotations())
    json["metadata"]["annotations"][key] = value;
  if (changes_.put_pod(json)) return json;
  cluster_.unreserve(*cycle, assumed);
  return std::nullopt;
}

bool Life::is_bound_and_removed() {
  for (const Asked& one : asked_) {
    const std::string node = some_node(one);
    if (node.empty() || !bound(one, node)) continue;
    changes_.remove_pod(one.json["metadata"]["uid"].get<std::string>());
    if (!compare("what reserve took for a pod is not given back when the pod is removed",
                 "pod " + full_name(*one.pod) + " was bound to node " + node + " and removed",
                 "let pod_event (kRemoved) give it back: unreserve is not called for a pod that "
                 "was bound",
                 say())) {
      return false;
    }
  }
  return true;
}

// As many on one node as it takes, so that it makes a difference.
void Life::binds_some() {
  const Asked& one = world_.dice.of(asked_);
  const std::string node = some_node(one);
  for (size_t i = 0; i < kTimes && !node.empty(); ++i) {
    Json json = one.json;
    const std::string name = "bound-" + std::to_string(i);
    json["metadata"]["name"] = name;
    json["metadata"]["uid"] = "uid-" + name;
    auto decoded = decode_pod(json.dump(), cluster_.symbols());
    if (!decoded || !bound({std::move(json), std::move(*decoded)}, node)) return;
  }
}

}  // namespace

Result<void> check_lives(const Lives& lives, World world, CallNote& note, Notes& notes) {
  note.about_to("create and start");
  auto cluster = lives.make();
  if (!cluster) return fail(cluster.error());
  auto life = std::make_unique<Life>(lives, **cluster, world, note, notes);
  if (auto filled = life->changes().fill(); !filled) return filled;
  life->draw_pods();
  if (lives.reserves && !life->reserves_and_unreserves()) return {};
  if (!life->adds_and_removes()) return {};
  if (lives.reserves && !lives.binds) {
    if (!life->is_bound_and_removed()) return {};
    life->binds_some();
  }
  life->remember();
  std::vector<Json> asked;
  for (const Asked& one : life->asked()) asked.push_back(one.json);
  std::vector<Sayings> said = life->said();
  const Changes::Content content = life->changes().content();

  // The process ends here, and another one begins with what the API server has.
  life.reset();
  cluster->reset();
  note.about_to("create and start");
  cluster = lives.make();
  if (!cluster) return fail(cluster.error());
  life = std::make_unique<Life>(lives, **cluster, world, note, notes);
  life->changes().fill_with(content);
  for (Json& json : asked) life->add(std::move(json));
  life->expect(std::move(said));
  static_cast<void>(life->compare(
      "a restart changes what it knows", "a restart with the same nodes, objects and pods",
      "let it learn of all pods by pod_event (kAssigned), and keep nothing that only reserve knows",
      life->say()));
  return {};
}

}  // namespace plimsoll::lint
