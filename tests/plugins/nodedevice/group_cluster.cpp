#include "tests/plugins/nodedevice/group_cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <stdexcept>

#include "framework/api/decode/decode.hpp"
#include "framework/cycle/inspect/explain.hpp"
#include "framework/objects/kinds.hpp"
#include "framework/runtime/every_point.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "plugins/builtin/builtin.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices::test {
namespace {

constexpr const char* kDeviceKind = "devices.v1alpha1.scheduling.koordinator.sh";
constexpr const char* kAllocatedKey = "scheduling.koordinator.sh/device-allocated";
constexpr const char* kGroupLabel = "pod-group.scheduling.sigs.k8s.io";
constexpr const char* kGroupKind = "podgroups.v1alpha1.scheduling.sigs.k8s.io";

const Modules& modules() {
  static const Modules kModules = [] {
    Modules made;
    made.add_builtin(builtin_modules());
    const char* folder = std::getenv("PLIMSOLL_PLUGIN_DIR");
    if (folder == nullptr) throw std::runtime_error("PLIMSOLL_PLUGIN_DIR is not set");
    const ModuleRecord& record = made.load_file(std::filesystem::path(folder) / "NodeDevice.so");
    if (!record.loaded) throw std::runtime_error(record.refusal);
    return made;
  }();
  return kModules;
}

ProfileSpec profile() {
  ProfileSpec made;
  made.scheduler_name = "topo";
  for (const char* plugin :
       {"SchedulingGates", "PrioritySort", "NodeUnschedulable", "TaintToleration", "NodeAffinity",
        "NodeResourcesFit", "DefaultBinder", "DefaultPreemption", "NodeDevice"}) {
    const auto enabled = enable_at_every_point(made, modules(), plugin);
    if (!enabled) throw std::runtime_error(enabled.error().message);
  }
  return made;
}

}  // namespace

GroupCluster::GroupCluster() {
  start();
}

GroupCluster::~GroupCluster() {
  stop();
}

void GroupCluster::start() {
  SchedulerOptions options;
  options.binder_threads = 2;
  options.metrics = &metrics_;
  options.clock = [this] { return now_ms_.load(); };
  options.profiles.push_back(profile());
  auto made = Scheduler::create(std::move(options), modules(), symbols_, *this);
  if (!made) throw std::runtime_error(made.error().message);
  scheduler_ = std::move(*made);
  scheduler_->on_kind_wanted([this](const WantedKind& kind) {
    const std::lock_guard lock(mutex_);
    wanted_.insert(kind.resource());
    if (served_ && kind.resource() == kGroupKind)
      for (const auto& [name, group] : groups_) tell(kind.resource(), group);
    scheduler_->post(KindSynced{kind.resource(), served_});
  });
  loop_ = std::thread([this] { scheduler_->run(); });
  const std::lock_guard lock(mutex_);
  for (const auto& [name, node] : nodes_)
    scheduler_->post(NodeUpserted{*decode_node(node.dump(), symbols_)});
  for (const auto& [name, device] : devices_) tell(kDeviceKind, device);
  for (const auto& [name, pod] : pods_)
    scheduler_->post(PodUpserted{*decode_pod(pod.dump(), symbols_)});
  for (const WantedKind& kind : scheduler_->wanted_kinds())
    scheduler_->post(KindSynced{kind.resource(), true});
  for (const char* kind : {"nodes", "pods"}) scheduler_->post(KindSynced{kind, true});
}

void GroupCluster::stop() {
  scheduler_->stop();
  loop_.join();
}

void GroupCluster::restart() {
  stop();
  {
    const std::lock_guard lock(mutex_);
    wanted_.clear();
  }
  start();
}

void GroupCluster::on_loop(const std::function<void()>& task) {
  std::promise<void> done;
  scheduler_->post(Task{[&] {
    task();
    done.set_value();
  }});
  done.get_future().wait();
}

void GroupCluster::tell(const std::string& resource, const Json& object, bool deleted) {
  const RawRef raw = decoded({resource, object["metadata"].value("namespace", ""),
                              object["metadata"]["name"], "", "", object.dump()});
  if (deleted)
    scheduler_->post(ObjectDeleted{raw});
  else
    scheduler_->post(ObjectUpserted{raw});
}

