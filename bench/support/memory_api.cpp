#include "bench/support/memory_api.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "bench/support/stopwatch.hpp"
#include "framework/api/decode/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "framework/objects/kinds.hpp"

namespace plimsoll::bench {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostWrongs = 20;
constexpr std::string_view kClaims = "resourceclaims.v1.resource.k8s.io";
constexpr std::string_view kClaimsPath = "/apis/resource.k8s.io/v1/namespaces/";
constexpr uint32_t kPodsIndex = 3;  // symbols.hpp

std::string key_of(std::string_view ns, std::string_view name) {
  return std::string(ns) + "/" + std::string(name);
}

// /api/v1/namespaces/NS/pods/NAME, with or without /status.
std::optional<std::pair<std::string, std::string>> pod_of_path(std::string_view path) {
  constexpr std::string_view kBegin = "/api/v1/namespaces/";
  constexpr std::string_view kPods = "/pods/";
  if (!path.starts_with(kBegin)) return std::nullopt;
  path.remove_prefix(kBegin.size());
  const size_t pods = path.find(kPods);
  if (pods == path.npos) return std::nullopt;
  const std::string_view ns = path.substr(0, pods);
  const std::string_view rest = path.substr(pods + kPods.size());
  return std::pair(std::string(ns), std::string(rest.substr(0, rest.find('/'))));
}

// Merges like a strategic merge patch: conditions by their type; null removes a field.
void merge_status(Json& status, const Json& patch) {
  for (const auto& [field, value] : patch.items()) {
    if (field != "conditions") {
      if (value.is_null()) {
        status.erase(field);
      } else {
        status[field] = value;
      }
      continue;
    }
    Json& conditions = status["conditions"];
    for (const Json& condition : value) {
      bool known = false;
      for (Json& other : conditions) {
        if (other.at("type") != condition.at("type")) continue;
        other.update(condition);
        known = true;
      }
      if (!known) conditions.push_back(condition);
    }
  }
}

}  // namespace

MemoryApi::MemoryApi(SymbolTable& symbols) : symbols_(symbols) {}

MemoryApi::~MemoryApi() {
  stop();
}

void MemoryApi::start(Inbox& inbox) {
  inbox_ = &inbox;
  thread_ = std::thread([this] { run(); });
}

void MemoryApi::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// Wakes the thread only if it sleeps, to keep the cost to the loop low.
void MemoryApi::submit(std::function<void()> work) {
  bool sleeps = false;
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    sleeps = std::exchange(idle_, false);
  }
  if (sleeps) wake_.notify_one();
}

void MemoryApi::run() {
  std::vector<std::function<void()>> work;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (work_.empty() && !stopping_) {
        idle_ = true;
        wake_.wait(lock, [this] { return !work_.empty() || stopping_; });
        idle_ = false;
      }
      if (work_.empty()) return;
      work.swap(work_);
    }
    for (const auto& each : work) each();
    work.clear();
  }
}

// ---- objects

void MemoryApi::create_node(NodeRef node) {
  nodes_[std::string(view(node->meta.name))] = {node, {}, 0};
  inbox_->post(NodeUpserted{std::move(node)});
}

void MemoryApi::delete_node(const std::string& name) {
  if (nodes_.erase(name) != 0) inbox_->post(NodeDeleted{name});
}

void MemoryApi::create_pod(NewPod created) {
  const plimsoll_pod& pod = *created.pod;
  groups_[created.group].emplace_back(view(pod.meta.ns), view(pod.meta.name));
  inbox_->post(PodUpserted{created.pod});
  pods_[key_of(view(pod.meta.ns), view(pod.meta.name))] = {
      std::move(created.pod), std::move(created.json), {}, created.group};
}

bool MemoryApi::delete_pod(const std::string& ns, const std::string& name) {
  const auto found = pods_.find(key_of(ns, name));
  if (found == pods_.end()) return false;
  const Pod gone = std::move(found->second);
  pods_.erase(found);
  account(gone, -1);
  inbox_->post(PodDeleted{gone.pod});
  count([](Counts& counts) { ++counts.deleted; });
  return true;
}

const std::vector<std::pair<std::string, std::string>>& MemoryApi::pods_of(size_t group) {
  return groups_[group];
}

