#include "tests/cycle/loop_harness.hpp"

#include <algorithm>
#include <chrono>
#include <future>

#include "framework/api/decode/decode.hpp"

namespace plimsoll::testing {

namespace {

constexpr std::chrono::seconds kPatience{20};

std::map<std::string, Hooks>* g_hooks = nullptr;  // of the test that runs, as the next two
std::map<std::string, const sdk::Host*>* g_hosts = nullptr;
Journal* g_journal = nullptr;
std::string* g_watched = nullptr;

std::string named(sdk::Pod pod) {
  return std::string(pod.name());
}

template <char kLetter>
class Hooked {
 public:
  static constexpr char kText[] = {kLetter, 0};
  static constexpr const char* kName = kText;
  explicit Hooked(sdk::Host host) : host_(std::move(host)), hooks_((*g_hooks)[kName]) {}
  void start() { (*g_hosts)[kName] = &host_; }

  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("Pod"), PLIMSOLL_ACTION_DELETE, 0},
            {sdk::str("Node"), PLIMSOLL_ACTION_ADD, 0}};
  }
  sdk::Status pre_filter(plimsoll_cycle&, sdk::Pod pod) {
    note("pre_filter", pod);
    return hooks_.pre_filter(host_, pod);
  }
  sdk::Status reserve(plimsoll_cycle&, sdk::Pod pod, sdk::Node) {
    note("reserve", pod);
    return hooks_.reserve(host_, pod);
  }
  void unreserve(plimsoll_cycle&, sdk::Pod pod, std::string_view) { note("unreserve", pod); }
  sdk::Status permit(plimsoll_cycle&, sdk::Pod pod, sdk::Node, int64_t& timeout_ms) {
    note("permit", pod);
    return hooks_.permit(host_, pod, timeout_ms);
  }
  sdk::Status pre_bind_pre_flight(plimsoll_cycle&, sdk::Pod pod, std::string_view, bool&) {
    return hooks_.pre_flight ? hooks_.pre_flight(host_, pod) : sdk::Status();
  }
  sdk::Status pre_bind(plimsoll_cycle&, sdk::Pod pod, std::string_view, sdk::Token token) {
    note("pre_bind", pod);
    return hooks_.pre_bind(host_, pod, token);
  }
  sdk::Status bind(plimsoll_cycle&, sdk::Pod pod, std::string_view, sdk::Token) {
    note("bind", pod);
    return hooks_.bind(host_, pod);
  }
  void post_bind(plimsoll_cycle&, sdk::Pod pod, std::string_view) { note("post_bind", pod); }
  bool rests_on(sdk::Pod pod, std::string_view resource) const {
    return hooks_.rests_on && hooks_.rests_on(pod, resource);
  }

 private:
  static void note(const std::string& what, sdk::Pod pod) {
    g_journal->add(std::string(kName) + " " + what + " " + named(pod));
  }
  sdk::Host host_;
  const Hooks& hooks_;
};

class Sort {
 public:
  static constexpr const char* kName = "Sort";
  explicit Sort(sdk::Host) {}
  sdk::SortKey sort_key(sdk::Pod pod, int64_t queued_ms) {
    return sdk::SortKey().descending(pod->priority).ascending(queued_ms);
  }
};

class Cpu {
 public:
  static constexpr const char* kName = "Cpu";
  explicit Cpu(sdk::Host host) : host_(std::move(host)) {}
  sdk::Status filter_node(const plimsoll_cycle&, sdk::Pod pod, sdk::Node node) const {
    const int64_t free =
        node.allocatable(PLIMSOLL_RESOURCE_CPU) - node.requested(PLIMSOLL_RESOURCE_CPU);
    return pod.request("cpu") <= free ? sdk::Status() : host_.unschedulable("Insufficient cpu");
  }
  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("Node"), PLIMSOLL_ACTION_ADD, 0},
            {sdk::str("Pod"), PLIMSOLL_ACTION_DELETE | PLIMSOLL_ACTION_UPDATE_POD_SCALE_DOWN, 0}};
  }
  // A pod that ran nowhere leaves nothing.
  sdk::Hint hint(sdk::Pod, const plimsoll_event& event) {
    const bool helps = event.old_pod == nullptr || event.old_pod->node_name.len != 0;
    return helps ? sdk::Hint::kQueue : sdk::Hint::kSkip;
  }

 private:
  sdk::Host host_;
};

