// PreFilter, Filter, AddPod and RemovePod, PostFilter.

#include <algorithm>
#include <memory>

#include "framework/metrics/scheduler_metrics.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/pieces.hpp"
#include "framework/runtime/plugin_call.hpp"

namespace plimsoll {

namespace {

// A list of names as Go prints it with %v.
std::string go_list(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) {
    if (text.size() > 1) text += ' ';
    text += name;
  }
  return text + "]";
}

// The elements of a plimsoll_list of texts, sorted, each once.
std::vector<std::string> names_of(const plimsoll_list& list) {
  std::vector<std::string> names;
  const auto* at = static_cast<const std::byte*>(list.data);
  for (uint32_t i = 0; i < list.count && list.stride >= sizeof(plimsoll_str); ++i) {
    names.emplace_back(view(*reinterpret_cast<const plimsoll_str*>(at + size_t{i} * list.stride)));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// Collects what PreFilter plugins narrow the nodes to.
class Narrowing {
 public:
  void add(std::string_view plugin, const plimsoll_list& names) {
    plugins_.insert(std::upper_bound(plugins_.begin(), plugins_.end(), plugin),
                    std::string(plugin));
    std::vector<std::string> more = names_of(names);
    if (plugins_.size() == 1) {
      names_ = std::move(more);
      return;
    }
    std::vector<std::string> both;
    std::set_intersection(names_.begin(), names_.end(), more.begin(), more.end(),
                          std::back_inserter(both));
    names_ = std::move(both);
  }
  [[nodiscard]] bool any() const { return !plugins_.empty(); }
  [[nodiscard]] bool empty() const { return any() && names_.empty(); }

  // Why no node is left.
  [[nodiscard]] std::string nothing_left() const {
    if (plugins_.size() == 1) return "node(s) didn't satisfy plugin " + plugins_.front();
    return "node(s) didn't satisfy plugin(s) " + go_list(plugins_) + " simultaneously";
  }
  void finish(PreFilterOutcome& out, ReasonTable& reasons) {
    if (!any()) return;
    out.narrowed = true;
    out.node_names = std::move(names_);
    out.absent_nodes.code = Code::kUnschedulableAndUnresolvable;
    out.absent_nodes.reason =
        reasons.intern("node(s) didn't satisfy plugin(s) " + go_list(plugins_));
  }

 private:
  std::vector<std::string> plugins_;  // sorted, as messages list them
  std::vector<std::string> names_;
};

// Room for one call of run_filters; kept per thread, so that a call allocates nothing.
struct FilterScratch {
  std::vector<const plimsoll_node_info*> rows;
  std::vector<uint32_t> slots;   // of rows, if there are columns
  std::vector<uint32_t> origin;  // rows[i] is row origin[i] of the caller
  std::vector<uint8_t> codes;
  std::vector<uint32_t> reasons;
};

// Lends the thread's room. A plugin whose filter has other filters run, as a what-if does, is
// against the contract; it gets room of its own rather than the caller's.
class LentScratch {
 public:
  LentScratch() {
    if (shared().lent) own_ = std::make_unique<FilterScratch>();
    shared().lent = true;
  }
  ~LentScratch() {
    if (!own_) shared().lent = false;
  }
  LentScratch(const LentScratch&) = delete;
  LentScratch& operator=(const LentScratch&) = delete;
  FilterScratch& operator*() { return own_ ? *own_ : shared().room; }

 private:
  struct Shared {
    FilterScratch room;
    bool lent = false;
  };
  static Shared& shared() {
    thread_local Shared instance;
    return instance;
  }
  std::unique_ptr<FilterScratch> own_;
};

}  // namespace

PreFilterOutcome Framework::run_pre_filter(CycleContext& cycle, const plimsoll_pod& pod) {
  PreFilterOutcome out;
  Narrowing narrowing;
  cycle.skip_filter.reset();
  for (const Slot& slot : at(ExtensionPoint::kPreFilter)) {
    if (Status status = go_on(); !status.ok()) {
      out.status = std::move(status);
      return out;
    }
    PluginInstance& run = plugin(slot);
    uint32_t reason = 0;
    uint32_t narrowed = 0;
    plimsoll_list names{};
    const int32_t code =
        call_plugin({metrics_.get(), cycle.time_plugins, slot.plugin, metrics::Point::kPreFilter},
                    run, run.slots().pre_filter, &cycle, &pod, &reason, &names, &narrowed);
    if (metrics_) metrics_->plugin_evaluation(slot.plugin, metrics::Point::kPreFilter, 1);
    if (code == PLIMSOLL_SKIP) {
      cycle.skip_filter.set(slot.plugin);
      continue;
    }
    if (code != PLIMSOLL_SUCCESS) {
      Status status = worded_rejection(slot.plugin, code, reason,
                                       "running PreFilter plugin " + in_quotes(run.name()));
      const bool go_on = status.code == Code::kUnschedulable || status.code == Code::kPending;
      out.status = std::move(status);
      if (go_on) continue;      // the others' state is needed for preemption
      out.narrowed_by.clear();  // it is this plugin alone that rejects
      return out;
    }
    if (narrowed == 0) continue;
    narrowing.add(run.name(), names);
    out.narrowed_by.push_back(slot.plugin);
    if (narrowing.empty()) {
      out.status = named({}, slot.plugin);
      out.status.code = Code::kUnschedulableAndUnresolvable;
      out.status.reason = env_.reasons.intern(narrowing.nothing_left());
      narrowing.finish(out, env_.reasons);
      return out;
    }
  }
  narrowing.finish(out, env_.reasons);
  return out;
}

Status Framework::run_filter(PluginIndex index, const CycleContext& cycle, const plimsoll_pod& pod,
                             NodeRows rows, std::span<uint8_t> codes,
                             std::span<uint32_t> reasons) const {
  const PluginInstance& run = *plugins_[index];
  std::fill(codes.begin(), codes.end(), uint8_t{PLIMSOLL_SUCCESS});
  std::fill(reasons.begin(), reasons.end(), 0U);
  for (Pieces pieces(rows.size()); pieces.next();) {
    if (Status status = go_on(); !status.ok()) return status;
    const size_t begin = pieces.begin();
    const plimsoll_nodes nodes = rows.part(begin, pieces.count()).abi();
    const int32_t code = call_plugin(
        {metrics_.get(), cycle.time_plugins, index, metrics::Point::kFilter}, run,
        run.slots().filter, &cycle, &pod, &nodes, codes.data() + begin, reasons.data() + begin);
    if (metrics_) metrics_->plugin_evaluation(index, metrics::Point::kFilter, pieces.count());
    if (code != PLIMSOLL_SUCCESS) {
      return failure(index, code, "running " + in_quotes(run.name()) + " filter plugin");
    }
  }
  if (all_passed(codes)) return {};
  for (size_t i = 0; i < rows.size(); ++i) {
    if (codes[i] == PLIMSOLL_SUCCESS) continue;
    const bool usual = is_rejected(static_cast<Code>(codes[i])) && reasons[i] != 0 &&
                       env_.reasons.valid(reasons[i]);
    if (usual) continue;
    Status status = rejection(index, codes[i], reasons[i],
                              "running " + in_quotes(run.name()) + " filter plugin");
    if (status.is_error()) return status;
    reasons[i] = status.reason;
  }
  return {};
}

Status Framework::run_filters(const CycleContext& cycle, const plimsoll_pod& pod, NodeRows rows,
                              FilterColumns out) const {
  LentScratch lent;
  FilterScratch& room = *lent;
  NodeRows open = rows;  // the rows that are still candidates: all of them, or room.rows
  bool all_open = true;  // then row i of `open` is row i of the caller
  const auto keep = [&](std::span<const uint8_t> codes, const auto& refuse) {
    if (all_open) {
      room.rows.resize(rows.size());
      room.origin.resize(rows.size());
      if (rows.columns() != nullptr) room.slots.resize(rows.size());
    }
    size_t kept = 0;
    for (size_t i = 0; i < open.size(); ++i) {
      const uint32_t row = all_open ? static_cast<uint32_t>(i) : room.origin[i];
      if (codes[i] != PLIMSOLL_SUCCESS) {
        refuse(i, row);
        continue;
      }
      if (rows.columns() != nullptr) room.slots[kept] = open.slot(i);
      room.rows[kept] = open[i];
      room.origin[kept++] = row;
    }
    all_open = false;
    open = NodeRows(std::span(room.rows).first(kept), room.slots, rows.columns());
  };
  if (!all_passed(out.codes)) keep(out.codes, [](size_t, uint32_t) {});
  room.codes.resize(open.size());
  room.reasons.resize(open.size());
  for (const Slot& slot : at(ExtensionPoint::kFilter)) {
    if (cycle.skip_filter.test(slot.plugin)) continue;
    if (open.empty()) break;
    const auto codes = std::span(room.codes).first(open.size());
    const auto reasons = std::span(room.reasons).first(open.size());
    Status status = run_filter(slot.plugin, cycle, pod, open, codes, reasons);
    if (status.is_error()) return status;
    if (all_passed(codes)) continue;
    keep(codes, [&](size_t i, uint32_t row) {
      out.codes[row] = codes[i];
      out.reasons[row] = reasons[i];
      out.rejectors[row] = slot.plugin;
    });
  }
  return {};
}

Status Framework::run_filters_on(const CycleContext& cycle, const plimsoll_pod& pod,
                                 const plimsoll_node_info& node) const {
  const plimsoll_node_info* row = &node;
  uint8_t code = PLIMSOLL_SUCCESS;
  uint32_t reason = 0;
  PluginIndex rejector = kNoPlugin;
  Status status =
      run_filters(cycle, pod, NodeRows(&row, 1),
                  {std::span(&code, 1), std::span(&reason, 1), std::span(&rejector, 1)});
  if (status.is_error() || code == PLIMSOLL_SUCCESS) return status;
  status.code = static_cast<Code>(code);
  status.reason = reason;
  return named(std::move(status), rejector);
}

Status Framework::run_add_pod(CycleContext& cycle, const plimsoll_pod& pod,
                              const plimsoll_pod& added, const plimsoll_node_info& node) {
  return run_change(cycle, pod, added, node,
                    {&plimsoll_plugin::add_pod, metrics::Point::kAddPod, "AddPod"});
}

Status Framework::run_remove_pod(CycleContext& cycle, const plimsoll_pod& pod,
                                 const plimsoll_pod& removed, const plimsoll_node_info& node) {
  return run_change(cycle, pod, removed, node,
                    {&plimsoll_plugin::remove_pod, metrics::Point::kRemovePod, "RemovePod"});
}

Status Framework::run_change(CycleContext& cycle, const plimsoll_pod& pod,
                             const plimsoll_pod& changed, const plimsoll_node_info& node,
                             const Change& change) {
  for (const Slot& slot : at(ExtensionPoint::kPreFilter)) {
    PluginInstance& run = plugin(slot);
    const auto call = run.slots().*change.slot;
    if (call == nullptr || cycle.skip_filter.test(slot.plugin)) continue;
    const int32_t code =
        call_plugin({metrics_.get(), cycle.time_plugins, slot.plugin, change.point}, run, call,
                    &cycle, &pod, &changed, &node);
    if (code != PLIMSOLL_SUCCESS) {
      return failure(
          slot.plugin, code,
          "running " + std::string(change.name) + " on PreFilter plugin " + in_quotes(run.name()));
    }
  }
  return {};
}

PostFilterOutcome Framework::run_post_filters(CycleContext& cycle, const plimsoll_pod& pod,
                                              NodeRows rows, std::span<const uint8_t> codes) {
  const plimsoll_nodes nodes = rows.abi();
  const auto what = [](const PluginInstance& run) {
    return "running PostFilter plugin " + in_quotes(run.name());
  };
  PostFilterOutcome out;
  std::string texts;  // of all that rejected
  PluginIndex rejector = kNoPlugin;
  for (const Slot& slot : at(ExtensionPoint::kPostFilter)) {
    if (Status status = go_on(); !status.ok()) {
      out.status = std::move(status);
      return out;
    }
    PluginInstance& run = plugin(slot);
    plimsoll_str nominated{};
    uint32_t reason = 0;
    const int32_t code = call_plugin(
        {metrics_.get(), cycle.time_plugins, slot.plugin, metrics::Point::kPostFilter}, run,
        run.slots().post_filter, &cycle, &pod, &nodes, codes.data(), &nominated, &reason);
    Status status;
    if (code == PLIMSOLL_ERROR) {
      // The one point whose errors kube-scheduler shows as they are: they end the sentence that
      // begins with "0/5 nodes are available".
      status = named(error_status(take_plugin_error()), slot.plugin);
      if (status.error.empty()) status = failure(slot.plugin, code, what(run));
    } else if (code != PLIMSOLL_SUCCESS) {
      status = worded_rejection(slot.plugin, code, reason, what(run));
    }
    if (status.is_error()) {
      PostFilterOutcome failed;
      failed.status = std::move(status);
      return failed;
    }
    const bool last = status.ok() || status.code == Code::kUnschedulableAndUnresolvable;
    if (last) out = {};
    if (nominated.data != nullptr) {
      out.override_nomination = true;
      out.nominated_node = view(nominated);
    }
    if (last) {
      out.status = std::move(status);
      return out;
    }
    // One without reasons has nothing to add to the pod's message.
    const std::string text = status.message(env_.reasons);
    if (!text.empty()) texts += (texts.empty() ? "" : ", ") + text;
    if (rejector == kNoPlugin) rejector = slot.plugin;
  }
  out.status.code = Code::kUnschedulable;
  out.status.error = std::move(texts);
  if (rejector != kNoPlugin) out.status = named(std::move(out.status), rejector);
  return out;
}

}  // namespace plimsoll
