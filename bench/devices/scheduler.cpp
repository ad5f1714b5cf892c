#include "bench/devices/scheduler.hpp"

#include <algorithm>
#include <stdexcept>

#include "bench/support/timing.hpp"
#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/placement/cluster_backend.hpp"
#include "framework/runtime/every_point.hpp"
#include "plugins/builtin/builtin.hpp"

namespace plimsoll::bench {
namespace {

constexpr const char* kDeviceResource = "devices.v1alpha1.scheduling.koordinator.sh";
// NodeDevice is first, so that its Filter sees every node, even one that lacks other resources.
constexpr const char* kPlugins[] = {"NodeDevice",       "SchedulingGates",
                                    "PrioritySort",     "NodeUnschedulable",
                                    "NodeName",         "TaintToleration",
                                    "NodeAffinity",     "NodePorts",
                                    "NodeResourcesFit", "NodeResourcesBalancedAllocation",
                                    "DefaultBinder",    "UnsupportedFeatures"};

double cpu_us() {
  return cpu_ms() * 1e3;
}

void must(const Status& status, const Environment& environment) {
  if (!status.ok()) throw std::runtime_error(status.message(environment.reasons));
}

}  // namespace

struct BenchScheduler::Impl {
  SymbolTable symbols;
  ClusterState cluster;
  Nominator nominator{[](std::string_view) {}};
  ClusterBackend backend{cluster, nominator};
  Environment environment{symbols, backend};
  Modules modules;
  std::unique_ptr<Framework> framework;
  PluginIndex device = 0;
};

BenchScheduler::BenchScheduler(const std::string& plugin_file, const std::string& device_args)
    : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.modules.add_builtin(builtin_modules());
  const ModuleRecord& record = impl.modules.load_file(plugin_file);
  if (!record.loaded) throw std::runtime_error(record.refusal);
  ProfileSpec profile;
  profile.scheduler_name = "bench";
  profile.args["NodeDevice"] = device_args;
  for (const std::string name : kPlugins) {
    const auto enabled = enable_at_every_point(profile, impl.modules, name);
    if (!enabled) throw std::runtime_error(enabled.error().message);
  }
  auto made = Framework::create(profile, impl.modules, impl.environment);
  if (!made) throw std::runtime_error(made.error().front().message);
  impl.framework = *std::move(made);
  if (const auto started = impl.framework->start(); !started)
    throw std::runtime_error(started.error().message);
  for (size_t plugin = 0; plugin < impl.framework->plugin_count(); ++plugin)
    if (impl.framework->plugin_name(static_cast<PluginIndex>(plugin)) == "NodeDevice")
      impl.device = static_cast<PluginIndex>(plugin);
}

BenchScheduler::~BenchScheduler() = default;

SymbolTable& BenchScheduler::symbols() {
  return impl_->symbols;
}

void BenchScheduler::add_node(const NodeRef& node, std::string_view name,
                              const std::string& device) {
  impl_->cluster.upsert_node(node);
  const NodeInfo* info = impl_->cluster.node(name);
  impl_->framework->node_event(PLIMSOLL_NODE_ADDED, *info->abi(), 0);
  impl_->framework->object_event(PLIMSOLL_OBJECT_UPSERT, kDeviceResource, name, "", device);
}

Decision BenchScheduler::schedule(const PodRef& pod) {
  Framework& framework = *impl_->framework;
  const NodeRows all(impl_->cluster.rows());
  Decision decision;
  const auto cycle = framework.new_cycle();
  // Calls the plugins one by one, like run_filters and run_score, to measure NodeDevice separately.
  const auto timed = [&](bool device, const auto& run) {
    const double began = cpu_us();
    const Status status = run();
    const double took = cpu_us() - began;
    must(status, impl_->environment);
    decision.whole_us += took;
    if (device) decision.device_us += took;
  };
  timed(false, [&] { return framework.run_pre_filter(*cycle, *pod).status; });

  std::vector<const plimsoll_node_info*> open(all.begin(), all.end());
  std::vector<uint8_t> codes(all.size());
  std::vector<uint32_t> reasons(all.size());
  for (const Framework::Slot& slot : framework.at(ExtensionPoint::kFilter)) {
    if (cycle->skip_filter.test(slot.plugin)) continue;
    codes.resize(open.size());
    reasons.resize(open.size());
    timed(slot.plugin == impl_->device,
          [&] { return framework.run_filter(slot.plugin, *cycle, *pod, open, codes, reasons); });
    size_t kept = 0;
    for (size_t i = 0; i < open.size(); ++i)
      if (codes[i] == PLIMSOLL_SUCCESS) open[kept++] = open[i];
    open.resize(kept);
    if (slot.plugin == impl_->device) decision.passed = kept;
  }
  if (open.empty()) return decision;

  timed(false, [&] { return framework.run_pre_score(*cycle, *pod, open); });
  std::vector<int64_t> totals(open.size());
  std::vector<int64_t> scores(open.size());
  for (const Framework::Slot& slot : framework.at(ExtensionPoint::kScore)) {
    if (cycle->skip_score.test(slot.plugin)) continue;
    timed(slot.plugin == impl_->device, [&] {
      Status status = framework.run_raw_score(slot.plugin, *cycle, *pod, open, scores);
      if (status.ok()) status = framework.run_normalize(slot.plugin, *cycle, *pod, open, scores);
      return status;
    });
    for (size_t i = 0; i < open.size(); ++i) totals[i] += slot.weight * scores[i];
  }

  const auto best = std::max_element(totals.begin(), totals.end());
  const plimsoll_node_info* node = open[static_cast<size_t>(best - totals.begin())];
  decision.node = view(node->node->meta.name);
  const PodRef assumed = assigned_copy(pod, decision.node);
  impl_->cluster.assume(assumed);
  const double began = cpu_us();
  must(framework.run_reserve(*cycle, *assumed, *node), impl_->environment);
  decision.reserve_us = cpu_us() - began;
  for (const auto& [key, value] : cycle->annotations())
    if (key == "scheduling.koordinator.sh/device-allocated") decision.allocated = value;
  return decision;
}

}  // namespace plimsoll::bench