class Watcher {
 public:
  static constexpr const char* kName = "Watcher";
  explicit Watcher(sdk::Host host) { host.watch("g.io", "v1", *g_watched); }
  sdk::Status filter_node(const plimsoll_cycle&, sdk::Pod, sdk::Node) const { return {}; }
};

class Poster {
 public:
  static constexpr const char* kName = "Poster";
  explicit Poster(sdk::Host host) : host_(std::move(host)) {}
  sdk::Status bind(plimsoll_cycle& cycle, sdk::Pod pod, std::string_view node, sdk::Token token) {
    return host_.post_binding(cycle, pod, node, token);
  }

 private:
  sdk::Host host_;
};

}  // namespace

// ---- the journal

void Journal::add(std::string line) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(line));
  grown_.notify_all();
}

bool Journal::await(const std::string& line, int times) {
  std::unique_lock lock(mutex_);
  const bool there = grown_.wait_for(
      lock, kPatience, [&] { return std::count(lines_.begin(), lines_.end(), line) >= times; });
  if (there) return true;
  std::string all;
  for (const std::string& each : lines_) all += each + "\n";
  ADD_FAILURE() << "never saw: " << line << "\nbut:\n" << all;
  return false;
}

int Journal::count(const std::string& line) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count(lines_.begin(), lines_.end(), line));
}

std::vector<std::string> Journal::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

bool Journal::in_order(const std::string& earlier, const std::string& later) const {
  const std::vector<std::string> all = lines();
  const auto first = std::find(all.begin(), all.end(), earlier);
  return first != all.end() && std::find(all.begin(), first, later) == first &&
         std::find(first, all.end(), later) != all.end();
}

// ---- the API server

void JournalApi::bind(BindRequest request, Done done) {
  std::unique_lock lock(mutex_);
  if (!bind_errors_.empty()) {
    const Error error = bind_errors_.back();
    bind_errors_.pop_back();
    lock.unlock();
    return done(fail(error));
  }
  lock.unlock();
  journal_.add("bind " + request.name + " " + request.node);
  done({});
  if (on_bound) on_bound(request);
}

void JournalApi::record_event(EventRecord event) {
  journal_.add("event " + event.name + (event.warning ? " Warning " : " Normal ") + event.reason +
               " " + event.action + ": " + event.note);
}

void JournalApi::patch_condition(ConditionPatch patch, Done done) {
  std::vector<std::string> lines;
  if (!patch.reason.empty()) {
    lines.push_back("condition " + patch.name + " " + patch.reason + ": " + patch.message);
  }
  if (patch.set_nominated) {
    lines.push_back("nominate " + patch.name + " " +
                    (patch.nominated_node.empty() ? "-" : patch.nominated_node));
  }
  bool held = false;
  {
    // Before the journal tells of it: whoever waits for the line looks at the patch next.
    const std::lock_guard lock(mutex_);
    held = hold_ && patch.reason.empty();
    patches_.push_back(std::move(patch));
    if (held) held_.push_back(done);
  }
  for (std::string& line : lines) journal_.add(std::move(line));
  if (!held) done({});
}

void JournalApi::request(ApiRequest, Answered done) {
  done(200, "{}");
}

void JournalApi::fail_next_bind(Error error) {
  const std::lock_guard lock(mutex_);
  bind_errors_.push_back(std::move(error));
}

void JournalApi::hold_nominations() {
  const std::lock_guard lock(mutex_);
  hold_ = true;
}

void JournalApi::answer_nominations(const Result<void>& with) {
  std::vector<Done> held;
  {
    const std::lock_guard lock(mutex_);
    hold_ = false;
    held.swap(held_);
  }
  for (const Done& done : held) done(with);
}

std::vector<ConditionPatch> JournalApi::patches() const {
  const std::lock_guard lock(mutex_);
  return patches_;
}

// ---- the loop

LoopTest::LoopTest() {
  static std::map<std::string, const sdk::Host*> hosts;
  hosts.clear();
  g_hooks = &hooks_;
  g_hosts = &hosts;
  g_journal = &journal_;
  g_watched = &watched_;
  options_.queue.initial_backoff_ms = 10;
  options_.queue.max_backoff_ms = 20;
  options_.binder_threads = 2;
  options_.classes.check_every = 1;
}

