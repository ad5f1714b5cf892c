#include "tests/cycle/quiet_point.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::testing {
namespace {

std::string text_of(const std::map<std::string, std::string>& entries) {
  std::string text;
  for (const auto& [key, value] : entries) text += " " + key + "@" + value;
  return text;
}

std::string text_of(const std::vector<int64_t>& amounts) {
  std::string text;
  for (const int64_t amount : amounts) text += " " + std::to_string(amount);
  return text;
}

std::string text_of(const std::set<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) text += " " + entry;
  return text;
}

// What preemption adds depends on when it looked.
std::string without_preemption(const std::string& message) {
  return message.substr(0, message.find(" preemption:"));
}

std::string condition_of(const Json& pod) {
  for (const Json& condition : pod["status"].value("conditions", Json::array())) {
    if (condition["type"] == "PodScheduled" && condition["status"] == "False") {
      return condition.value("message", "");
    }
  }
  return "";
}

}  // namespace

std::vector<const Json*> QuietPoint::pods_without_node() const {
  std::vector<const Json*> pods;
  for (const auto& [name, pod] : cluster_.all(Kind::kPods)) {
    const Json& spec = pod["spec"];
    if (finished(pod) || !spec.value("nodeName", "").empty()) continue;
    if (spec["schedulerName"] != "topo") continue;
    pods.push_back(&pod);
  }
  return pods;
}

std::vector<const Json*> QuietPoint::waiting_pods() const {
  std::vector<const Json*> pods = pods_without_node();
  std::erase_if(pods, [](const Json* pod) {
    return !(*pod)["spec"].value("schedulingGates", Json::array()).empty();
  });
  return pods;
}

std::vector<std::string> QuietPoint::check() {
  ++totals_.points;
  found_ = cluster_.wrongs();
  fresh_ = std::make_unique<FullScheduler>(FullScheduler::Role::kFresh, cluster_, living_.now_ms());
  for (const Kind kind : kAllKinds) {
    for (const auto& [name, object] : cluster_.all(kind)) fresh_->deliver({kind, false, object});
  }
  fresh_->sync();
  if (!fresh_->settle()) add("the fresh scheduler does not settle");
  check_nodes();
  check_waiting();
  fresh_.reset();
  return std::exchange(found_, {});
}

void QuietPoint::check_nodes() {
  const SchedulerStats stats = living_.stats();
  if (stats.assumed_pods != 0) add(std::to_string(stats.assumed_pods) + " pods are still assumed");
  if (stats.binding != 0 || stats.waiting_on_permit != 0) add("pods are still on their way");
  if (stats.queue.in_flight != 0) add("pods are in flight to the queue");
  if (const std::string node = living_.misdrawn(); !node.empty())
    add("people are shown another node than there is: " + node);
  const ClusterView ours = living_.view();
  const ClusterView fresh = fresh_->view();
  ClusterView objects;  // what there is, as far as it can be said without a scheduler
  for (const auto& [name, node] : cluster_.all(Kind::kNodes)) objects[name];
  for (const auto& [name, pod] : cluster_.all(Kind::kPods)) {
    const auto node = objects.find(pod["spec"].value("nodeName", ""));
    if (node == objects.end() || finished(pod)) continue;
    node->second.pods[pod["metadata"]["uid"]] = pod["metadata"]["resourceVersion"];
  }
  if (ours.size() != objects.size()) add("another number of nodes than there are");
  for (const auto& [name, expected] : objects) {
    if (!ours.contains(name) || !fresh.contains(name)) {
      add("node " + name + " is not known");
      continue;
    }
    const NodeView& us = ours.at(name);
    const NodeView& them = fresh.at(name);
    const auto differ = [&, &node = name](const char* what, const std::string& a,
                                          const std::string& b) {
      if (a != b) add(node + ": " + what + ":" + a + "; rebuilt:" + b);
    };
    differ("pods", text_of(us.pods), text_of(expected.pods));
    differ("pods", text_of(them.pods), text_of(expected.pods));
    differ("allocatable", text_of(us.allocatable), text_of(them.allocatable));
    differ("requested", text_of(us.requested), text_of(them.requested));
    differ("nonzero cpu", std::to_string(us.nonzero_cpu), std::to_string(them.nonzero_cpu));
    differ("nonzero memory", std::to_string(us.nonzero_memory),
           std::to_string(them.nonzero_memory));
    differ("ports", text_of(std::set<std::string>(us.ports.begin(), us.ports.end())),
           text_of(std::set<std::string>(them.ports.begin(), them.ports.end())));
    differ("number of ports", std::to_string(us.ports.size()), std::to_string(them.ports.size()));
    differ("unused gpus", std::to_string(us.unused_gpus), std::to_string(them.unused_gpus));
    differ("zones of devices", text_of([&] {
             std::set<std::string> all;
             for (const auto& [uid, zones] : us.device_zones)
               all.insert(uid + std::to_string(zones));
             return all;
           }()),
           text_of([&] {
             std::set<std::string> all;
             for (const auto& [uid, zones] : them.device_zones)
               all.insert(uid + std::to_string(zones));
             return all;
           }()));
    check_zones(name, us, them);
    if (us.generation < generations_[name]) add(name + ": its generation went back");
    generations_[name] = us.generation;
  }
  // A nomination that could not be written counts nevertheless, until the next attempt.
  nominations_told_ = nominations_differ(ours).empty();
  nominations_ = nominations();
}

