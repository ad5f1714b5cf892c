#include "tests/cycle/random_cluster.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plugins/topology/report/fingerprint.hpp"
#include "tests/cycle/random_storage.hpp"

namespace plimsoll::testing {
namespace {

constexpr const char* kDeviceAnnotation = "scheduling.koordinator.sh/device-allocated";

std::string name_of(const Json& object) {
  return object["metadata"]["name"];
}
std::string uid_of(const Json& object) {
  return object["metadata"]["uid"];
}
std::string node_of(const Json& pod) {
  return pod["spec"].value("nodeName", "");
}
bool terminating(const Json& object) {
  return object["metadata"].contains("deletionTimestamp");
}

// A strategic merge patch of status.conditions: by type.
void merge_condition(Json& status, const Json& condition) {
  Json& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (Json& known : conditions) {
    if (known["type"] != condition["type"]) continue;
    known.merge_patch(condition);
    return;
  }
  Json added = Json::object();
  added.merge_patch(condition);  // without the nulls
  conditions.push_back(std::move(added));
}

Json resource(const char* name, int64_t allocatable, int64_t available, const char* unit) {
  const auto amount = [unit](int64_t value) { return std::to_string(value) + unit; };
  return {{"name", name},
          {"capacity", amount(allocatable)},
          {"allocatable", amount(allocatable)},
          {"available", amount(available)}};
}

std::optional<Kind> storage_kind(std::string_view path) {
  if (path.find("/persistentvolumes/") != path.npos) return Kind::kVolumes;
  if (path.find("/persistentvolumeclaims/") != path.npos) return Kind::kClaims;
  return std::nullopt;
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr std::array kNames = {"node",     "topology", "device", "budget", "class",
                                 "CSI node", "volume",   "claim",  "pod"};
  return kNames.at(static_cast<size_t>(kind));
}

// ---- objects

const std::map<std::string, Json>& RandomCluster::all(Kind kind) const {
  static const std::map<std::string, Json> kNone;
  const auto found = objects_.find(kind);
  return found == objects_.end() ? kNone : found->second;
}

const Json* RandomCluster::find(Kind kind, const std::string& name) const {
  const auto found = all(kind).find(name);
  return found == all(kind).end() ? nullptr : &found->second;
}

void RandomCluster::put(Kind kind, Json object) {
  Json& metadata = object["metadata"];
  metadata["resourceVersion"] = std::to_string(++version_);
  if (!metadata.contains("uid")) {
    metadata["uid"] = "uid-" + std::to_string(++uids_);
    if (kind == Kind::kPods) ++names_used_[name_of(object)];
  }
  feeds_[kind].push_back({kind, false, object});
  const std::string name = name_of(object);
  objects_[kind][name] = std::move(object);
}

void RandomCluster::remove(Kind kind, const std::string& name) {
  const auto found = objects_[kind].find(name);
  if (found == objects_[kind].end()) return;
  if (kind == Kind::kPods) {
    note_gone(found->second);
    // Pods behind it were promised what it would leave them.
    if (auto place = nominated_.extract(uid_of(found->second))) disturb(place.mapped());
  }
  if (kind == Kind::kNodes || kind == Kind::kTopologies) disturb(name);
  feeds_[kind].push_back({kind, true, std::move(found->second)});
  objects_[kind].erase(found);
}

void RandomCluster::note_gone(const Json& pod) {
  const std::string node = node_of(pod);
  if (node.empty()) return;
  kubelets_[node].ended(uid_of(pod));
  disturb(node);
}

void RandomCluster::remove_pod_gently(const std::string& name) {
  const Json* found = find(Kind::kPods, name);
  if (found == nullptr) return;
  if (node_of(*found).empty() || finished(*found)) return remove(Kind::kPods, name);
  if (terminating(*found)) return;
  Json pod = *found;
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  put(Kind::kPods, std::move(pod));
}

void RandomCluster::end_terminating() {
  std::vector<std::string> names;
  for (const auto& [name, pod] : all(Kind::kPods)) {
    if (terminating(pod)) names.push_back(name);
  }
  for (const std::string& name : names) remove(Kind::kPods, name);
}

void RandomCluster::bind_by_other(const std::string& name, const std::string& node) {
  Json pod = *find(Kind::kPods, name);
  disturb(node);
  start_on(pod, node, false);
}

void RandomCluster::finish(const std::string& name) {
  Json pod = *find(Kind::kPods, name);
  note_gone(pod);
  pod["status"]["phase"] = "Succeeded";
  put(Kind::kPods, std::move(pod));
}

void RandomCluster::run(const std::string& name) {
  Json pod = *find(Kind::kPods, name);
  pod["status"]["phase"] = "Running";
  put(Kind::kPods, std::move(pod));
}

// The Binding is carried out, and the kubelet sees it at once.
void RandomCluster::start_on(Json& pod, const std::string& node, bool ours) {
  pod["spec"]["nodeName"] = node;
  pod["status"].erase("nominatedNodeName");  // ClearingNominatedNodeNameAfterBinding
  merge_condition(
      pod["status"],
      {{"type", "PodScheduled"}, {"status", "True"}, {"reason", nullptr}, {"message", nullptr}});
  RandomKubelet& taker = kubelets_[node];
  const std::string refusal = taker.admit(pod);
  if (!refusal.empty()) {
    ++totals_.refused_pods;
    pod["status"]["phase"] = "Failed";
    pod["status"]["reason"] = refusal;
    if (ours && !disturbed_.contains(node) && find(Kind::kTopologies, node) != nullptr) {
      wrongs_.push_back("the kubelet of " + node + " refused " + name_of(pod) + ": " + refusal);
    }
    disturb(node);
  }
  put(Kind::kPods, pod);
  check_devices(node);
  if (ours && refusal.empty()) check_zones(pod, node);
}

// A pod that asks for one zone, or the same zones, for all that it has got GPUs (of which each zone
// has one) where its kubelet put it.
void RandomCluster::check_zones(const Json& pod, const std::string& node) {
  const Json annotations = pod["metadata"].value("annotations", Json::object());
  const std::string asked = annotations.value(kNumaAnnotation, "");
  const bool strict = asked.find("SingleNUMANode") != std::string::npos ||
                      asked.find("Restricted") != std::string::npos;
  const size_t zone = kubelets_[node].zone_of(uid_of(pod));
  if (!strict || zone == RandomKubelet::kZones || !annotations.contains(kDeviceAnnotation)) return;
  if (disturbed_.contains(node) || has_namesake(node) || find(Kind::kTopologies, node) == nullptr) {
    return;
  }
  ++totals_.in_one_zone;
  const Json allocation = Json::parse(annotations[kDeviceAnnotation].get<std::string>());
  for (const Json& share : allocation.value("gpu", Json::array())) {
    if (share["minor"] == zone) continue;
    wrongs_.push_back(name_of(pod) + " has CPUs of zone " + std::to_string(zone) + " of " + node +
                      " and gpu " + share["minor"].dump());
  }
}

RandomKubelet& RandomCluster::kubelet(const std::string& node) {
  return kubelets_[node];
}

bool RandomCluster::has_namesake(const std::string& node) const {
  for (const auto& [name, pod] : all(Kind::kPods)) {
    if (node_of(pod) == node && names_used_.at(name) > 1) return true;
  }
  return false;
}

void RandomCluster::check_devices(const std::string& node) {
  std::map<int, int> cores;
  for (const auto& [name, pod] : all(Kind::kPods)) {
    if (node_of(pod) != node || finished(pod) || lost_.contains(uid_of(pod))) continue;
    const Json annotations = pod["metadata"].value("annotations", Json::object());
    if (!annotations.contains(kDeviceAnnotation)) continue;
    const Json given = Json::parse(annotations[kDeviceAnnotation].get<std::string>());
    for (const Json& share : given.value("gpu", Json::array())) {
      int& sum = cores[share["minor"].get<int>()];
      sum += std::stoi(share["resources"]["koordinator.sh/gpu-core"].get<std::string>());
      if (sum > 100) {
        wrongs_.push_back("gpu " + share["minor"].dump() + " of " + node +
                          " is given twice; once to " + name);
      }
    }
  }
}

// ---- exporters

Json RandomCluster::topology_of(const std::string& node) {
  const RandomKubelet& taker = kubelets_[node];
  Json zones = Json::array();
  for (size_t i = 0; i < RandomKubelet::kZones; ++i) {
    const RandomKubelet::Amounts left = taker.free(i);
    zones.push_back({{"name", "node-" + std::to_string(i)},
                     {"type", "Node"},
                     {"resources",
                      Json::array({resource("cpu", RandomKubelet::kZoneCpu, left.cpu, ""),
                                   resource("memory", RandomKubelet::kZoneGib, left.gib, "Gi")})}});
  }
  std::vector<std::pair<std::string, std::string>> pods;
  for (const auto& [uid, name] : taker.names()) pods.emplace_back("ns", name);
  const auto attribute = [](const char* name, std::string value) -> Json {
    return {{"name", name}, {"value", std::move(value)}};
  };
  return {
      {"apiVersion", "topology.node.k8s.io/v1alpha2"},
      {"kind", "NodeResourceTopology"},
      {"metadata", {{"name", node}}},
      {"zones", zones},
      {"attributes",
       Json::array({attribute("topologyManagerPolicy", "single-numa-node"),
                    attribute("topologyManagerScope", "container"),
                    attribute("nodeTopologyPodsFingerprint", topology::pod_fingerprint(pods))})}};
}

void RandomCluster::report(const std::string& node) {
  if (!kubelets_[node].zoned) return;
  // What is under way to it was placed when nobody knew of zones there.
  if (find(Kind::kTopologies, node) == nullptr) disturb(node);
  put(Kind::kTopologies, topology_of(node));
}

bool RandomCluster::report_if_changed(const std::string& node) {
  const Json* known = find(Kind::kTopologies, node);
  if (known == nullptr || !kubelets_[node].zoned) return false;
  const Json now = topology_of(node);
  if ((*known)["zones"] == now["zones"] && (*known)["attributes"] == now["attributes"]) {
    return false;
  }
  report(node);
  return true;
}

// ---- the watch

size_t RandomCluster::undelivered(Kind kind) const {
  const auto feed = feeds_.find(kind);
  return feed == feeds_.end() ? 0 : feed->second.size();
}

std::optional<Change> RandomCluster::next(Kind kind) {
  std::deque<Change>& feed = feeds_[kind];
  if (feed.empty()) return std::nullopt;
  Change change = std::move(feed.front());
  feed.pop_front();
  if (change.deleted) {
    told_[kind].erase(name_of(change.object));
  } else {
    told_[kind][name_of(change.object)] = change.object;
  }
  return change;
}

void RandomCluster::cut(Kind kind) {
  std::deque<Change>& feed = feeds_[kind];
  feed.clear();
  for (const auto& [name, object] : told_[kind]) {
    const Json* now = find(kind, name);
    if (now == nullptr || uid_of(*now) != uid_of(object)) feed.push_back({kind, true, object});
  }
  for (const auto& [name, object] : all(kind)) {
    const auto before = told_[kind].find(name);
    if (before == told_[kind].end() || before->second != object) {
      feed.push_back({kind, false, object});
    }
  }
}

// ---- what the scheduler writes

void RandomCluster::add(Call call) {
  const std::lock_guard lock(mutex_);
  arriving_.push_back(std::move(call));
}

void RandomCluster::bind(BindRequest request, Done done) {
  add({{"bind " + request.name + " to " + request.node, request.uid, true},
       std::move(request),
       {},
       {},
       std::move(done),
       {}});
}

void RandomCluster::record_event(EventRecord) {}

void RandomCluster::patch_condition(ConditionPatch patch, Done done) {
  std::string what = "patch " + patch.name;
  if (!patch.reason.empty()) what += " " + patch.reason;
  if (patch.set_nominated) what += " nominated to '" + patch.nominated_node + "'";
  add({{what, patch.uid}, {}, std::move(patch), {}, std::move(done), {}});
}

void RandomCluster::request(ApiRequest request, Answered done) {
  const bool storage = storage_kind(request.path).has_value();
  add({{request.method + " " + request.path, request.path, storage, storage},
       {},
       {},
       std::move(request),
       {},
       std::move(done)});
}

std::vector<RandomCluster::Asked> RandomCluster::asked() {
  {
    const std::lock_guard lock(mutex_);
    for (Call& call : arriving_) calls_.push_back(std::move(call));
    arriving_.clear();
  }
  // Binder threads come in any order; the writes about one pod stay in theirs.
  std::stable_sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) {
    return std::pair(a.about.binding, a.about.pod) < std::pair(b.about.binding, b.about.pod);
  });
  std::vector<Asked> asked;
  for (const Call& call : calls_) asked.push_back(call.about);
  return asked;
}