LoopTest::~LoopTest() {
  stop();
  api_.answer_nominations();
  scheduler_.reset();
}

void LoopTest::start() {
  modules_.add_builtin(std::vector<StaticModule>{{"Sort", "1", sdk::create_fn<Sort>},
                                                 {"Cpu", "1", sdk::create_fn<Cpu>},
                                                 {"Poster", "1", sdk::create_fn<Poster>},
                                                 {"Watcher", "1", sdk::create_fn<Watcher>},
                                                 {"P", "1", sdk::create_fn<Hooked<'P'>>},
                                                 {"Q", "1", sdk::create_fn<Hooked<'Q'>>}});
  ProfileSpec profile;
  profile.at(ExtensionPoint::kQueueSort) = {{"Sort"}};
  profile.at(ExtensionPoint::kFilter) = {{"Cpu"}};
  if (!watched_.empty()) profile.at(ExtensionPoint::kFilter).push_back({"Watcher"});
  for (const auto& [name, hooks] : hooks_) {
    const auto add = [&, plugin = name](ExtensionPoint point, bool set) {
      if (set) profile.at(point).push_back({plugin});
    };
    add(ExtensionPoint::kPreFilter, bool(hooks.pre_filter));
    add(ExtensionPoint::kReserve, bool(hooks.reserve));
    add(ExtensionPoint::kPermit, bool(hooks.permit));
    add(ExtensionPoint::kPreBind, bool(hooks.pre_bind));
    add(ExtensionPoint::kBind, bool(hooks.bind));
    add(ExtensionPoint::kPostBind, true);
  }
  if (profile.at(ExtensionPoint::kBind).empty()) profile.at(ExtensionPoint::kBind) = {{"Poster"}};
  for (const char* name : {"one", "two"}) {
    profile.scheduler_name = name;
    options_.profiles.push_back(profile);
  }
  auto made = Scheduler::create(options_, modules_, symbols_, api_);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  scheduler_ = std::move(*made);
  if (!api_.on_bound) {
    api_.on_bound = [this](const BindRequest& bound) {
      scheduler_->post(PodUpserted{pod(bound.name, bound.node, "1", "", "one", "", bound.uid)});
    };
  }
  loop_ = std::thread([this] { scheduler_->run(); });
  for (const WantedKind& kind : scheduler_->wanted_kinds()) {
    scheduler_->post(KindSynced{kind.resource(), true});
  }
  scheduler_->post(KindSynced{"nodes", true});
  scheduler_->post(KindSynced{"pods", true});
}

void LoopTest::stop() {
  if (!loop_.joinable()) return;
  scheduler_->stop();
  loop_.join();
}

const sdk::Host& LoopTest::host(const std::string& plugin) {
  return *g_hosts->at(plugin);
}

void LoopTest::add_node(const std::string& name, const std::string& cpu) {
  scheduler_->post(
      NodeUpserted{*decode_node(R"({"metadata":{"name":")" + name +
                                    R"("},"status":{"allocatable":{"cpu":")" + cpu + R"("}}})",
                                symbols_)});
}

PodRef LoopTest::pod(const std::string& name, const std::string& node, const std::string& cpu,
                     const std::string& extra, const std::string& profile,
                     const std::string& status, const std::string& uid) {
  return *decode_pod(R"({"metadata":{)" + extra + R"("name":")" + name +
                         R"(","namespace":"ns","uid":")" + (uid.empty() ? "u-" + name : uid) +
                         R"("},"spec":{"nodeName":")" + node + R"(","schedulerName":")" + profile +
                         R"(","containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
                         R"("}}}]},"status":{)" + status + "}}",
                     symbols_);
}

void LoopTest::add_pod(const std::string& name, const std::string& cpu, const std::string& extra) {
  scheduler_->post(PodUpserted{pod(name, "", cpu, extra)});
}

void LoopTest::settle() {
  // A task that posts the next one: by the third, what the first two turns posted is handled.
  std::promise<void> done;
  scheduler_->post(Task{
      [&] { scheduler_->post(Task{[&] { scheduler_->post(Task{[&] { done.set_value(); }}); }}); }});
  ASSERT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
}

}  // namespace plimsoll::testing
