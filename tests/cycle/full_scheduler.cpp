#include "tests/cycle/full_scheduler.hpp"

#include <plimsoll/plugin.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <mutex>
#include <stdexcept>

#include <plimsoll/services/device_accounts.h>
#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/objects/kinds.hpp"
#include "framework/runtime/every_point.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "plugins/builtin/builtin.hpp"
#include "plugins/topology/abi/ledger_service.hpp"

namespace plimsoll::testing {
namespace {

constexpr std::chrono::seconds kPatience{20};
constexpr int kTimesStill = 4;
constexpr const char* kFits = "fits ";

// The host of the plugin that was made last: plugins are made by Scheduler::create, on the thread
// of the test.
std::optional<sdk::Host> g_host;

// Lets pods that are labelled so wait on Permit.
class Waiter {
 public:
  static constexpr const char* kName = "Waiter";
  explicit Waiter(sdk::Host host) { g_host = std::move(host); }
  sdk::Status permit(plimsoll_cycle&, sdk::Pod pod, sdk::Node, int64_t& timeout_ms) {
    timeout_ms = 3'600'000;
    return pod.label("wait") ? sdk::Status::wait() : sdk::Status::success();
  }
  // It never rejects, so no event is of use to it.
  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("Pod"), PLIMSOLL_ACTION_DELETE, 0}};
  }
};

// Looks at one pod at a time, and gives it no node: Permit says which one it would have been.
class Chosen {
 public:
  static constexpr const char* kName = "Chosen";
  explicit Chosen(sdk::Host host) : host_(std::move(host)) {
    g_host = host_;
    uid().clear();
  }
  static std::string& uid() {  // one fresh scheduler at a time, and then on its loop only
    static std::string chosen;
    return chosen;
  }
  sdk::Status pre_filter(plimsoll_cycle&, sdk::Pod pod) {
    return pod.uid() == uid() ? sdk::Status() : host_.unresolvable("not asked about");
  }
  // Nominations stay as they are.
  sdk::Status post_filter(plimsoll_cycle&, sdk::Pod, sdk::Nodes, std::span<const uint8_t>,
                          sdk::Nomination&) {
    return host_.failed(PLIMSOLL_UNSCHEDULABLE, "preemption: not here");
  }
  sdk::Status permit(plimsoll_cycle&, sdk::Pod, sdk::Node node, int64_t&) {
    return host_.unschedulable(kFits + std::string(node.name()));
  }

 private:
  sdk::Host host_;
};

const std::vector<StaticModule>& own_modules() {
  static const std::vector<StaticModule> kModules{{Waiter::kName, "1", sdk::create_fn<Waiter>},
                                                  {Chosen::kName, "1", sdk::create_fn<Chosen>}};
  return kModules;
}

const Modules& modules() {
  static const Modules kModules = [] {
    Modules made;
    made.add_builtin(builtin_modules());
    made.add_builtin(own_modules());
    const char* folder = std::getenv("PLIMSOLL_PLUGIN_DIR");
    if (folder == nullptr) throw std::runtime_error("PLIMSOLL_PLUGIN_DIR is not set");
    for (const char* file : {"NodeResourceTopologyMatch", "TopologyScore", "NodeDevice"}) {
      const ModuleRecord& record =
          made.load_file(std::filesystem::path(folder) / (std::string(file) + ".so"));
      if (!record.loaded) throw std::runtime_error(record.refusal);
    }
    return made;
  }();
  return kModules;
}

// Pods take no positions in resource vectors of their own: that they get them from nodes and
// plugins, before or after they come, is lived through in every test.
SymbolTable& symbols() {
  static SymbolTable table(0);
  return table;
}

// As multiPoint expands it.
ProfileSpec profile_of(FullScheduler::Role role, const FullScheduler::Setup& setup) {
  ProfileSpec profile;
  profile.scheduler_name = "topo";
  std::vector<std::string> plugins = {"SchedulingGates",
                                      "PrioritySort",
                                      "NodeUnschedulable",
                                      "NodeName",
                                      "TaintToleration",
                                      "NodeAffinity",
                                      "NodePorts",
                                      "NodeResourcesFit",
                                      "NodeResourcesBalancedAllocation",
                                      "ImageLocality",
                                      "NodeDeclaredFeatures",
                                      "DefaultBinder",
                                      "UnsupportedFeatures",
                                      "VolumeRestrictions",
                                      "NodeVolumeLimits",
                                      "VolumeBinding",
                                      "VolumeZone",
                                      "NodeResourceTopologyMatch",
                                      "TopologyScore",
                                      "PodTopologySpread",
                                      "InterPodAffinity",
                                      "DynamicResources",
                                      "NodeDevice"};
  if (setup.devices_first) std::rotate(plugins.end() - 5, plugins.end() - 1, plugins.end());
  profile.args["NodeDevice"] = setup.device_args;
  const bool living = role == FullScheduler::Role::kLiving;
  if (living) {
    plugins.insert(plugins.end(), {"DefaultPreemption", Waiter::kName});
  } else {
    plugins.insert(plugins.begin(), Chosen::kName);
  }
  for (const std::string& plugin : plugins) {
    const auto enabled = enable_at_every_point(profile, modules(), plugin);
    if (!enabled) throw std::runtime_error(enabled.error().message);
  }
  return profile;
}