void MemoryApi::account(const Pod& entry, int64_t sign) {
  if (entry.node.empty()) return;
  const auto found = nodes_.find(entry.node);
  if (found == nodes_.end()) return;
  Node& node = found->second;
  node.pods += sign;
  for (const auto& resource : items<plimsoll_resource>(entry.pod->used)) {
    if (resource.index >= node.used.size()) node.used.resize(resource.index + size_t{1}, 0);
    node.used[resource.index] += sign * resource.value;
  }
}

// ---- writes

void MemoryApi::bind(BindRequest request, Done done) {
  submit([this, request = std::move(request), done = std::move(done)] {
    const Result<void> result = bind_now(request);
    done(result);
    if (!result) return;
    const Pod& entry = pods_.at(key_of(request.ns, request.name));
    inbox_->post(PodUpserted{entry.pod});
    count([&](Counts& counts) {
      ++counts.bound;
      counts.last_bound = std::chrono::steady_clock::now();
      if (counts.bound_by_group.size() <= entry.group)
        counts.bound_by_group.resize(entry.group + 1);
      ++counts.bound_by_group[entry.group];
    });
    if (bound_) bound_();
  });
}

Result<void> MemoryApi::bind_now(const BindRequest& request) {
  const std::string key = key_of(request.ns, request.name);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return fail(ErrorCode::kNotFound, "pods \"" + key + "\" not found");
  Pod& entry = found->second;
  if (request.uid != view(entry.pod->meta.uid)) {
    return fail(ErrorCode::kConflict, "pod " + key + " has another UID");
  }
  if (!entry.node.empty()) {
    wrong("pod " + key + " was bound to " + entry.node + " and then to " + request.node);
    return fail(ErrorCode::kConflict, "pod " + key + " is already assigned");
  }
  const auto node = nodes_.find(request.node);
  if (node == nodes_.end()) {
    wrong("pod " + key + " was bound to " + request.node + ", which does not exist");
    return fail(ErrorCode::kNotFound, "nodes \"" + request.node + "\" not found");
  }
  check_place(entry, node->second);
  entry.node = request.node;
  entry.pod = assigned_copy(entry.pod, request.node);
  account(entry, 1);
  return {};
}

// Records a binding that a kubelet would reject.
void MemoryApi::check_place(const Pod& entry, const Node& node) {
  const plimsoll_pod& pod = *entry.pod;
  const std::string what =
      full_name(pod) + " on node " + std::string(view(node.node->meta.name)) + ": ";
  std::vector<int64_t> room;
  for (const auto& resource : items<plimsoll_resource>(node.node->allocatable)) {
    if (resource.index >= room.size()) room.resize(resource.index + size_t{1}, 0);
    room[resource.index] = resource.value;
  }
  const auto room_for = [&](uint32_t index) { return index < room.size() ? room[index] : 0; };
  if (node.pods + 1 > room_for(kPodsIndex)) wrong(what + "too many pods");
  for (const auto& resource : items<plimsoll_resource>(pod.used)) {
    const int64_t used = resource.index < node.used.size() ? node.used[resource.index] : 0;
    if (resource.value > 0 && used + resource.value > room_for(resource.index)) {
      wrong(what + "too much " + std::string(symbols_.resource_name(resource.index)));
    }
  }
  if (!matches_required_node_affinity(pod, *node.node)) wrong(what + "it asked for another node");
  for (const auto& taint : items<plimsoll_taint>(node.node->taints)) {
    if (taint.effect != PLIMSOLL_EFFECT_PREFER_NO_SCHEDULE && !tolerated(pod.tolerations, taint)) {
      wrong(what + "it does not tolerate a taint");
    }
  }
}

void MemoryApi::record_event(EventRecord event) {
  const bool refused = event.reason == "FailedScheduling";
  if (refused) Stopwatch::here().stop();  // called on the loop when the attempt fails
  const std::lock_guard lock(state_mutex_);
  ++counts_.events;
  if (refused) last_refusal_ = std::move(event.note);
}

void MemoryApi::patch_condition(ConditionPatch patch, Done done) {
  submit([this, patch = std::move(patch), done = std::move(done)] {
    const auto found = pods_.find(key_of(patch.ns, patch.name));
    if (found == pods_.end()) return done(fail(ErrorCode::kNotFound, "no such pod"));
    if (!found->second.node.empty()) return done(fail(ErrorCode::kConflict, "it is bound"));
    Json status = Json::object();
    if (!patch.reason.empty()) {
      status["conditions"] = Json::array({{{"type", "PodScheduled"},
                                           {"status", "False"},
                                           {"reason", patch.reason},
                                           {"message", patch.message}}});
    }
    if (patch.set_nominated) {
      status["nominatedNodeName"] =
          patch.nominated_node.empty() ? Json() : Json(patch.nominated_node);
    }
    done(patch_now(found->second, status.dump()));
  });
}

