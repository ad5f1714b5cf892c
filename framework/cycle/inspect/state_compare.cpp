#include "framework/cycle/inspect/state_compare.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace plimsoll {
namespace {

std::string full_name(const ApiListing::Object& object) {
  return object.ns.empty() ? object.name : object.ns + "/" + object.name;
}

std::string version(std::string_view resource_version) {
  return "resourceVersion " + std::string(resource_version);
}

// A pod as the scheduler knows it: on a node, or in the queue.
struct KnownPod {
  const plimsoll_pod* pod = nullptr;
  bool placed = false;
  bool assumed = false;

  [[nodiscard]] std::string where() const {
    if (!placed) return "in the queue";
    return (assumed ? "assumed on " : "on ") + std::string(view(pod->node_name));
  }
};

class Comparison {
 public:
  Comparison(const StateSnapshot& snapshot, const ApiListing& listing)
      : snapshot_(snapshot), listing_(listing) {}

  std::vector<StateDifference> run() {
    nodes();
    pods();
    for (const auto& [resource, kind] : snapshot_.kinds) {
      const auto listed = listing_.kinds.find(resource);
      if (kind.synced && listed != listing_.kinds.end())
        names(resource, kind.names, listed->second);
    }
    return std::move(found_);
  }

 private:
  void add(std::string kind, std::string object, std::string_view uid, StateProblem problem,
           std::string here, std::string api) {
    found_.push_back({std::move(kind), std::move(object), std::string(uid), problem,
                      std::move(here), std::move(api)});
  }

  void sort_from(size_t first) {
    std::sort(found_.begin() + static_cast<std::ptrdiff_t>(first), found_.end(),
              [](const StateDifference& a, const StateDifference& b) {
                return std::tie(a.object, a.uid, a.problem) < std::tie(b.object, b.uid, b.problem);
              });
  }

  // By name: a node that was made anew under its name is a change of the node, as it is for the
  // scheduler.
  void nodes() {
    std::unordered_map<std::string_view, const plimsoll_node*> known;
    for (const auto& entry : snapshot_.nodes) {
      known.emplace(view(entry.node->meta.name), entry.node.get());
    }
    for (const ApiListing::Object& listed : listing_.nodes) {
      const auto at = known.find(listed.name);
      const bool readable = !listing_.unreadable.contains(listed.uid);
      if (at == known.end()) {
        if (readable) {
          add("Node", listed.name, listed.uid, StateProblem::kMissed, "",
              version(listed.resource_version));
        }
        continue;
      }
      const std::string_view here = view(at->second->meta.resource_version);
      if (readable && here != listed.resource_version) {
        add("Node", listed.name, listed.uid, StateProblem::kStale, version(here),
            version(listed.resource_version));
      }
      known.erase(at);
    }
    for (const auto& [name, node] : known) {
      add("Node", std::string(name), view(node->meta.uid), StateProblem::kRedundant,
          version(view(node->meta.resource_version)), "");
    }
    sort_from(0);
  }

  void pods() {
    const size_t first = found_.size();
    std::unordered_map<std::string_view, KnownPod> known;  // by UID
    for (const auto& queued : snapshot_.queued) {
      known[view(queued.pod->meta.uid)] = {queued.pod.get(), false, false};
    }
    for (const auto& placed : snapshot_.placed) {
      known[view(placed.pod->meta.uid)] = {placed.pod.get(), true, placed.assumed};
    }
    for (const ApiListing::Pod& listed : listing_.pods) {
      const auto at = known.find(listed.uid);
      if (!listing_.unreadable.contains(listed.uid)) {
        pod(listed, at == known.end() ? nullptr : &at->second);
      }
      if (at != known.end()) known.erase(at);
    }
    for (const auto& [uid, entry] : known) {
      add("Pod", plimsoll::full_name(*entry.pod), uid, StateProblem::kRedundant, entry.where(), "");
    }
    sort_from(first);
  }

  void pod(const ApiListing::Pod& listed, const KnownPod* here) {
    const std::string name = full_name(listed);
    const bool ours = std::find(snapshot_.scheduler_names.begin(), snapshot_.scheduler_names.end(),
                                listed.scheduler_name) != snapshot_.scheduler_names.end();
    const std::string there = listed.node.empty() ? "without a node" : "on " + listed.node;
    if (here == nullptr) {
      // A pending pod that is being deleted is not tried any more.
      const bool wanted = !listed.node.empty() || (ours && !listed.terminating);
      if (wanted) add("Pod", name, listed.uid, StateProblem::kMissed, "", there);
      return;
    }
    const std::string_view node = here->placed ? view(here->pod->node_name) : "";
    // What is assumed may wait for Permit or its binding for long.
    const bool under_way = listed.node.empty() && here->assumed;
    if (node != listed.node && !under_way) {
      add("Pod", name, listed.uid, StateProblem::kElsewhere, here->where(), there);
      return;
    }
    const std::string_view known = view(here->pod->meta.resource_version);
    if (known == listed.resource_version || under_way) return;
    add("Pod", name, listed.uid, StateProblem::kStale, here->where() + ", " + version(known),
        version(listed.resource_version));
  }

  void names(const std::string& resource, const std::vector<std::string>& here,
             const std::vector<std::string>& api) {
    const size_t first = found_.size();
    const std::set<std::string> known(here.begin(), here.end());
    const std::set<std::string> listed(api.begin(), api.end());
    const auto shown = [](const std::string& name) {
      return name.starts_with('/') ? name.substr(1) : name;
    };
    for (const std::string& name : listed) {
      if (!known.contains(name)) add(resource, shown(name), "", StateProblem::kMissed, "", "there");
    }
    for (const std::string& name : known) {
      if (!listed.contains(name)) {
        add(resource, shown(name), "", StateProblem::kRedundant, "known", "");
      }
    }
    sort_from(first);
  }

  const StateSnapshot& snapshot_;
  const ApiListing& listing_;
  std::vector<StateDifference> found_;
};

}  // namespace

std::string_view to_string(StateProblem problem) {
  switch (problem) {
    case StateProblem::kMissed:
      return "missed";
    case StateProblem::kRedundant:
      return "redundant";
    case StateProblem::kElsewhere:
      return "elsewhere";
    case StateProblem::kStale:
      break;
  }
  return "stale";
}

std::vector<StateDifference> compare_state(const StateSnapshot& snapshot,
                                           const ApiListing& listing) {
  return Comparison(snapshot, listing).run();
}

std::vector<StateDifference> persisting(const std::vector<StateDifference>& before,
                                        const std::vector<StateDifference>& now) {
  const auto key = [](const StateDifference& difference) {
    return std::tie(difference.kind, difference.object, difference.uid, difference.problem,
                    difference.here);
  };
  std::set<decltype(key(before.front()))> seen;
  for (const StateDifference& difference : before) seen.insert(key(difference));
  std::vector<StateDifference> result;
  for (const StateDifference& difference : now) {
    if (seen.contains(key(difference))) result.push_back(difference);
  }
  return result;
}

}  // namespace plimsoll