void GroupCluster::add_node(const std::string& name, int gpus, const std::string& cpu,
                            const std::string& zone) {
  const std::lock_guard lock(mutex_);
  const Json node = {{"metadata", {{"name", name}, {"labels", {{"zone", zone}}}}},
                     {"status",
                      {{"allocatable",
                        {{"cpu", cpu},
                         {"memory", "512Gi"},
                         {"pods", "110"},
                         {"nvidia.com/gpu", std::to_string(gpus)}}}}}};
  std::vector<Json> cards;
  for (int i = 0; i < gpus; ++i) cards.push_back(gpu(i, "80Gi", i / 4, std::to_string(i / 2)));
  nodes_[name] = node;
  devices_[name] = device_object(name, cards);
  tell(kDeviceKind, devices_[name]);
  scheduler_->post(NodeUpserted{*decode_node(node.dump(), symbols_)});
}

void GroupCluster::add_pod(const PodSpec& spec) {
  Json requests = {{"cpu", spec.cpu}};
  if (spec.gpus > 0) requests["nvidia.com/gpu"] = std::to_string(spec.gpus);
  Json pod = {{"metadata",
               {{"name", spec.name},
                {"namespace", "ns"},
                {"uid", "u-" + spec.name},
                {"labels", spec.labels},
                {"annotations", spec.annotations}}},
              {"spec",
               {{"schedulerName", "topo"},
                {"priority", spec.priority},
                {"containers", {{{"name", "c"}, {"resources", {{"requests", requests}}}}}}}},
              {"status", Json::object()}};
  if (!spec.group.empty()) pod["metadata"]["labels"][kGroupLabel] = spec.group;
  if (!spec.zone.empty()) pod["spec"]["nodeSelector"] = {{"zone", spec.zone}};
  const std::lock_guard lock(mutex_);
  save(std::move(pod));
}

void GroupCluster::delete_pod(const std::string& name) {
  const std::lock_guard lock(mutex_);
  erase(name);
}

void GroupCluster::add_pod_group(const std::string& name, int min_member) {
  const std::lock_guard lock(mutex_);
  groups_[name] = {{"metadata", {{"name", name}, {"namespace", "ns"}}},
                   {"spec", {{"minMember", min_member}}}};
  if (wanted_.contains(kGroupKind)) tell(kGroupKind, groups_[name]);
}

void GroupCluster::delete_pod_group(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (wanted_.contains(kGroupKind)) tell(kGroupKind, groups_.at(name), true);
  groups_.erase(name);
}

bool GroupCluster::settle() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  int times_still = 0;
  while (std::chrono::steady_clock::now() < deadline) {
    on_loop([] {});
    on_loop([] {});  // in a later turn: what that one came to is published
    const SchedulerStats now = scheduler_->stats();
    const bool still = now.synced && now.inbox == 0 && now.queue.active == 0 && now.binding == 0;
    times_still = still ? times_still + 1 : 0;
    if (times_still == 4) return true;
    if (!still) std::this_thread::yield();
  }
  return false;
}

bool GroupCluster::pass(int seconds) {
  for (int i = 0; i < seconds; ++i) {
    now_ms_ += 1000;
    if (!settle()) return false;
  }
  return true;
}

std::string GroupCluster::node_of(const std::string& pod) const {
  const std::lock_guard lock(mutex_);
  const auto found = pods_.find(pod);
  return found == pods_.end() ? "" : found->second["spec"].value("nodeName", "");
}

bool GroupCluster::exists(const std::string& pod) const {
  const std::lock_guard lock(mutex_);
  return pods_.contains(pod);
}

int GroupCluster::bound(const std::string& group) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(pods_.begin(), pods_.end(), [&](const auto& entry) {
    const Json& pod = entry.second;
    return pod["metadata"]["labels"].value(kGroupLabel, "") == group &&
           pod["spec"].contains("nodeName");
  }));
}

std::set<int> GroupCluster::minors(const std::string& pod) const {
  const std::lock_guard lock(mutex_);
  std::set<int> found;
  const Json& annotations = pods_.at(pod)["metadata"]["annotations"];
  if (!annotations.contains(kAllocatedKey)) return found;
  const Json allocated = Json::parse(annotations[kAllocatedKey].get<std::string>());
  for (const Json& card : allocated["gpu"]) found.insert(card["minor"].get<int>());
  return found;
}

std::string GroupCluster::message(const std::string& pod) const {
  const std::lock_guard lock(mutex_);
  return pods_.at(pod)["status"].value("message", "");
}