// With every report delivered the zones have what the kubelet has; a namesake of an earlier pod
// counts twice for a minute, since a fingerprint cannot tell which of them it means.
void QuietPoint::check_zones(const std::string& node, const NodeView& ours, const NodeView& fresh) {
  const bool reported = cluster_.find(Kind::kTopologies, node) != nullptr;
  if (reported == ours.zones.empty()) add(node + ": zones known or not, but not as reported");
  if (!reported) return;
  const RandomKubelet& kubelet = cluster_.kubelet(node);
  for (size_t zone = 0; zone < RandomKubelet::kZones; ++zone) {
    const RandomKubelet::Amounts left = kubelet.free(zone);
    for (const bool cpu : {true, false}) {
      const std::string key = "node-" + std::to_string(zone) + (cpu ? " cpu" : " memory");
      const int64_t truth = cpu ? left.cpu * 1000 : left.gib << 30;
      const auto said = [&](const char* who, const NodeView& view, bool exactly) {
        const auto found = view.zones.find(key);
        const int64_t free = found == view.zones.end() ? 0 : found->second;
        if (exactly ? free == truth : free <= truth) return;
        add(node + ": " + who + " says that " + key + " has " + std::to_string(free) + "; it has " +
            std::to_string(truth));
      };
      said("the scheduler", ours, !cluster_.has_namesake(node));
      said("a fresh scheduler", fresh, true);
      ++totals_.zones;
    }
  }
}

QuietPoint::Nominations QuietPoint::nominations() const {
  Nominations nominated;
  for (const Json* pod : pods_without_node()) {
    const std::string node = (*pod)["status"].value("nominatedNodeName", "");
    if (!node.empty()) nominated[node].insert((*pod)["metadata"]["uid"].get<std::string>());
  }
  return nominated;
}

std::vector<std::string> QuietPoint::nominations_differ(const ClusterView& ours) {
  Nominations expected = nominations();
  std::vector<std::string> differences;
  for (const auto& [node, view] : ours) {
    totals_.nominated += static_cast<int>(view.nominated.size());
    if (view.nominated == expected[node]) continue;
    differences.push_back(node + ": nominated:" + text_of(view.nominated) +
                          "; the API server says:" + text_of(expected[node]));
    for (const auto& [name, pod] : cluster_.all(Kind::kPods)) {
      const std::string uid = pod["metadata"]["uid"];
      if (view.nominated.contains(uid) != expected[node].contains(uid)) {
        differences.push_back("    " + pod.dump());
      }
    }
  }
  return differences;
}

void QuietPoint::check_waiting() {
  verdicts_.clear();
  for (const Json* pod : waiting_pods()) {
    const std::string uid = (*pod)["metadata"]["uid"];
    const std::string name = (*pod)["metadata"]["name"];
    ++totals_.waiting;
    const std::string verdict = fresh_->verdict(uid);
    verdicts_[uid] = verdict;
    if (verdict.starts_with("no verdict")) add(name + ": " + verdict);
    // The nomination of a fresh one is lost with an attempt that finds a place; told again, it
    // is kept.
    if ((*pod)["status"].contains("nominatedNodeName")) {
      fresh_->deliver({{Kind::kPods, true, *pod}, {Kind::kPods, false, *pod}});
      if (!fresh_->settle()) add("the fresh scheduler does not settle");
    }
    if (!verdict.starts_with("fits ")) continue;
    ++totals_.verdicts;
    if (!nominations_told_ || cluster_.has_namesake(verdict.substr(5))) continue;
    add(name + " waits although it " + verdict + "; it was last told: " + condition_of(*pod));
  }
}

std::vector<std::string> QuietPoint::check_texts() {
  for (std::string& difference : nominations_differ(living_.view())) add(std::move(difference));
  // One that was given up in between makes room, if not enough of it.
  if (!nominations_told_ || nominations() != nominations_) return std::exchange(found_, {});
  for (const Json* pod : waiting_pods()) {
    const auto verdict = verdicts_.find((*pod)["metadata"]["uid"]);
    if (verdict == verdicts_.end() || verdict->second.starts_with("fits ")) continue;
    ++totals_.texts;
    const std::string told = without_preemption(condition_of(*pod));
    const std::string fresh = without_preemption(verdict->second);
    // What zones are kept for namesakes is not what a fresh one thinks, see check_zones().
    const bool of_zones = (told + fresh).find("align") != std::string::npos;
    const auto& nodes = cluster_.all(Kind::kNodes);
    const bool namesakes = std::any_of(nodes.begin(), nodes.end(), [this](const auto& node) {
      return cluster_.has_namesake(node.first);
    });
    if (told != fresh && !(of_zones && namesakes)) {
      add((*pod)["metadata"]["name"].get<std::string>() + " was told: " + told +
          "\n    a fresh scheduler says: " + fresh);
    }
  }
  return std::exchange(found_, {});
}

}  // namespace plimsoll::testing