void RandomCluster::answer(size_t index, Outcome outcome) {
  const std::string pod = calls_.at(index).about.pod;
  // The writes about one pod are carried out in their order.
  const auto at = std::find_if(calls_.begin(), calls_.end(), [&](const Call& call) {
    return call.about.pod == pod && call.about.binding == calls_[index].about.binding;
  });
  const Call call = std::move(*at);
  calls_.erase(at);
  const bool carried_out = outcome == Outcome::kDone || outcome == Outcome::kLost;
  const Error failure{
      outcome == Outcome::kConflict ? ErrorCode::kConflict : ErrorCode::kUnavailable,
      "the API server says no"};
  if (call.request) {
    std::string body = "{}";
    const int status = carried_out ? carry_out(*call.request, body) : 500;
    return call.answered(outcome == Outcome::kLost ? 0 : status, body);
  }
  // The scheduler does not wait for this one, so it is on its way whatever comes of the write.
  if (call.patch && call.patch->set_nominated) {
    nominated_[call.patch->uid] = call.patch->nominated_node;
  }
  if (call.bind) nominated_.erase(call.bind->uid);
  Result<void> result;
  if (carried_out) result = call.bind ? carry_out(*call.bind) : carry_out(*call.patch);
  if (call.bind && result && outcome == Outcome::kLost) {
    // The scheduler takes back what it had promised, until the watch tells: the writer must not let
    // this happen as long as it can find out.
    lost_.insert(call.bind->uid);
    disturb(call.bind->node);
  }
  if (outcome != Outcome::kDone) result = fail(failure);
  if (call.bind) {
    ++totals_.binds;
    if (!result) ++totals_.failed_binds;
    if (result) confirmed_.insert(call.bind->uid);
  } else {
    ++totals_.patches;
  }
  call.done(result);
}

