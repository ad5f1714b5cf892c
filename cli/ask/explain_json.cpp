#include "cli/ask/explain_json.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "framework/api/quantity.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;

const char* state_name(ExplainedState state) {
  switch (state) {
    case ExplainedState::kQueued:
      return "queued";
    case ExplainedState::kWaitingOnPermit:
      return "waitingOnPermit";
    case ExplainedState::kBinding:
      return "binding";
    case ExplainedState::kBound:
      return "bound";
    case ExplainedState::kWhatIf:
      return "whatIf";
    case ExplainedState::kUnknown:
      break;
  }
  return "unknown";
}

const char* kind_name(ExplainedRejector::Kind kind) {
  switch (kind) {
    case ExplainedRejector::Kind::kPending:
      return "pending";
    case ExplainedRejector::Kind::kGate:
      return "gate";
    case ExplainedRejector::Kind::kRejected:
      break;
  }
  return "rejected";
}

// Milliseconds as seconds with decimals.
double seconds(int64_t ms) {
  return static_cast<double>(ms) / 1000;
}

// Plugins may put any bytes into their texts; invalid UTF-8 must not break the rest.
std::string dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json place_json(const ExplainedQueuePlace& queue) {
  ordered_json out{{"place", queue.place},
                   {"podsThere", queue.pods_there},
                   {"attempts", queue.attempts},
                   {"secondsWaiting", seconds(queue.waiting_ms)},
                   {"secondsQueued", seconds(queue.queued_for_ms)},
                   {"backoffSecondsLeft", seconds(queue.backoff_left_ms)},
                   {"rejectedBy", ordered_json::array()}};
  for (const ExplainedRejector& rejector : queue.rejectors) {
    ordered_json entry{{"plugin", rejector.plugin}, {"kind", kind_name(rejector.kind)}};
    if (!rejector.text.empty()) entry["text"] = rejector.text;
    entry["waitsFor"] = rejector.any_event ? std::vector<std::string>{"*"} : rejector.waits_for;
    out["rejectedBy"].push_back(std::move(entry));
  }
  return out;
}

ordered_json group_json(const ExplainedGroup& group) {
  ordered_json out{{"name", group.name}};
  if (group.needed > 0) out["needed"] = group.needed;
  out["waiting"] = group.waiting;
  out["placed"] = group.placed;
  if (!group.said.empty()) out["said"] = group.said;
  return out;
}

ordered_json refused_json(const RefusedNode& refused) {
  ordered_json out = ordered_json::object();
  if (!refused.node.empty()) out["node"] = refused.node;
  out["plugin"] = refused.plugin;
  out["code"] = code_name(static_cast<int32_t>(refused.code));
  out["reason"] = refused.reason;
  if (!refused.text.empty()) out["text"] = refused.text;
  if (!refused.kept_for.empty()) out["keptFor"] = refused.kept_for;
  return out;
}

ordered_json fitting_json(const FittingNode& node, size_t rank,
                          const std::vector<ScorePlugin>& plugins) {
  ordered_json out{{"node", node.node}, {"rank", rank}};
  if (!plugins.empty()) {
    out["total"] = node.total;
    out["scores"] = ordered_json::array();
    for (size_t i = 0; i < plugins.size(); ++i) {
      out["scores"].push_back({{"plugin", plugins[i].plugin},
                               {"raw", node.raw[i]},
                               {"score", node.scores[i]},
                               {"weight", plugins[i].weight},
                               {"weighted", node.scores[i] * plugins[i].weight}});
    }
  }
  for (const ExplainedRemark& remark : node.remarks) {
    out["remarks"].push_back({{"plugin", remark.plugin}, {"text", remark.text}});
  }
  return out;
}

ordered_json placement_json(const PlacementReport& report, const std::string& own_node,
                            size_t max_fitting) {
  ordered_json out{{"nodes", report.nodes},
                   {"feasible", report.fitting.size()},
                   {"chosen", report.chosen},
                   {"nominatedNodeTaken", report.nominated_node_taken}};
  if (!report.error.empty()) out["error"] = report.error;
  if (!report.message.empty()) out["message"] = report.message;
  ordered_json& pre_filter = out["preFilter"];
  pre_filter["skipped"] = report.skipped;
  if (report.pre_filter_rejection) {
    pre_filter["rejection"] = refused_json(*report.pre_filter_rejection);
  }
  if (!report.narrowed_by.empty()) {
    pre_filter["narrowedBy"] = report.narrowed_by;
    pre_filter["narrowedTo"] = report.narrowed_to;
  }
  out["scoreSkipped"] = report.score_skipped;
  out["fitting"] = ordered_json::array();
  for (size_t i = 0; i < report.fitting.size(); ++i) {
    // Always include the pod's own node: the question was why it is there.
    if (i >= max_fitting && report.fitting[i].node != own_node) continue;
    out["fitting"].push_back(fitting_json(report.fitting[i], i + 1, report.score_plugins));
  }
  out["refused"] = ordered_json::array();
  for (const RefusedNode& refused : report.refused) out["refused"].push_back(refused_json(refused));
  return out;
}

