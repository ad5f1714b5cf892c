#include "plugins/topology/ledger/report_reader.hpp"

#include <algorithm>

namespace plimsoll::topology {
namespace {

// Whether the facts show everything that the kubelet knows.
bool says_all(const kubelet::NodeModel& model, const kubelet::NodeState& state) {
  if (model.cpu_static && !state.knows_cpus()) return false;
  if (model.memory_static && !state.knows_groups()) return false;
  return std::all_of(model.devices.begin(), model.devices.end(), [](const auto& type) {
    const auto none = [](int64_t total) { return total == 0; };
    return type.listed() || std::all_of(type.totals.begin(), type.totals.end(), none);
  });
}

}  // namespace

NodeReport ReportReader::read(const NrtObject& nrt, const NodeReport& before, int64_t now_ms) {
  NodeReport report;
  report.there = true;
  report.zones = NumaNode(nrt, index_, nrt.written_ms != 0 ? nrt.written_ms : now_ms, &memory_);
  kubelet::NodeFacts facts = facts_.read(nrt);
  report.counts = facts.model == before.model ? before.counts : counts_model(facts.model);
  report.model = std::move(facts.model);
  report.state = std::move(facts.state);
  report.exact = facts.pods.has_value() && says_all(*report.model, report.state);
  if (report.exact) {
    report.holdings = std::move(facts.pods);
    for (size_t i = 0; i < report.holdings->size(); ++i) {
      report.holders.emplace(PodKey::of(report.holdings->uid(i)), static_cast<uint32_t>(i));
    }
  }
  report.version = nrt.resource_version;
  report.written_ms = nrt.written_ms;
  report.node_uids = nrt.node_uids;
  report.fingerprint = nrt.fingerprint;
  report.method = nrt.method;
  report.kubelet_away = nrt.kubelet_away;
  // The same problems are noted once: exporters write every few seconds.
  report.problems = std::move(facts.problems);
  report.contradiction = nrt.contradiction;
  const std::string prefix = "NodeResourceTopology " + nrt.name + ": ";
  if (report.problems != before.problems) {
    for (const std::string& problem : report.problems) notes.push_back(prefix + problem);
  }
  if (report.contradiction != before.contradiction && !report.contradiction.empty()) {
    warnings.push_back(prefix + report.contradiction);
  }
  return report;
}

}  // namespace plimsoll::topology
