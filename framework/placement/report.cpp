#include "framework/placement/placer.hpp"

#include <plimsoll/views.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "framework/api/objects.hpp"
#include "framework/placement/diagnosis.hpp"
#include "framework/placement/what_if.hpp"

namespace plimsoll {
namespace {

std::string node_name(const plimsoll_node_info& row) {
  return std::string(view(row.node->meta.name));
}

class PlacementRun {
 public:
  PlacementRun(const ReportRequest& request, const ClusterState& cluster,
               const Nominator& nominator, const ReasonTable& reasons,
               std::span<const uint64_t> last_chosen)
      : request_(request),
        cluster_(cluster),
        nominator_(nominator),
        reasons_(reasons),
        last_chosen_(last_chosen),
        framework_(request.framework),
        cycle_(framework_.new_cycle()) {}

  PlacementReport run() {
    rows_ = cluster_.rows();
    report_.nodes = diagnosis_.node_count = rows_.size();
    verdicts_.reset(rows_.size());
    if (rows_.empty()) {
      report_.message = kNoNodesMessage;
      return std::move(report_);
    }
    if (pre_filter() && take_pod_off_its_node() && (take_nominated_node() || filter()) && score()) {
      finish();
    }
    return std::move(report_);
  }

 private:
  // The node that the pod is on, as it would be without it; plugins' own state as well.
  bool take_pod_off_its_node() {
    if (!request_.on_node) return true;
    const NodeInfo* node = cluster_.node(view(request_.on_node->node_name));
    if (node == nullptr) return true;  // its Node is gone: no candidate any more
    own_ = std::make_unique<NodeInfo>(*node);
    own_->remove_pod(view(request_.on_node->meta.uid));
    std::replace(rows_.begin(), rows_.end(), node->abi(), own_->abi());
    return ended_well(
        framework_.run_remove_pod(*cycle_, *request_.pod, *request_.on_node, *own_->abi()));
  }

  bool ended_well(const Status& status) {
    if (status.ok()) return true;
    report_.error = status.message(reasons_);
    return false;
  }

  std::string name_of(PluginIndex plugin) const {
    return plugin == kNoPlugin ? "" : std::string(framework_.plugin_name(plugin));
  }

  // False: the cycle ends here.
  bool pre_filter() {
    const PreFilterOutcome outcome = framework_.run_pre_filter(*cycle_, *request_.pod);
    for (const auto& slot : framework_.at(ExtensionPoint::kPreFilter)) {
      if (cycle_->skip_filter.test(slot.plugin)) report_.skipped.push_back(name_of(slot.plugin));
    }
    if (outcome.status.rejected()) {
      RefusedNode rejection;
      rejection.code = outcome.status.code;
      rejection.plugin = name_of(outcome.status.plugin_index);
      rejection.reason = outcome.status.message(reasons_);
      diagnosis_.pre_filter_message = rejection.reason;
      report_.pre_filter_rejection = std::move(rejection);
      report_.message = fit_error_message(diagnosis_, reasons_);
      return false;
    }
    if (!ended_well(outcome.status)) return false;
    if (!outcome.narrowed) return true;
    for (const PluginIndex plugin : outcome.narrowed_by) {
      report_.narrowed_by.push_back(name_of(plugin));
    }
    const std::unordered_set<std::string_view> named(outcome.node_names.begin(),
                                                     outcome.node_names.end());
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (named.contains(view(rows_[i]->node->meta.name))) {
        ++report_.narrowed_to;
      } else {
        verdicts_.codes[i] = PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE;
        verdicts_.reasons[i] = outcome.absent_nodes.reason;
      }
    }
    return true;
  }

  // A node as the filters are to see it: that of the pod itself is a copy.
  const NodeInfo* info_of(size_t row) const {
    if (own_ && rows_[row] == own_->abi()) return own_.get();
    return cluster_.node_at(rows_[row]->slot);
  }