std::string amount(std::string_view resource, int64_t value) {
  if (resource == "cpu") return Quantity::milli(value).canonical();
  const bool bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  return Quantity(value, bytes ? Quantity::Format::kBinarySI : Quantity::Format::kDecimalSI)
      .canonical();
}

ordered_json amounts_json(const std::vector<std::string>& names,
                          const std::vector<int64_t>& amounts) {
  ordered_json out = ordered_json::object();
  for (size_t i = 0; i < std::min(names.size(), amounts.size()); ++i) {
    if (amounts[i] != 0) out[names[i]] = amount(names[i], amounts[i]);
  }
  return out;
}

}  // namespace

std::string explanation_problem(const Explanation& explanation) {
  if (!explanation.synced) {
    return "the scheduler has not read the cluster completely yet; its log says what it waits for";
  }
  if (explanation.state != ExplainedState::kUnknown) return "";
  std::string problem = "pod " + explanation.ns + "/" + explanation.name +
                        " is not known here: it does not exist, has finished, or waits for another "
                        "scheduler (here: " +
                        sdk::join(explanation.profiles) + ")";
  for (const ExplainedLoss& loss : explanation.outdated) {
    problem += "; " + loss.kind + " have not been followed for " +
               std::to_string(loss.lost_for_ms / 1000) + " s" +
               (loss.why.empty() ? "" : " (" + loss.why + ")");
  }
  return problem;
}

namespace {

ordered_json loss_json(const ExplainedLoss& loss) {
  return {{"kind", loss.kind},
          {"plugin", loss.plugin},
          {"why", loss.why},
          {"secondsLost", seconds(loss.lost_for_ms)}};
}

}  // namespace

std::string explanation_json(const Explanation& explanation, size_t max_fitting) {
  ordered_json out{{"pod",
                    {{"namespace", explanation.ns},
                     {"name", explanation.name},
                     {"uid", explanation.uid},
                     {"schedulerName", explanation.scheduler_name},
                     {"priority", explanation.priority},
                     {"terminating", explanation.terminating}}},
                   {"profile", explanation.profile},
                   {"standby", explanation.standby},
                   {"loopMilliseconds", static_cast<double>(explanation.took_us) / 1000},
                   {"state", state_name(explanation.state)}};
  if (!explanation.node.empty()) out["node"] = explanation.node;
  if (!explanation.nominated_node.empty()) out["nominatedNode"] = explanation.nominated_node;
  if (explanation.state == ExplainedState::kWaitingOnPermit) {
    out["permit"] = ordered_json::array();
    for (const ExplainedWait& wait : explanation.waits) {
      out["permit"].push_back({{"plugin", wait.plugin}, {"secondsLeft", seconds(wait.left_ms)}});
    }
  }
  for (const ExplainedLoss& loss : explanation.losses) {
    out["waitsForKinds"].push_back(loss_json(loss));
  }
  for (const ExplainedLoss& loss : explanation.outdated) out["outdated"].push_back(loss_json(loss));
  if (explanation.queue) out["queue"] = place_json(*explanation.queue);
  if (explanation.group) out["group"] = group_json(*explanation.group);
  if (explanation.placement) {
    out["placement"] = placement_json(*explanation.placement, explanation.node, max_fitting);
  }
  return dump(out);
}

namespace {

// Who has waited longest comes first.
ordered_json queued_json(const StateSnapshot& snapshot) {
  std::vector<const StateSnapshot::QueuedPod*> pods;
  for (const auto& queued : snapshot.queued) pods.push_back(&queued);
  std::ranges::sort(pods, [](const auto* a, const auto* b) {
    if (a->waiting_ms != b->waiting_ms) return a->waiting_ms > b->waiting_ms;
    return full_name(*a->pod) < full_name(*b->pod);
  });
  ordered_json queue = ordered_json::array();
  for (const StateSnapshot::QueuedPod* each : pods) {
    const StateSnapshot::QueuedPod& queued = *each;
    ordered_json entry{{"pod", full_name(*queued.pod)},
                       {"uid", view(queued.pod->meta.uid)},
                       {"place", queued.place},
                       {"attempts", queued.attempts},
                       {"secondsWaiting", seconds(queued.waiting_ms)},
                       {"secondsQueued", seconds(queued.queued_for_ms)},
                       {"backoffSecondsLeft", seconds(queued.backoff_left_ms)},
                       {"rejectedBy", queued.rejected_by}};
    if (queued.pod->nominated_node_name.len != 0) {
      entry["nominatedNode"] = view(queued.pod->nominated_node_name);
    }
    if (!queued.group.empty()) entry["group"] = queued.group;
    if (queued.pod->scheduled_message.len != 0)
      entry["message"] = view(queued.pod->scheduled_message);
    queue.push_back(std::move(entry));
  }
  return queue;
}

}  // namespace