Result<void> MemoryApi::patch_now(Pod& entry, const std::string& status_patch) {
  Json object = Json::parse(entry.json);
  merge_status(object["status"], Json::parse(status_patch));
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  entry.json = object.dump();
  if (!entry.node.empty()) object["spec"]["nodeName"] = entry.node;
  auto decoded = decode_pod(object.dump(), symbols_);
  if (!decoded) return fail(decoded.error());
  entry.pod = std::move(*decoded);
  inbox_->post(PodUpserted{entry.pod});
  count([](Counts& counts) { ++counts.patched; });
  return {};
}

void MemoryApi::request(ApiRequest request, Answered done) {
  submit([this, request = std::move(request), done = std::move(done)] {
    answer_request(request, done);
  });
}

void MemoryApi::create_object(const RawRef& object) {
  if (object->resource == kClaims) claims_[key_of(object->ns, object->name)] = object->json;
  inbox_->post(ObjectUpserted{object});
}

// Merge patches of a claim and of its status, for the version that the writer has seen.
void MemoryApi::answer_claim_request(const ApiRequest& request, const Answered& done) {
  std::string path = request.path.substr(kClaimsPath.size());
  if (path.ends_with("/status")) path.resize(path.size() - 7);
  const size_t kind = path.find("/resourceclaims/");
  if (kind == path.npos || request.method != "PATCH") return done(400, "{}");
  const std::string ns = path.substr(0, kind);
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto found = claims_.find(key_of(ns, name));
  if (found == claims_.end()) return done(404, R"({"reason":"NotFound"})");
  Json claim = Json::parse(found->second);
  Json body = Json::parse(request.body);
  Json& meta = claim["metadata"];
  if (body["metadata"].value("resourceVersion", "") != meta.at("resourceVersion")) {
    return done(409, R"({"message":"the object has been modified"})");
  }
  claim.merge_patch(body);
  meta["resourceVersion"] = std::to_string(++version_);
  found->second = claim.dump();
  inbox_->post(ObjectUpserted{decoded({std::string(kClaims), ns, name, meta.at("uid"),
                                       meta.at("resourceVersion"), found->second})});
  done(200, found->second);
}

// The requests of preemption, and of claims.
void MemoryApi::answer_request(const ApiRequest& request, const Answered& done) {
  if (request.path.starts_with(kClaimsPath)) return answer_claim_request(request, done);
  const auto path = pod_of_path(request.path);
  const Json body = Json::parse(request.body, nullptr, false);
  const auto found = path ? pods_.find(key_of(path->first, path->second)) : pods_.end();
  if (found == pods_.end()) return done(404, R"({"reason":"NotFound"})");
  const bool deletes = request.method == "DELETE";
  if (!body.is_object() || (!deletes && request.method != "PATCH")) return done(400, "{}");
  const Json wanted = body.value(deletes ? "preconditions" : "metadata", Json::object());
  const std::string uid = wanted.value("uid", "");
  if (!uid.empty() && uid != view(found->second.pod->meta.uid)) {
    return done(409, R"({"message":"Precondition failed: UID in precondition"})");
  }
  if (deletes) {
    delete_pod(path->first, path->second);
    return done(200, "{}");
  }
  const auto patched = patch_now(found->second, body.value("status", Json::object()).dump());
  done(patched ? 200 : 422, patched ? "{}" : patched.error().message);
}

// ---- views

template <typename Change>
void MemoryApi::count(const Change& change) {
  const std::lock_guard lock(state_mutex_);
  change(counts_);
}

void MemoryApi::wrong(std::string what) {
  const std::lock_guard lock(state_mutex_);
  if (wrongs_.size() < kMostWrongs) wrongs_.push_back(std::move(what));
}

MemoryApi::Counts MemoryApi::counts() const {
  const std::lock_guard lock(state_mutex_);
  return counts_;
}

std::vector<std::string> MemoryApi::wrongs() const {
  const std::lock_guard lock(state_mutex_);
  return wrongs_;
}

std::string MemoryApi::last_refusal() const {
  const std::lock_guard lock(state_mutex_);
  return last_refusal_;
}

}  // namespace plimsoll::bench
