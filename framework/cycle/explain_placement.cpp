#include "framework/cycle/explain_placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "framework/api/objects.hpp"
#include "framework/cycle/diagnosis.hpp"
#include "framework/cycle/what_if.hpp"

namespace plimsoll {
namespace {

std::string node_name(const plimsoll_node_info& row) {
  return std::string(view(row.node->meta.name));
}

class PlacementRun {
 public:
  explicit PlacementRun(const PlacementQuestion& question)
      : question_(question), framework_(question.framework), cycle_(framework_.new_cycle()) {}

  PlacementReport run() {
    rows_ = question_.cluster.rows();
    report_.nodes = diagnosis_.node_count = rows_.size();
    codes_.assign(rows_.size(), PLIMSOLL_SUCCESS);
    reasons_.assign(rows_.size(), 0);
    rejectors_.assign(rows_.size(), kNoPlugin);
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
    if (!question_.on_node) return true;
    const NodeInfo* node = question_.cluster.node(view(question_.on_node->node_name));
    if (node == nullptr) return true;  // its Node is gone: no candidate any more
    own_ = std::make_unique<NodeInfo>(*node);
    own_->remove_pod(view(question_.on_node->meta.uid));
    std::replace(rows_.begin(), rows_.end(), node->abi(), own_->abi());
    return ended_well(
        framework_.run_remove_pod(*cycle_, *question_.pod, *question_.on_node, *own_->abi()));
  }

  bool ended_well(const Status& status) {
    if (status.ok()) return true;
    report_.error = status.message(question_.reasons);
    return false;
  }

  std::string name_of(PluginIndex plugin) const {
    return plugin == kNoPlugin ? "" : std::string(framework_.plugin_name(plugin));
  }

  // False: the cycle ends here.
  bool pre_filter() {
    const PreFilterOutcome outcome = framework_.run_pre_filter(*cycle_, *question_.pod);
    for (const auto& slot : framework_.at(ExtensionPoint::kPreFilter)) {
      if (cycle_->skip_filter.test(slot.plugin)) report_.skipped.push_back(name_of(slot.plugin));
    }
    if (outcome.status.rejected()) {
      RefusedNode rejection;
      rejection.code = outcome.status.code;
      rejection.plugin = name_of(outcome.status.plugin_index);
      rejection.reason = outcome.status.message(question_.reasons);
      diagnosis_.pre_filter_message = rejection.reason;
      report_.pre_filter_rejection = std::move(rejection);
      report_.message = fit_error_message(diagnosis_, question_.reasons);
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
        codes_[i] = PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE;
        reasons_[i] = outcome.absent_nodes.reason;
      }
    }
    return true;
  }

  // A node as the filters are to see it: that of the pod itself is a copy.
  const NodeInfo* info_of(size_t row) const {
    if (own_ && rows_[row] == own_->abi()) return own_.get();
    return question_.cluster.node_at(rows_[row]->slot);
  }

  // As evaluateNominatedNode: if the nominated node takes the pod, no other is looked at.
  bool take_nominated_node() {
    const std::string_view name = view(question_.pod->nominated_node_name);
    if (name.empty() || question_.on_node) return false;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (view(rows_[i]->node->meta.name) != name) continue;
      if (codes_[i] != PLIMSOLL_SUCCESS) return false;
      const Status status = filter_with_nominated(framework_, *cycle_, *question_.pod, *info_of(i),
                                                  question_.nominator);
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
    if (own_row < rows_.size() && codes_[own_row] == PLIMSOLL_SUCCESS) {
      const Status status =
          filter_with_nominated(framework_, *cycle_, *question_.pod, *own_, question_.nominator);
      if (status.is_error()) return ended_well(status);
      codes_[own_row] = static_cast<uint8_t>(status.ok() ? Code::kSkip : status.code);
      reasons_[own_row] = status.reason;
      rejectors_[own_row] = status.plugin_index;
    }
    if (!ended_well(run_filters_with_nominated(framework_, *cycle_, *question_.pod, rows_,
                                               {codes_, reasons_, rejectors_}, question_.cluster,
                                               question_.nominator))) {
      return false;
    }
    std::map<std::pair<PluginIndex, uint32_t>, size_t> texts;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (codes_[i] == PLIMSOLL_SUCCESS || codes_[i] == PLIMSOLL_SKIP) {
        fitting_.push_back(rows_[i]);
      } else {
        refuse(i, texts[{rejectors_[i], reasons_[i]}]++ < question_.texts_per_reason);
      }
    }
    if (fitting_.empty()) report_.message = fit_error_message(diagnosis_, question_.reasons);
    return true;
  }