std::string queue_json(const StateSnapshot& snapshot) {
  return dump({{"standby", snapshot.standby},
               {"loopMilliseconds", static_cast<double>(snapshot.took_us) / 1000},
               {"queue", queued_json(snapshot)}});
}

std::string snapshot_json(const StateSnapshot& snapshot) {
  std::map<std::string_view, std::vector<const StateSnapshot::PlacedPod*>> pods;
  for (const auto& placed : snapshot.placed) pods[view(placed.pod->node_name)].push_back(&placed);
  const auto pods_json = [](std::vector<const StateSnapshot::PlacedPod*>& on_node) {
    std::sort(on_node.begin(), on_node.end(),
              [](const auto* a, const auto* b) { return full_name(*a->pod) < full_name(*b->pod); });
    ordered_json out = ordered_json::array();
    for (const auto* placed : on_node) {
      ordered_json pod{{"pod", full_name(*placed->pod)}, {"uid", view(placed->pod->meta.uid)}};
      if (placed->assumed) pod["assumed"] = true;
      if (placed->pod->nominated_node_name.len != 0) {
        pod["nominatedNode"] = view(placed->pod->nominated_node_name);
      }
      out.push_back(std::move(pod));
    }
    return out;
  };
  ordered_json out{{"synced", snapshot.synced},
                   {"standby", snapshot.standby},
                   {"schedulerNames", snapshot.scheduler_names},
                   {"nodes", ordered_json::array()},
                   {"nodesGone", ordered_json::array()},
                   {"queue", ordered_json()},
                   {"kinds", ordered_json::object()}};
  std::vector<const StateSnapshot::Node*> nodes;
  for (const auto& node : snapshot.nodes) nodes.push_back(&node);
  std::sort(nodes.begin(), nodes.end(), [](const auto* a, const auto* b) {
    return view(a->node->meta.name) < view(b->node->meta.name);
  });
  for (const auto* node : nodes) {
    auto on_node = pods.extract(view(node->node->meta.name));
    std::vector<const StateSnapshot::PlacedPod*> none;
    out["nodes"].push_back(
        {{"node", view(node->node->meta.name)},
         {"resourceVersion", view(node->node->meta.resource_version)},
         {"generation", node->generation},
         {"allocatable", amounts_json(snapshot.resource_names, node->allocatable)},
         {"requested", amounts_json(snapshot.resource_names, node->requested)},
         {"pods", pods_json(on_node.empty() ? none : on_node.mapped())}});
  }
  for (auto& [node, left] : pods) {
    out["nodesGone"].push_back({{"node", node}, {"pods", pods_json(left)}});
  }
  out["queue"] = queued_json(snapshot);
  for (const auto& [resource, kind] : snapshot.kinds) {
    std::vector<std::string> names;
    for (const std::string& name : kind.names) {
      names.push_back(name.starts_with('/') ? name.substr(1) : name);
    }
    std::sort(names.begin(), names.end());
    out["kinds"][resource] = {{"synced", kind.synced}, {"objects", std::move(names)}};
  }
  out["plugins"] = ordered_json::object();
  for (const auto& [plugin, state] : snapshot.plugins) {
    const std::string text = state.text();
    ordered_json value = ordered_json::parse(text, nullptr, false);
    out["plugins"][plugin] = value.is_discarded() ? ordered_json(text) : std::move(value);
  }
  return dump(out);
}

std::string differences_json(const std::vector<StateDifference>& differences,
                             const ApiListing& listing) {
  ordered_json out{{"equal", differences.empty()},
                   {"compared", {{"nodes", listing.nodes.size()}, {"pods", listing.pods.size()}}},
                   {"differences", ordered_json::array()}};
  for (const auto& [resource, names] : listing.kinds) out["compared"][resource] = names.size();
  for (const StateDifference& difference : differences) {
    out["differences"].push_back({{"kind", difference.kind},
                                  {"object", difference.object},
                                  {"uid", difference.uid},
                                  {"problem", to_string(difference.problem)},
                                  {"scheduler", difference.here},
                                  {"api", difference.api}});
  }
  return dump(out);
}

std::string amounts_text(const std::vector<std::string>& resource_names,
                         const std::vector<int64_t>& amounts) {
  std::string text;
  for (size_t i = 0; i < std::min(resource_names.size(), amounts.size()); ++i) {
    if (amounts[i] == 0) continue;
    text +=
        (text.empty() ? "" : " ") + resource_names[i] + "=" + amount(resource_names[i], amounts[i]);
  }
  return text;
}

}  // namespace plimsoll::cli
