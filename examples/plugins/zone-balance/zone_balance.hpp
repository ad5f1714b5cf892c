#pragma once
// ZoneBalance keeps the pods of an application spread over zones: nodes without a zone, and zones
// that have `maxPerZone` of its pods, are refused; zones with fewer of them score higher.
//
// Args: podLabel (default "app") says which pods belong together, within a namespace; zoneLabel
// (default "topology.kubernetes.io/zone") where a node is; maxPerZone (default: no limit).

#include <map>
#include <plimsoll/args.hpp>
#include <plimsoll/plugin.hpp>

using namespace plimsoll::sdk;

class ZoneBalance {
 public:
  // Verdicts rest on the pods of the whole zone, so on more than the node itself.
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_CLUSTER;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_CLUSTER;

  ZoneBalance(Host host, std::string_view args_json) : host_(host) {
    // Throws everything that is wrong; `plimsoll validate` shows it with the lines of the file.
    read_args(host, args_json, {"ZoneBalanceArgs"}, [this](Args& args) {
      args.read("podLabel", pod_label_);
      args.read("zoneLabel", zone_label_);
      args.read("maxPerZone", max_per_zone_, 1);
    });
    no_zone_ = host.reason("node(s) had no zone");
    full_ = host.reason("node(s) were in a zone with enough pods of the application");
  }

  // Counts the application's pods per zone, once for all nodes.
  Status pre_filter(plimsoll_cycle& cycle, Pod pod) {
    if (!pod.label(pod_label_)) return Status::skip();
    Counts& counts = host_.set_state(cycle, Counts{});
    for (uint32_t slot = 0; slot < host_.slot_count(); ++slot) {
      const Node node = host_.node(slot);
      if (!node) continue;
      for (const plimsoll_pod* other : node.pods()) count(counts, pod, Pod(other), node, 1);
    }
    return {};
  }
  Status add_pod(plimsoll_cycle& cycle, Pod pod, Pod added, Node node) {
    count(*host_.state<Counts>(cycle), pod, added, node, 1);
    return {};
  }
  Status remove_pod(plimsoll_cycle& cycle, Pod pod, Pod removed, Node node) {
    count(*host_.state<Counts>(cycle), pod, removed, node, -1);
    return {};
  }

  Status filter_node(const plimsoll_cycle& cycle, Pod, Node node) const {
    const auto zone = node.label(zone_label_);
    if (!zone) return Status::unresolvable(no_zone_);
    return in_zone(cycle, *zone) < max_per_zone_ ? Status() : Status::unschedulable(full_);
  }

  Status pre_score(plimsoll_cycle&, Pod pod, Nodes) {
    return pod.label(pod_label_) ? Status() : Status::skip();
  }
  int64_t score_node(const plimsoll_cycle& cycle, Pod, Node node) const {
    return in_zone(cycle, node.label(zone_label_).value_or(""));
  }
  Status normalize(const plimsoll_cycle&, Pod, Nodes, std::span<int64_t> scores) const {
    normalize_scores(scores, /*reverse=*/true);
    return {};
  }

 private:
  using Counts = std::map<std::string, int64_t, std::less<>>;

  void count(Counts& counts, Pod pod, Pod other, Node node, int64_t by) const {
    const auto zone = node.label(zone_label_);
    if (!zone || other.ns() != pod.ns() || other.label(pod_label_) != pod.label(pod_label_)) return;
    counts[std::string(*zone)] += by;
  }
  int64_t in_zone(const plimsoll_cycle& cycle, std::string_view zone) const {
    const Counts& counts = *host_.state<Counts>(cycle);
    const auto found = counts.find(zone);
    return found == counts.end() ? 0 : found->second;
  }

  Host host_;
  std::string pod_label_ = "app";
  std::string zone_label_ = "topology.kubernetes.io/zone";
  int64_t max_per_zone_ = INT64_MAX;
  uint32_t no_zone_, full_;
};
