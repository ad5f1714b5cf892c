#include "bench/groups/group_world.hpp"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/support/default_profile.hpp"
#include "bench/support/loop_thread.hpp"
#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/objects/kinds.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "plugins/builtin/builtin.hpp"

namespace plimsoll::bench {
namespace {

using nlohmann::json;

constexpr const char* kGpus = "nvidia.com/gpu";
constexpr const char* kBlock = "example.com/block";
constexpr const char* kDomain = "nvidia.com/gpu.clique";
constexpr const char* kHostname = "kubernetes.io/hostname";

int64_t thread_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

template <typename Value>
Value must(Result<Value> made) {
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

NodeRef make_node(size_t index, const GroupWorldOptions& options, SymbolTable& symbols) {
  const std::string name = "node-" + std::to_string(index);
  const auto value = [&](size_t level) {
    return std::to_string(index / nodes_of(options.network, level));
  };
  const json labels{
      {kHostname, name}, {kDomain, value(1)}, {GroupWorld::kRack, value(2)}, {kBlock, value(3)}};
  const json amounts{{"cpu", std::to_string(options.host.cpus)},
                     {kGpus, std::to_string(options.host.gpus)},
                     {"memory", "1Ti"},
                     {"pods", "110"}};
  return must(decode_node(json{{"metadata", {{"name", name}, {"labels", labels}}},
                               {"status", {{"allocatable", amounts}}}}
                              .dump(),
                          symbols));
}

std::string pod_name(const Gang& gang, size_t index) {
  return gang.name + "-" + std::to_string(index);
}

// `node`: empty: it waits.
PodRef make_pod(const Gang& gang, size_t index, const std::string& node, SymbolTable& symbols,
                bool in_group = true) {
  const Amounts& asked = gang.pods[index];
  json requests{{"cpu", std::to_string(asked.cpus)}};
  if (asked.gpus > 0) requests[kGpus] = std::to_string(asked.gpus);
  json pod{
      {"metadata",
       {{"name", pod_name(gang, index)}, {"namespace", "default"}, {"uid", pod_name(gang, index)}}},
      {"spec",
       {{"schedulerName", "bench"},
        {"priority", in_group ? 0 : -1},
        {"containers",
         {{{"name", "main"}, {"resources", {{"requests", requests}, {"limits", requests}}}}}}}},
      {"status", {{"phase", "Pending"}}}};
  if (in_group) pod["spec"]["schedulingGroup"] = {{"podGroupName", gang.name}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  return must(decode_pod(pod.dump(), symbols));
}

RawRef make_group(const Gang& gang, const GroupWorldOptions& options) {
  json group{{"metadata", {{"name", gang.name}, {"namespace", "default"}, {"uid", gang.name}}},
             {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", gang.pods.size()}}}}}}}};
  if (!options.required.empty()) {
    group["spec"]["schedulingConstraints"] = {{"topology", {{{"key", options.required}}}}};
  } else if (options.with_levels) {
    group["metadata"]["annotations"] = {{"topology.plimsoll.io/preferred", kBlock}};
  }
  return decoded({"podgroups.v1beta1.scheduling.k8s.io", "default", gang.name, gang.name, "1",
                  group.dump(), nullptr});
}

}  // namespace

struct GroupWorld::Impl final : public ApiWriter {
  explicit Impl(const GroupWorldOptions& wanted) : options(wanted) {
    modules.add_builtin(builtin_modules());
    ProfileSpec profile = must(default_profile(modules, "bench"));
    if (options.with_levels) {
      profile.args["GangScheduling"] =
          json{{"topologyLevels", {kBlock, kRack, kDomain, kHostname}}}.dump();
    }
    if (options.most_allocated) {
      profile.args["NodeResourcesFit"] =
          json{{"scoringStrategy",
                {{"type", "MostAllocated"},
                 {"resources",
                  {{{"name", "cpu"}, {"weight", 1}}, {{"name", kGpus}, {"weight", 1}}}}}}}
              .dump();
    }
    SchedulerOptions scheduler_options;
    scheduler_options.profiles.push_back(std::move(profile));
    scheduler_options.binder_threads = 1;
    if (options.slice.count() > 0) scheduler_options.group_slice = options.slice;
    scheduler.emplace(
        must(Scheduler::create(std::move(scheduler_options), modules, symbols, *this)));
    for (size_t i = 0; i < options.network.nodes(); ++i)
      (*scheduler)->post(NodeUpserted{make_node(i, options, symbols)});
    for (size_t i = 0; i < options.network.nodes(); ++i) {
      const Gang others{"evictable-" + std::to_string(i),
                        std::vector<Amounts>(options.evictable, Amounts{16, 0})};
      for (size_t pod = 0; pod < options.evictable; ++pod) {
        (*scheduler)
            ->post(PodUpserted{make_pod(others, pod, "node-" + std::to_string(i), symbols, false)});
      }
    }
    scheduler->all_synced();
    scheduler->on_loop([] {});
  }
  ~Impl() override { scheduler->stop(); }

  // All or none of the gang that is placed.
  bool wait_decided(const Gang& gang) {
    std::unique_lock lock(mutex);
    decided.wait(lock, [&] { return refused || nodes.size() == gang.pods.size(); });
    return !refused;
  }

  // Is heard in each turn of the loop, from now on until the attempt on the gang has ended.
  void watch_turns() {
    longest = {};
    last_heard.reset();
    watching = true;
    watch_turn();
  }
  void watch_turn() {
    (*scheduler)->post(Task{[this] {
      const Moment now{thread_ns(), std::chrono::steady_clock::now()};
      if (last_heard) {
        const std::chrono::duration<double, std::milli> wall = now.wall - last_heard->wall;
        longest.cpu = std::max(longest.cpu, static_cast<double>(now.cpu - last_heard->cpu) * 1e-6);
        longest.wall = std::max(longest.wall, wall.count());
      }
      last_heard = now;
      if (watching) watch_turn();
    }});
  }
  void end_watch() {
    do {
      scheduler->on_loop([] {});
    } while ((*scheduler)->stats().deciding_on_group);
    scheduler->on_loop([this] { watching = false; });
  }

  // ---- ApiWriter
  void bind(BindRequest request, Done done) override {
    done({});
    const std::lock_guard lock(mutex);
    if (!waiting.contains(request.name)) return;  // of a gang that was refused, and is gone
    if (nodes.empty()) first_bound = scheduler->cpu_seconds();
    nodes[request.name] = request.node;
    last_bound = scheduler->cpu_seconds();
    decided.notify_all();
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch patch, Done done) override {
    done({});
    const std::lock_guard lock(mutex);
    if (patch.reason.empty() || !waiting.contains(patch.name)) return;
    refused = true;
    decided.notify_all();
  }
  void request(ApiRequest, Answered done) override { done(200, "{}"); }

  const GroupWorldOptions options;
  SymbolTable symbols;
  Modules modules;
  std::optional<LoopThread> scheduler;
  std::map<std::string, PodRef> pods;  // as last posted

  std::mutex mutex;  // guards the next ones
  std::condition_variable decided;
  std::map<std::string, std::string> nodes;  // of the gang that is placed
  std::map<std::string, PodRef> waiting;     // its pods
  bool refused = false;
  double first_bound = 0;
  double last_bound = 0;

  // ---- the loop's
  struct Moment {
    int64_t cpu;
    std::chrono::steady_clock::time_point wall;
  };
  std::optional<Moment> last_heard;
  LongestTurn longest;
  bool watching = false;
};

GroupWorld::GroupWorld(const GroupWorldOptions& options) : impl_(std::make_unique<Impl>(options)) {}
GroupWorld::~GroupWorld() = default;
LongestTurn GroupWorld::longest_turn() const {
  return impl_->longest;
}

std::optional<Places> GroupWorld::place(const Room&, const Gang& gang) {
  Impl& world = *impl_;
  LoopThread& scheduler = *world.scheduler;
  std::map<std::string, PodRef> pods;
  for (size_t i = 0; i < gang.pods.size(); ++i)
    pods[pod_name(gang, i)] = make_pod(gang, i, "", world.symbols);
  {
    const std::lock_guard lock(world.mutex);
    world.nodes.clear();
    world.waiting = pods;
    world.refused = false;
  }
  for (const auto& [name, pod] : pods) scheduler->post(PodUpserted{pod});
  scheduler.on_loop([] {});
  const double began = scheduler.cpu_seconds();
  world.pods.merge(pods);
  const bool pauses = world.options.slice.count() > 0;
  if (pauses) scheduler.on_loop([&world] { world.watch_turns(); });
  scheduler->post(ObjectUpserted{make_group(gang, world.options)});
  const bool placed = world.wait_decided(gang);
  if (pauses) world.end_watch();
  if (!placed) {
    remove(gang);
    return std::nullopt;
  }
  last_ = {(world.first_bound - began) * 1e3, (world.last_bound - began) * 1e3};
  Places places;
  for (size_t i = 0; i < gang.pods.size(); ++i) {
    const std::string& node = world.nodes.at(pod_name(gang, i));
    size_t index = 0;
    std::from_chars(node.data() + node.find('-') + 1, node.data() + node.size(), index);
    places.push_back(index);
    PodRef& pod = world.pods.at(pod_name(gang, i));
    pod = make_pod(gang, i, node, world.symbols);
    scheduler->post(PodUpserted{pod});
  }
  scheduler.on_loop([] {});
  return places;
}

void GroupWorld::remove(const Gang& gang) {
  Impl& world = *impl_;
  for (size_t i = 0; i < gang.pods.size(); ++i) {
    const auto pod = world.pods.find(pod_name(gang, i));
    (*world.scheduler)->post(PodDeleted{pod->second});
    world.pods.erase(pod);
  }
  (*world.scheduler)->post(ObjectDeleted{make_group(gang, world.options)});
  world.scheduler->on_loop([] {});
}

}  // namespace plimsoll::bench