const char* resource_of(Kind kind) {
  switch (kind) {
    case Kind::kTopologies:
      return "noderesourcetopologies.v1alpha2.topology.node.k8s.io";
    case Kind::kDevices:
      return "devices.v1alpha1.scheduling.koordinator.sh";
    case Kind::kBudgets:
      return "poddisruptionbudgets.v1.policy";
    case Kind::kClasses:
      return "storageclasses.v1.storage.k8s.io";
    case Kind::kCsiNodes:
      return "csinodes.v1.storage.k8s.io";
    case Kind::kVolumes:
      return "persistentvolumes";
    case Kind::kClaims:
      return "persistentvolumeclaims";
    default:
      throw std::logic_error("pods and nodes are no raw objects");
  }
}

void trim(std::vector<int64_t>& amounts) {
  while (!amounts.empty() && amounts.back() == 0) amounts.pop_back();
}

}  // namespace

// What a fresh one writes: events only, since it binds nothing.
struct FullScheduler::Verdicts final : ApiWriter {
  void bind(BindRequest, Done done) override { done(fail(ErrorCode::kInternal, "unexpected")); }
  void record_event(EventRecord event) override {
    const std::lock_guard lock(mutex);
    notes[event.uid] = std::move(event.note);
  }
  void patch_condition(ConditionPatch, Done done) override { done({}); }
  void request(ApiRequest, Answered done) override { done(500, "{}"); }

  std::mutex mutex;
  std::map<std::string, std::string> notes;  // by UID
};

FullScheduler::FullScheduler(Role role, ApiWriter& writer, int64_t now_ms, const Setup& setup)
    : now_ms_(now_ms) {
  SchedulerOptions options;
  options.queue.max_backoff_ms = 0;
  // Nothing may be found by looking again after a while.
  options.queue.max_in_unschedulable_ms = int64_t{24} * 3'600'000;
  options.clock = [this] { return now_ms_.load(); };
  if (setup.pauses) options.group_slice = std::chrono::nanoseconds(0);
  options.binder_threads = role == Role::kLiving ? 2 : 1;
  options.classes.check_every = 1;
  options.profiles.push_back(profile_of(role, setup));
  if (role == Role::kFresh) verdicts_ = std::make_unique<Verdicts>();
  ApiWriter& own = verdicts_ ? *verdicts_ : writer;
  auto made = Scheduler::create(std::move(options), modules(), symbols(), own);
  if (!made) throw std::runtime_error(made.error().message);
  scheduler_ = std::move(*made);
  host_ = std::move(g_host);
  loop_ = std::thread([this] { scheduler_->run(); });
}

FullScheduler::~FullScheduler() {
  scheduler_->stop();
  loop_.join();
}

void FullScheduler::sync() {
  for (const WantedKind& kind : scheduler_->wanted_kinds()) {
    scheduler_->post(KindSynced{kind.resource(), true});
  }
  scheduler_->post(KindSynced{"nodes", true});
  scheduler_->post(KindSynced{"pods", true});
}

void FullScheduler::on_loop(const std::function<void()>& task) {
  std::promise<void> done;
  scheduler_->post(Task{[&] {
    task();
    done.set_value();
  }});
  done.get_future().wait();
}