  void refuse(size_t row, bool ask) {
    RefusedNode& refused = report_.refused.emplace_back();
    refused.node = node_name(*rows_[row]);
    refused.code = static_cast<Code>(codes_[row]);
    refused.plugin = name_of(rejectors_[row]);
    refused.reason = question_.reasons.message(reasons_[row]);
    if (reasons_[row] != 0) ++diagnosis_.nodes_by_reason[reasons_[row]];
    if (rejectors_[row] == kNoPlugin) return;
    if (ask) {
      refused.text = framework_.explain(rejectors_[row], *cycle_, *question_.pod, *rows_[row]);
    }
    const std::vector<PodRef>& nominated = question_.nominator.pods_of(refused.node);
    if (nominated.empty()) return;
    if (!framework_.run_filters_on(*cycle_, *question_.pod, *rows_[row]).ok()) return;
    for (const PodRef& pod : nominated) {
      if (pod->priority >= question_.pod->priority &&
          view(pod->meta.uid) != view(question_.pod->meta.uid)) {
        refused.kept_for.push_back(full_name(*pod));
      }
    }
  }

  bool score() {
    report_.fitting.resize(fitting_.size());
    for (size_t i = 0; i < fitting_.size(); ++i) report_.fitting[i].node = node_name(*fitting_[i]);
    if (fitting_.size() < 2) return true;
    const NodeRows rows(fitting_);
    if (!ended_well(framework_.run_pre_score(*cycle_, *question_.pod, rows))) return false;
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
              framework_.run_raw_score(slot.plugin, *cycle_, *question_.pod, rows, column))) {
        return false;
      }
    }
    for (size_t k = 0; k < slots.size(); ++k) {
      for (size_t i = 0; i < rows.size(); ++i) report_.fitting[i].raw.push_back(columns[k][i]);
      if (!ended_well(framework_.run_normalize(slots[k].plugin, *cycle_, *question_.pod, rows,
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
      return question_.last_chosen(fitting_[a]->slot) < question_.last_chosen(fitting_[b]->slot);
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

  void add_remarks(FittingNode& node, const plimsoll_node_info& row) const {
    for (const auto& slot : framework_.at(ExtensionPoint::kFilter)) {
      if (cycle_->skip_filter.test(slot.plugin)) continue;
      std::string text = framework_.explain(slot.plugin, *cycle_, *question_.pod, row);
      if (!text.empty()) node.remarks.push_back({name_of(slot.plugin), std::move(text)});
    }
  }

  const PlacementQuestion& question_;
  Framework& framework_;
  std::shared_ptr<CycleContext> cycle_;
  std::vector<const plimsoll_node_info*> rows_;  // all nodes; the next three are as long
  std::vector<uint8_t> codes_;
  std::vector<uint32_t> reasons_;
  std::vector<PluginIndex> rejectors_;
  std::vector<const plimsoll_node_info*> fitting_;
  std::unique_ptr<NodeInfo> own_;  // the node that the pod is on, without it
  Diagnosis diagnosis_;
  PlacementReport report_;
};

}  // namespace

PlacementReport report_placement(const PlacementQuestion& question) {
  return PlacementRun(question).run();
}

}  // namespace plimsoll