bool GroupCluster::has_event(const std::string& pod, const std::string& part) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(events_.begin(), events_.end(), [&](const auto& event) {
    return event.first == pod && event.second.find(part) != std::string::npos;
  });
}

size_t GroupCluster::events() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

int GroupCluster::plans() const {
  const std::string text = metrics_.text();
  const std::string name = "\nplimsoll_plugin_pod_group_plans_total ";
  const size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::stoi(text.substr(at + name.size()));
}

std::vector<std::string> GroupCluster::deletions() const {
  const std::lock_guard lock(mutex_);
  return deletions_;
}

std::string GroupCluster::given_twice() const {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, pod] : pods_)
      if (pod["spec"].contains("nodeName")) names.push_back(name);
  }
  std::map<std::string, std::map<int, std::string>> owners;
  std::string wrong;
  for (const std::string& name : names) {
    const std::string node = node_of(name);
    for (const int minor : minors(name)) {
      const auto [it, is_new] = owners[node].emplace(minor, name);
      if (!is_new)
        wrong += node + " gpu " + std::to_string(minor) + ": " + it->second + " and " + name + "\n";
    }
  }
  return wrong;
}

std::string GroupCluster::describe() const {
  std::string text;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, pod] : pods_)
    text += name + " " + pod["spec"].value("nodeName", "-") + " " +
            pod["status"].value("message", "") + "\n";
  return text;
}

std::string GroupCluster::held_back(const std::string& pod) {
  std::string text;
  on_loop([&] {
    ExplainRequest request;
    request.ns = "ns";
    request.name = pod;
    const Explanation explanation = scheduler_->explain(request);
    if (!explanation.queue) return;
    for (const ExplainedRejector& each : explanation.queue->rejectors)
      if (each.kind == ExplainedRejector::Kind::kGate) text = each.text;
  });
  return text;
}

// ---- the API server

void GroupCluster::save(Json pod) {
  pod["metadata"]["resourceVersion"] = std::to_string(++version_);
  const std::string name = pod["metadata"]["name"];
  scheduler_->post(PodUpserted{*decode_pod(pod.dump(), symbols_)});
  pods_[name] = std::move(pod);
}

void GroupCluster::erase(const std::string& name) {
  const auto found = pods_.find(name);
  if (found == pods_.end()) return;
  scheduler_->post(PodDeleted{*decode_pod(found->second.dump(), symbols_)});
  pods_.erase(found);
}

void GroupCluster::bind(BindRequest request, Done done) {
  ++bindings_tried_;
  const std::lock_guard lock(mutex_);
  const auto found = pods_.find(request.name);
  if (found == pods_.end()) return done(fail(ErrorCode::kNotFound, "no such pod"));
  if (fails_bindings_) return done(fail(ErrorCode::kInvalid, "bindings are not wanted"));
  Json pod = found->second;
  pod["spec"]["nodeName"] = request.node;
  for (const auto& [key, value] : request.annotations) pod["metadata"]["annotations"][key] = value;
  pod["status"].erase("message");
  done({});
  save(std::move(pod));
}

void GroupCluster::record_event(EventRecord event) {
  const std::lock_guard lock(mutex_);
  events_.emplace_back(event.name, event.note);
}

void GroupCluster::patch_condition(ConditionPatch patch, Done done) {
  const std::lock_guard lock(mutex_);
  if (const auto found = pods_.find(patch.name); found != pods_.end()) {
    Json pod = found->second;
    if (!patch.reason.empty()) {
      pod["status"]["message"] = patch.message;
      pod["status"]["conditions"] = {{{"type", "PodScheduled"},
                                      {"status", "False"},
                                      {"reason", patch.reason},
                                      {"message", patch.message}}};
    }
    if (patch.set_nominated) pod["status"]["nominatedNodeName"] = patch.nominated_node;
    save(std::move(pod));
  }
  done({});
}

void GroupCluster::request(ApiRequest request, Answered done) {
  const std::lock_guard lock(mutex_);
  const std::string path = request.path.ends_with("/status")
                               ? request.path.substr(0, request.path.size() - 7)
                               : request.path;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (request.method == "DELETE") {
    deletions_.push_back(name);
    if (!deletions_hang_) {
      erase(name);
    } else if (const auto found = pods_.find(name); found != pods_.end()) {
      Json pod = found->second;
      pod["metadata"]["deletionTimestamp"] = "2027-01-01T00:00:00Z";
      save(std::move(pod));
    }
  }
  done(200, "{}");
}

}  // namespace plimsoll::devices::test