void FullScheduler::post(const Change& change) {
  const Json& object = change.object;
  const std::string name = object["metadata"]["name"];
  const std::string text = object.dump();
  switch (change.kind) {
    case Kind::kPods: {
      auto pod = decode_pod(text, symbols());
      if (!pod) pod = decode_readable(text, {}, symbols());  // as the informer does
      if (!pod) throw std::runtime_error(pod.error().message);
      if (change.deleted) return scheduler_->post(PodDeleted{*pod});
      return scheduler_->post(PodUpserted{*pod});
    }
    case Kind::kNodes: {
      if (change.deleted) return scheduler_->post(NodeDeleted{name});
      auto node = decode_node(text, symbols());
      if (!node) throw std::runtime_error(node.error().message);
      return scheduler_->post(NodeUpserted{*node});
    }
    default:
      break;
  }
  RawObject raw;
  raw.resource = resource_of(change.kind);
  raw.ns = object["metadata"].value("namespace", "");
  raw.name = name;
  raw.uid = object["metadata"]["uid"];
  raw.resource_version = object["metadata"]["resourceVersion"];
  if (!change.deleted) raw.json = text;
  const RawRef ref = decoded(std::move(raw));
  if (change.deleted) return scheduler_->post(ObjectDeleted{ref});
  scheduler_->post(ObjectUpserted{ref});
}

void FullScheduler::deliver(const Change& change) {
  post(change);
}

void FullScheduler::deliver(const std::vector<Change>& changes) {
  std::promise<void> all_posted;
  scheduler_->post(Task{[&] { all_posted.get_future().wait(); }});
  for (const Change& change : changes) post(change);
  all_posted.set_value();
  on_loop([] {});  // the promise is in use until then
}

bool FullScheduler::settle(const std::function<std::vector<RandomCluster::Asked>()>& answers) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int times_still = 0;
  while (std::chrono::steady_clock::now() < deadline) {
    on_loop([] {});
    on_loop([] {});  // in a later turn: what that one came to is published
    const SchedulerStats now = scheduler_->stats();
    size_t awaited = 0;
    for (const RandomCluster::Asked& asked : answers()) {
      if (asked.binding) ++awaited;
    }
    const bool still =
        now.inbox == 0 && now.queue.active == 0 && now.queue.backoff == 0 && now.binding <= awaited;
    // What the turn that is under way came to is only published at its end, and it may have posted
    // something itself.
    times_still = still ? times_still + 1 : 0;
    if (times_still == kTimesStill) return true;
    if (!still) std::this_thread::yield();
  }
  return false;
}

ClusterView FullScheduler::view() {
  ClusterView nodes;
  on_loop([&] { nodes = view_now(); });
  return nodes;
}

ClusterView FullScheduler::view_now() {
  ClusterView nodes;
  const topology::LedgerService* ledger = topology::LedgerService::find(host());
  const auto* devices = host().find_service<plimsoll_device_accounts>(
      PLIMSOLL_DEVICE_ACCOUNTS_SERVICE, PLIMSOLL_DEVICE_ACCOUNTS_VERSION);
  for (uint32_t slot = 0; slot < host().slot_count(); ++slot) {
    const sdk::Node node = host().node(slot);
    if (!node) continue;
    NodeView& seen = nodes[std::string(node.name())];
    for (const plimsoll_pod* pod : node.pods()) {
      const std::string uid(plimsoll::view(pod->meta.uid));
      seen.pods[uid] = plimsoll::view(pod->meta.resource_version);
      const uint64_t zones = devices->zones_of_pod(devices->self, pod->meta.uid);
      if (zones != 0) seen.device_zones[uid] = zones;
    }
    seen.allocatable.assign(node->allocatable, node->allocatable + node->resource_count);
    seen.requested.assign(node->requested, node->requested + node->resource_count);
    trim(seen.allocatable);
    trim(seen.requested);
    seen.nonzero_cpu = node->nonzero_cpu;
    seen.nonzero_memory = node->nonzero_memory;
    seen.generation = node->generation;
    for (const auto& port : sdk::List<plimsoll_host_port>(node->host_ports)) {
      seen.ports.insert(std::string(plimsoll::view(port.ip)) + " " +
                        std::string(plimsoll::view(port.protocol)) + " " +
                        std::to_string(port.port));
    }
    if (const plimsoll_numa_node* zones = ledger->ask().node(slot)) {
      for (uint32_t row = 0; row < zones->resource_count; ++row) {
        for (uint32_t column = 0; column < zones->zone_count; ++column) {
          const std::string resource =
              zones->resources[row] == PLIMSOLL_RESOURCE_CPU ? " cpu" : " memory";
          seen.zones["node-" + std::to_string(zones->zone_ids[column]) + resource] =
              zones->free[size_t{row} * zones->zone_count + column];
        }
      }
    }
    seen.unused_gpus = devices->unused_devices(devices->self, slot, str("gpu"));
    for (const sdk::Pod pod : host().nominated_pods(node.name())) {
      seen.nominated.emplace(pod.uid());
    }
  }
  return nodes;
}