Result<void> RandomCluster::carry_out(const BindRequest& request) {
  if (confirmed_.contains(request.uid)) {
    wrongs_.push_back(request.name + " was bound, which the scheduler knew, and is bound again");
  }
  const Json* found = find(Kind::kPods, request.name);
  if (found == nullptr)
    return fail(ErrorCode::kNotFound, "pods \"" + request.name + "\" not found");
  Json pod = *found;
  if (uid_of(pod) != request.uid || !node_of(pod).empty() || terminating(pod) ||
      !pod["spec"].value("schedulingGates", Json::array()).empty()) {
    ++totals_.conflicts;
    return fail(ErrorCode::kConflict, "pod " + request.name + " cannot be bound");
  }
  // Of several that are on their way to one node, the kubelet may see a later one first.
  if (others_on_their_way(request)) disturb(request.node);
  for (const auto& [key, value] : request.annotations) pod["metadata"]["annotations"][key] = value;
  start_on(pod, request.node, true);
  return {};
}

// Their bindings are asked for, or they wait on Permit or for volumes: such a pod is nominated.
bool RandomCluster::others_on_their_way(const BindRequest& request) const {
  for (const Call& other : calls_) {
    if (other.bind && other.bind->node == request.node) return true;
    if (other.patch && other.patch->nominated_node == request.node) return true;
  }
  return std::any_of(nominated_.begin(), nominated_.end(), [&](const auto& pod) {
    return pod.second == request.node && pod.first != request.uid;
  });
}

