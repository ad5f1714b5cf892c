#include "lab/lint/trial_cluster.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/objects/kinds.hpp"

namespace plimsoll::lint {
namespace {

constexpr int64_t kYear2026Ms = 1'767'225'600'000;
constexpr size_t kMostTasks = 1000;  // in one settle(): a task that sends itself again never ends

}  // namespace

TrialCluster::TrialCluster()
    : ClusterBackend(state_, nominator_),
      environment_(symbols_, *this),
      nominator_([this](std::string_view node_name) {
        const NodeInfo* node = state_.node(node_name);
        if (node != nullptr) state_.touch(node->slot(), PLIMSOLL_ASPECT_NOMINATED);
      }),
      now_ms_(kYear2026Ms) {}

TrialCluster::~TrialCluster() {
  framework_.reset();  // plugins may still ask their host
}

Result<std::unique_ptr<TrialCluster>> TrialCluster::create(const Modules& modules,
                                                           const ProfileSpec& spec) {
  std::unique_ptr<TrialCluster> cluster(new TrialCluster);
  auto made = Framework::create(spec, modules, cluster->environment_);
  if (!made) {
    return fail(ErrorCode::kInvalid, sdk::join(made.error(), "\n", &Error::message));
  }
  cluster->framework_ = std::move(*made);
  if (auto started = cluster->framework_->start(); !started) return fail(started.error());
  cluster->settle();
  return cluster;
}

// ---- events

void TrialCluster::synced() {
  for (const std::string& resource : watched_) {
    framework_->object_event(PLIMSOLL_OBJECT_SYNCED, resource, "", "", "");
  }
  settle();
}

void TrialCluster::put_node(NodeRef node) {
  const std::string name(view(node->meta.name));
  const bool is_new = state_.node(name) == nullptr;
  const NodeInfo* before = state_.node(name);
  const NodeRef kept =
      before == nullptr ? nullptr : before->node();  // plugins may still look at it
  const uint32_t aspects = state_.upsert_node(std::move(node));
  framework_->node_event(is_new ? PLIMSOLL_NODE_ADDED : PLIMSOLL_NODE_CHANGED,
                         *state_.node(name)->abi(), aspects);
  settle();
}

void TrialCluster::remove_node(std::string_view name) {
  const NodeInfo* info = state_.node(name);
  if (info == nullptr) return;
  const NodeRef kept = info->node();
  framework_->node_event(PLIMSOLL_NODE_REMOVED, *info->abi(), 0);
  state_.remove_node(name);
  settle();
}

void TrialCluster::put_pod(const PodRef& pod) {
  const PodRef before = state_.pod(view(pod->meta.uid));
  if (state_.upsert_pod(pod) == PodChange::kMoved) {
    framework_->pod_event(PLIMSOLL_POD_REMOVED, *before, view(before->node_name));
  }
  framework_->pod_event(PLIMSOLL_POD_ASSIGNED, *pod, view(pod->node_name));
  settle();
}

void TrialCluster::remove_pod(std::string_view uid) {
  const PodRef pod = state_.pod(uid);
  if (!pod) return;
  state_.remove_pod(uid);
  framework_->pod_event(PLIMSOLL_POD_REMOVED, *pod, view(pod->node_name));
  settle();
}

void TrialCluster::put_object(const Object& object) {
  const auto before = environment_.objects.put(
      *decoded({object.resource, object.ns, object.name, "", "", object.json}));
  framework_->object_event(PLIMSOLL_OBJECT_UPSERT, object.resource, object.name, object.ns,
                           object.json);
  settle();
}

void TrialCluster::remove_object(const Object& object) {
  const auto before =
      environment_.objects.erase({object.resource, object.ns, object.name, "", "", ""});
  framework_->object_event(PLIMSOLL_OBJECT_DELETE, object.resource, object.name, object.ns, "");
  settle();
}

void TrialCluster::put_nominated(const PodRef& pod, const std::string& node_name) {
  nominator_.add(pod, node_name.empty() ? Nominating::clear() : Nominating::to(node_name));
}

void TrialCluster::pass_time(int64_t milliseconds) {
  now_ms_ += milliseconds;
  settle();
}

PodRef TrialCluster::reserve(CycleContext& cycle, const PodRef& pod, const plimsoll_node_info& node,
                             std::string& error) {
  PodRef assumed = assigned_copy(pod, view(node.node->meta.name));
  if (!state_.assume(assumed)) return nullptr;
  framework_->assumed_pod_event(PLIMSOLL_POD_ASSIGNED, *assumed);
  const Status status = framework_->run_reserve(cycle, *assumed, node);
  if (status.is_error()) error = status.error;
  const bool taken = status.ok();
  if (!taken) unreserve(cycle, assumed);
  settle();
  return taken ? assumed : nullptr;
}

void TrialCluster::unreserve(CycleContext& cycle, const PodRef& assumed) {
  framework_->run_unreserve(cycle, *assumed, view(assumed->node_name));
  if (state_.forget(view(assumed->meta.uid))) {
    framework_->assumed_pod_event(PLIMSOLL_POD_REMOVED, *assumed);
  }
  settle();
}

std::unique_ptr<WhatIf> TrialCluster::what_if(const CycleContext& cycle, const PodRef& pod,
                                              uint32_t slot) {
  return make_what_if(*framework_, cycle, *pod, *state_.node_at(slot), nominator_);
}

void TrialCluster::settle() {
  for (size_t ran = 0; ran < kMostTasks; ++ran) {
    std::function<void()> task;
    {
      const std::lock_guard lock(mutex_);
      const auto due = std::find_if(later_.begin(), later_.end(),
                                    [this](const Later& later) { return later.due_ms <= now_ms_; });
      if (due == later_.end()) return;
      task = std::move(due->task);
      later_.erase(due);
    }
    task();
  }
}

std::vector<uint32_t> TrialCluster::changed_since(uint64_t mark) const {
  std::vector<uint32_t> changed(state_.slot_count(), 0);
  for (uint64_t at = std::max(mark, state_.log_begin()); at < state_.log_end(); ++at) {
    const NodeChange& change = state_.log_at(at);
    changed[change.slot] |= change.aspects == 0 ? UINT32_MAX : change.aspects;
  }
  return changed;
}

// ---- HostBackend

Result<void> TrialCluster::watch(const WantedKind& kind) {
  watched_.insert(kind.resource());
  return {};
}

void TrialCluster::run_on_loop(int64_t delay_ms, std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  later_.push_back({now_ms_ + std::max(delay_ms, int64_t{0}), std::move(task)});
}

}  // namespace plimsoll::lint