  // As evaluateNominatedNode: if the nominated node takes the pod, no other is looked at.
  bool take_nominated_node() {
    const std::string_view name = view(request_.pod->nominated_node_name);
    if (name.empty() || request_.on_node) return false;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (view(rows_[i]->node->meta.name) != name) continue;
      if (verdicts_.codes[i] != PLIMSOLL_SUCCESS) return false;
      const Status status =
          filter_with_nominated(framework_, *cycle_, *request_.pod, *info_of(i), nominator_);
      if (!status.ok()) return false;
      report_.nominated_node_taken = true;
      fitting_.push_back(rows_[i]);
      return true;
    }
    return false;
  }

  bool filter() {
    // The pod's own node is a simulated one, which the batch knows nothing of.
    size_t own_row = rows_.size();
    if (own_) {
      own_row =
          static_cast<size_t>(std::find(rows_.begin(), rows_.end(), own_->abi()) - rows_.begin());
    }
    if (own_row < rows_.size() && verdicts_.codes[own_row] == PLIMSOLL_SUCCESS) {
      const Status status =
          filter_with_nominated(framework_, *cycle_, *request_.pod, *own_, nominator_);
      if (status.is_error()) return ended_well(status);
      verdicts_.codes[own_row] = static_cast<uint8_t>(status.ok() ? Code::kSkip : status.code);
      verdicts_.reasons[own_row] = status.reason;
      verdicts_.rejectors[own_row] = status.plugin_index;
    }
    if (!ended_well(run_filters_with_nominated(framework_, *cycle_, *request_.pod, rows_,
                                               verdicts_.view(), cluster_, nominator_))) {
      return false;
    }
    std::map<std::pair<PluginIndex, uint32_t>, size_t> texts;
    std::vector<std::pair<double, size_t>> refused;  // how much is lacking, and the row
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (verdicts_.codes[i] == PLIMSOLL_SUCCESS || verdicts_.codes[i] == PLIMSOLL_SKIP) {
        fitting_.push_back(rows_[i]);
      } else {
        refused.emplace_back(lacking(*rows_[i]), i);
      }
    }
    std::ranges::sort(refused);
    for (const auto& [lacks, i] : refused) {
      refuse(i,
             texts[{verdicts_.rejectors[i], verdicts_.reasons[i]}]++ < request_.texts_per_reason);
    }
    if (fitting_.empty()) report_.message = fit_error_message(diagnosis_, reasons_);
    return true;
  }

  // The largest part of a request that the node does not have: 0 to 1.
  [[nodiscard]] double lacking(const plimsoll_node_info& row) const {
    double most = 0;
    const sdk::Node node(&row);
    for (const plimsoll_resource& asked : sdk::Resources(request_.pod->requests)) {
      if (asked.index == PLIMSOLL_RESOURCE_OF_NO_NODE) break;  // so are the rest
      if (asked.value <= 0) continue;
      const int64_t free = node.allocatable(asked.index) - node.requested(asked.index);
      const double lacks = 1 - static_cast<double>(free) / static_cast<double>(asked.value);
      most = std::max(most, std::min(lacks, 1.0));
    }
    return most;
  }

  void refuse(size_t row, bool ask) {
    RefusedNode& refused = report_.refused.emplace_back();
    refused.node = node_name(*rows_[row]);
    refused.code = static_cast<Code>(verdicts_.codes[row]);
    refused.plugin = name_of(verdicts_.rejectors[row]);
    refused.reason = reasons_.message(verdicts_.reasons[row]);
    if (verdicts_.reasons[row] != 0) ++diagnosis_.nodes_by_reason[verdicts_.reasons[row]];
    if (verdicts_.rejectors[row] == kNoPlugin) return;
    if (ask) {
      refused.text =
          framework_.explain(verdicts_.rejectors[row], *cycle_, *request_.pod, *rows_[row]);
    }
    const std::vector<PodRef>& nominated = nominator_.pods_of(refused.node);
    if (nominated.empty()) return;
    if (!framework_.run_filters_on(*cycle_, *request_.pod, *rows_[row]).ok()) return;
    for (const PodRef& pod : nominated) {
      if (pod->priority >= request_.pod->priority &&
          view(pod->meta.uid) != view(request_.pod->meta.uid)) {
        refused.kept_for.push_back(full_name(*pod));
      }
    }
  }

  bool score() {
    report_.fitting.resize(fitting_.size());
    for (size_t i = 0; i < fitting_.size(); ++i) report_.fitting[i].node = node_name(*fitting_[i]);
    if (fitting_.size() < 2) return true;
    const NodeRows rows(fitting_);
    if (!ended_well(framework_.run_pre_score(*cycle_, *request_.pod, rows))) return false;
    std::vector<Framework::Slot> slots;
    for (const auto& slot : framework_.at(ExtensionPoint::kScore)) {
      if (cycle_->skip_score.test(slot.plugin)) {
        report_.score_skipped.push_back(name_of(slot.plugin));
      } else {
        slots.push_back(slot);
      }
    }
    std::vector<std::vector<int64_t>> columns;  // all plugins score before the first normalizes
    for (const auto& slot : slots) {
      auto& column = columns.emplace_back(rows.size());
      if (!ended_well(
              framework_.run_raw_score(slot.plugin, *cycle_, *request_.pod, rows, column))) {
        return false;
      }
    }
    for (size_t k = 0; k < slots.size(); ++k) {
      for (size_t i = 0; i < rows.size(); ++i) report_.fitting[i].raw.push_back(columns[k][i]);
      if (!ended_well(framework_.run_normalize(slots[k].plugin, *cycle_, *request_.pod, rows,
                                               columns[k]))) {
        return false;
      }
      for (size_t i = 0; i < rows.size(); ++i) {
        report_.fitting[i].scores.push_back(columns[k][i]);
        report_.fitting[i].total += columns[k][i] * slots[k].weight;
      }
      report_.score_plugins.push_back({name_of(slots[k].plugin), slots[k].weight});
    }
    return true;
  }

  void finish() {
    if (fitting_.empty()) return;
    std::vector<size_t> order(fitting_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      const FittingNode& x = report_.fitting[a];
      const FittingNode& y = report_.fitting[b];
      if (x.total != y.total) return x.total > y.total;
      return chosen_at(*fitting_[a]) < chosen_at(*fitting_[b]);
    });
    std::vector<FittingNode> sorted;
    sorted.reserve(order.size());
    for (const size_t at : order) {
      const bool told = sorted.empty() || (own_ != nullptr && fitting_[at] == own_->abi());
      if (told) add_remarks(report_.fitting[at], *fitting_[at]);
      sorted.push_back(std::move(report_.fitting[at]));
    }
    report_.fitting = std::move(sorted);
    report_.chosen = report_.fitting.front().node;
  }

  // When the node was last chosen; 0: never.
  [[nodiscard]] uint64_t chosen_at(const plimsoll_node_info& row) const {
    return row.slot < last_chosen_.size() ? last_chosen_[row.slot] : 0;
  }

  void add_remarks(FittingNode& node, const plimsoll_node_info& row) const {
    for (const auto& slot : framework_.at(ExtensionPoint::kFilter)) {
      if (cycle_->skip_filter.test(slot.plugin)) continue;
      std::string text = framework_.explain(slot.plugin, *cycle_, *request_.pod, row);
      if (!text.empty()) node.remarks.push_back({name_of(slot.plugin), std::move(text)});
    }
  }

  const ReportRequest& request_;
  const ClusterState& cluster_;
  const Nominator& nominator_;
  const ReasonTable& reasons_;
  const std::span<const uint64_t> last_chosen_;  // by slot
  Framework& framework_;
  std::shared_ptr<CycleContext> cycle_;
  std::vector<const plimsoll_node_info*> rows_;  // all nodes
  Columns verdicts_;                             // on them
  std::vector<const plimsoll_node_info*> fitting_;
  std::unique_ptr<NodeInfo> own_;  // the node that the pod is on, without it
  Diagnosis diagnosis_;
  PlacementReport report_;
};

}  // namespace

PlacementReport Placer::report(const ReportRequest& request) const {
  return PlacementRun(request, cluster_, nominator_, reasons_, last_chosen_).run();
}

}  // namespace plimsoll