Result<void> RandomCluster::carry_out(const ConditionPatch& patch) {
  const Json* found = find(Kind::kPods, patch.name);
  if (found == nullptr) return fail(ErrorCode::kNotFound, "no such pod");
  Json pod = *found;
  // As the writer does after a conflict: a pod that was bound meanwhile is left alone.
  const bool changed = patch.resource_version != pod["metadata"]["resourceVersion"];
  if (uid_of(pod) != patch.uid || (changed && !node_of(pod).empty())) {
    return fail(ErrorCode::kConflict, "the pod has changed");
  }
  if (!patch.reason.empty()) {
    merge_condition(pod["status"], {{"type", "PodScheduled"},
                                    {"status", "False"},
                                    {"reason", patch.reason},
                                    {"message", patch.message}});
  }
  if (patch.set_nominated) {
    if (patch.nominated_node.empty()) {
      pod["status"].erase("nominatedNodeName");
    } else {
      pod["status"]["nominatedNodeName"] = patch.nominated_node;
    }
  }
  put(Kind::kPods, std::move(pod));
  return {};
}

int RandomCluster::carry_out(const ApiRequest& request, std::string& body) {
  const auto kind = storage_kind(request.path);
  return kind ? change_storage_object(*kind, request, body) : change_pod(request, body);
}