Explanation FullScheduler::explain_now(const Json& pod) {
  return scheduler_->explain({.ns = {}, .name = {}, .what_if = decoded_pod(pod)});
}

PodRef FullScheduler::decoded_pod(const Json& pod) {
  auto made = decode_pod(pod.dump(), symbols());
  if (!made) throw std::runtime_error(made.error().message);
  return *made;
}

const GroupTrial& FullScheduler::group_trial() {
  return *static_cast<const GroupTrial*>(
      host().find_service<GroupDryRun>(GroupDryRun::kService, 1));
}

GroupDecision& FullScheduler::group_decision() {
  return *static_cast<GroupDecision*>(
      host()
          .find_service<plimsoll_pod_groups>(PLIMSOLL_POD_GROUPS_SERVICE,
                                             PLIMSOLL_POD_GROUPS_VERSION)
          ->self);
}

void FullScheduler::in_each_turn(std::function<bool()> visit) {
  scheduler_->post(Task{[this, visit = std::move(visit)]() mutable {
    if (visit()) in_each_turn(std::move(visit));
  }});
}

std::string FullScheduler::misdrawn() {
  std::vector<StateSnapshot> changes;  // of two nodes at a time
  StateSnapshot whole;
  const bool begun = drawn_until_.has_value();
  on_loop([&] {
    const StateChoice all{.plugins = true, .queue = false, .kinds = false};
    StateChoice changed = all;
    changed.most = 2;
    do {
      changed.since = drawn_until_;
      changes.push_back(scheduler_->snapshot(changed));
      drawn_until_ = changes.back().mark;
    } while (!drawn_until_->untold.empty());
    whole = scheduler_->snapshot(all);
  });
  const auto draw = [](const StateSnapshot& said, std::map<std::string, std::string>& picture) {
    std::map<std::string, Json> nodes;
    for (const StateSnapshot::Node& node : said.nodes)
      nodes[std::string(plimsoll::view(node.node->meta.name))]["requested"] = node.requested;
    for (const StateSnapshot::PlacedPod& placed : said.placed) {
      const auto node = nodes.find(std::string(plimsoll::view(placed.pod->node_name)));
      if (node == nodes.end()) continue;
      node->second["pods"][std::string(plimsoll::view(placed.pod->meta.uid))] = placed.assumed;
    }
    for (const char* plugin : {"NodeResourceTopologyMatch", "NodeDevice"}) {
      const Json state = Json::parse(said.plugins.at(plugin).text());
      for (auto& [name, node] : nodes) node[plugin] = state["nodes"].value(name, Json());
    }
    for (const auto& [name, node] : nodes) picture[name] = node.dump();
  };
  for (const StateSnapshot& some : changes) {
    if (begun && !some.changes_only) return "every node: the changes are not known";
    draw(some, drawn_);
    if (!some.names) continue;
    const std::set<std::string> there(some.names->begin(), some.names->end());
    std::erase_if(drawn_, [&](const auto& node) { return !there.contains(node.first); });
  }
  std::map<std::string, std::string> right;
  draw(whole, right);
  for (const auto& [name, node] : right)
    if (drawn_[name] != node) return name + ": " + drawn_[name] + ", not " + node;
  for (const auto& [name, node] : drawn_)
    if (!right.contains(name)) return name + ", which is gone";
  return "";
}

std::vector<std::string> FullScheduler::waiting() {
  std::vector<std::string> uids;
  on_loop([&] {
    for (const auto& waiting : host().waiting_pods()) uids.emplace_back(waiting.pod.uid());
  });
  std::sort(uids.begin(), uids.end());
  return uids;
}

void FullScheduler::allow(const std::string& uid) {
  host().allow_waiting(uid);
}

void FullScheduler::activate(const std::string& uid) {
  host().activate(uid);
}

std::string FullScheduler::verdict(const std::string& uid) {
  {
    const std::lock_guard lock(verdicts_->mutex);
    verdicts_->notes.erase(uid);
  }
  on_loop([&] { Chosen::uid() = uid; });
  activate(uid);
  if (!settle()) return "no verdict: it does not settle";
  on_loop([] { Chosen::uid().clear(); });
  const std::lock_guard lock(verdicts_->mutex);
  const auto found = verdicts_->notes.find(uid);
  if (found == verdicts_->notes.end()) return "no verdict: it is not tried";
  const size_t at = found->second.find(kFits);
  if (at == std::string::npos) return found->second;
  return found->second.substr(at, found->second.find('.', at) - at);
}

}  // namespace plimsoll::testing