// The controller acts at once: after the last write of a binding nothing is missing.
int RandomCluster::change_storage_object(Kind kind, const ApiRequest& request, std::string& body) {
  const Json* found = find(kind, request.path.substr(request.path.rfind('/') + 1));
  if (found == nullptr) return 404;
  Json object = *found;
  const Json patch = Json::parse(request.body);
  if (patch["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"]) {
    body = R"({"message":"the object has been modified"})";
    return 409;
  }
  ++totals_.storage_writes;
  object.merge_patch(patch);
  const std::string name = name_of(object);
  put(kind, std::move(object));
  body = find(kind, name)->dump();
  bind_claims(*this);
  return 200;
}

int RandomCluster::change_pod(const ApiRequest& request, std::string& body) {
  constexpr std::string_view kStatus = "/status";
  const bool status = request.path.ends_with(kStatus);
  const std::string path =
      status ? request.path.substr(0, request.path.size() - kStatus.size()) : request.path;
  const std::string name = path.substr(path.rfind('/') + 1);
  const Json* found = find(Kind::kPods, name);
  if (found == nullptr) return 404;
  Json pod = *found;
  const Json asked = Json::parse(request.body);
  const bool removal = request.method == "DELETE";
  const std::string uid = removal ? asked["preconditions"]["uid"] : asked["metadata"]["uid"];
  if (uid != uid_of(pod)) {
    body = R"({"message":"the UID in the precondition does not match: metadata.uid"})";
    return 409;
  }
  if (removal) {
    ++totals_.preempted;
    remove_pod_gently(name);
    return 200;
  }
  Json change = asked["status"];
  for (const Json& condition : change.value("conditions", Json::array())) {
    merge_condition(pod["status"], condition);
  }
  change.erase("conditions");
  pod["status"].merge_patch(change);
  put(Kind::kPods, std::move(pod));
  return 200;
}

}  // namespace plimsoll::testing
