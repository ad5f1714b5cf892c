// The SDK as a plugin author uses it, against its own fake host.

#include <gmock/gmock.h>
#include <plimsoll/fake_host.hpp>

namespace {

using namespace plimsoll::sdk;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- views

TEST(Views, WalkAListWithItsOwnStride) {
  struct Longer {  // an element of a later version
    plimsoll_label label;
    uint64_t added_later;
  };
  const Longer all[] = {{{str("a"), str("1")}, 7}, {{str("b"), str("2")}, 8}};
  const Labels labels(plimsoll_list{all, 2, sizeof(Longer)});

  std::string seen;
  for (const plimsoll_label& label : labels) {
    seen += std::string(view(label.key)) + "=" + std::string(view(label.value)) + " ";
  }
  EXPECT_EQ(seen, "a=1 b=2 ");
  EXPECT_EQ(view(labels[1].key), "b");
  EXPECT_EQ(labels.get("b"), "2");
  EXPECT_EQ(labels.get("c"), std::nullopt);
  EXPECT_EQ(labels.end() - labels.begin(), 2);
}

TEST(Views, EmptyListHasNoElements) {
  const Labels labels(plimsoll_list{});
  EXPECT_TRUE(labels.empty());
  EXPECT_EQ(labels.begin(), labels.end());
  EXPECT_EQ(labels.get("a"), std::nullopt);
}

TEST(Views, CompareSymbolsWhereBothHaveOne) {
  plimsoll_str a = str("text");
  plimsoll_str b = str("text");
  EXPECT_TRUE(equal(a, b));
  a.symbol = 1;
  EXPECT_TRUE(equal(a, b)) << "one symbol says nothing";
  b.symbol = 2;
  EXPECT_FALSE(equal(a, b));
}

TEST(Views, NodeAnswersForResourcesBeyondItsVectors) {
  FakePod pod("default/a");
  pod.request("cpu", 250);
  FakeNode node("n", 3);
  node.allocatable("cpu", 4000).add(pod);
  const Node seen = node;
  EXPECT_EQ(seen.allocatable(PLIMSOLL_RESOURCE_CPU), 4000);
  EXPECT_EQ(seen.requested(PLIMSOLL_RESOURCE_CPU), 250);
  EXPECT_EQ(seen.allocatable(999), 0);
  EXPECT_EQ(seen.requested(999), 0);
  EXPECT_EQ(seen.slot(), 3U);
}

TEST(SortKeys, OrderAsNumbersDo) {
  const auto key = [](int64_t priority, int64_t time) {
    return SortKey().descending(priority).ascending(time).bytes();
  };
  EXPECT_LT(key(10, 5), key(9, 1));
  EXPECT_LT(key(0, 1), key(-1, 1));
  EXPECT_LT(key(1, -1), key(1, 0));
  EXPECT_LT(key(INT64_MAX, 0), key(INT64_MIN, 0));
  EXPECT_EQ(key(1, 1), key(1, 1));
}

TEST(NormalizeScores, FollowsKubernetes) {
  std::vector<int64_t> scores = {1, 2, 3, 4};
  normalize_scores(scores, false);
  EXPECT_THAT(scores, ElementsAre(25, 50, 75, 100));
  normalize_scores(scores, true);
  EXPECT_THAT(scores, ElementsAre(75, 50, 25, 0));
  scores = {0, 0};
  normalize_scores(scores, false);
  EXPECT_THAT(scores, ElementsAre(0, 0));
  normalize_scores(scores, true);
  EXPECT_THAT(scores, ElementsAre(100, 100));
}

// ---- a plugin with everything

struct Demand {
  int64_t seats;
  std::vector<std::string> log;
};

class Everything {
 public:
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_PODS;

  Everything(Host host, std::string_view args) : host_(host), full_(host.reason("node(s) full")) {
    if (args == "bad") throw std::invalid_argument("seats: must be a number");
    interests_[0] = {str("Node"), PLIMSOLL_ACTION_ADD, 0};
  }
  Status pre_enqueue(Pod pod) {
    return pod.label("gated") ? host_.unresolvable("gated") : Status();
  }
  SortKey sort_key(Pod pod, int64_t queued_ms) {
    return SortKey().descending(pod->priority).ascending(queued_ms);
  }
  std::span<const plimsoll_event_interest> events() const { return interests_; }
  Hint hint(Pod, const plimsoll_event& event) {
    if (event.actions == 0) throw std::runtime_error("no action");
    return Hint::kSkip;
  }
  Status pre_filter(plimsoll_cycle& cycle, Pod pod, NodeNames& narrow) {
    host_.set_state(cycle, Demand{pod.request("seats"), {}});
    if (auto node = pod.label("only")) narrow.add(*node);
    return {};
  }
  Status add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node) {
    host_.state<Demand>(cycle)->log.push_back("+" + std::string(added.name()));
    return {};
  }
  Status remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node) {
    host_.state<Demand>(cycle)->log.push_back("-" + std::string(removed.name()));
    return {};
  }
  Status filter_node(const plimsoll_cycle& cycle, Pod, Node node) const {
    if (node.label("explode")) throw std::runtime_error("no such seat");
    if (node.label("odd")) throw 7;  // NOLINT: what a careless author may do
    return host_.state<Demand>(cycle)->seats > 2 ? Status::unschedulable(full_) : Status();
  }
  Status post_filter(plimsoll_cycle&, Pod, Nodes nodes, std::span<const uint8_t> codes,
                     Nomination& nomination) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (codes[i] == PLIMSOLL_UNSCHEDULABLE) nomination.nominate(nodes[i].name());
    }
    return {};
  }
  Status pre_score(plimsoll_cycle&, Pod, Nodes) { return {}; }
  int64_t score_node(const plimsoll_cycle&, Pod, Node node) const {
    return static_cast<int64_t>(node.pods().size());
  }
  Status normalize(const plimsoll_cycle&, Pod, Nodes, std::span<int64_t> scores) const {
    normalize_scores(scores, true);
    return {};
  }
  Status reserve(plimsoll_cycle& cycle, Pod, Node node) {
    host_.annotate(cycle, "seat", node.name());
    host_.touch_node(node.slot());
    return {};
  }
  void unreserve(plimsoll_cycle&, Pod, std::string_view) { throw std::runtime_error("stuck"); }
  Status permit(plimsoll_cycle&, Pod, Node, int64_t& timeout_ms) {
    timeout_ms = 1000;
    return Status::wait();
  }
  Status pre_bind_pre_flight(plimsoll_cycle&, Pod, std::string_view, bool& parallel) {
    parallel = true;
    return {};
  }
  Status pre_bind(plimsoll_cycle&, Pod, std::string_view, Token token) {
    host_.complete(token, PLIMSOLL_SUCCESS);
    return Status::wait();
  }
  Status bind(plimsoll_cycle& cycle, Pod pod, std::string_view node, Token token) {
    return host_.post_binding(cycle, pod, node, token);
  }
  void post_bind(plimsoll_cycle&, Pod, std::string_view node) { host_.info(node); }
  Status sign(Pod pod, Sink& sink) {
    if (pod.label("unique")) return Status::skip();
    sink.put_field(pod.ns());
    sink.put_value(pod.request("seats"));
    return {};
  }
  void start() { host_.watch("seats.example.com", "v1", "seatmaps"); }
  void node_event(NodeEvent event, Node node, uint32_t) {
    if (event == NodeEvent::kAdded) host_.info("added " + std::string(node.name()));
  }
  void pod_event(PodEvent, Pod, std::string_view) { throw std::runtime_error("lost count"); }
  void object_event(const ObjectEvent& event) { host_.info(event.json); }
  bool rests_on(Pod pod, std::string_view resource) const {
    if (resource.empty()) throw std::runtime_error("which kind?");
    return resource == "seatmaps" && pod.request("seats") > 0;
  }
  void explain(const plimsoll_cycle&, Pod, Node node, Sink& sink) const {
    sink.put("no seat on ");
    sink.put(node.name());
  }

 private:
  Host host_;
  uint32_t full_;
  plimsoll_event_interest interests_[1];
};

class EverythingTest : public testing::Test {
 protected:
  FakeHost host_;
  FakePlugin<Everything> plugin_{host_};
  FakeCycle cycle_;
  FakePod pod_{"team/a"};
  FakeNode node_{"n1", 4};
  const plimsoll_plugin& slots_ = plugin_.slots();
};

TEST_F(EverythingTest, FillsEverySlot) {
  const auto* words = reinterpret_cast<void* const*>(&slots_.destroy);
  const size_t count = (sizeof slots_ - offsetof(plimsoll_plugin, destroy)) / sizeof(void*);
  for (size_t i = 0; i < count; ++i) EXPECT_NE(words[i], nullptr) << "slot " << i;
  EXPECT_EQ(slots_.size, sizeof(plimsoll_plugin));
  EXPECT_EQ(slots_.filter_aspects, static_cast<uint32_t>(PLIMSOLL_ASPECT_LABELS));
  EXPECT_EQ(slots_.score_aspects, static_cast<uint32_t>(PLIMSOLL_ASPECT_PODS));
}

TEST_F(EverythingTest, ConstructorsTextIsTheErrorsText) {
  EXPECT_THROW(
      try { FakePlugin<Everything>(host_, "bad"); } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "seats: must be a number");
        throw;
      },
      std::runtime_error);
}

TEST_F(EverythingTest, RejectsWithReasons) {
  pod_.request("seats", 3);
  EXPECT_EQ(plugin_.pre_filter(cycle_, pod_).code, PLIMSOLL_SUCCESS);
  const auto verdict = plugin_.filter(cycle_, pod_, node_);
  EXPECT_EQ(verdict.code, PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(verdict.reasons, "node(s) full");
}

TEST_F(EverythingTest, BatchLeavesRefusedRowsAlone) {
  pod_.request("seats", 3);
  plugin_.pre_filter(cycle_, pod_);
  const plimsoll_node_info* row = &node_.get();
  const plimsoll_node_info* rows[] = {row, row};
  const plimsoll_nodes nodes{sizeof nodes, 2, rows, nullptr, nullptr};
  uint8_t codes[2] = {PLIMSOLL_PENDING, PLIMSOLL_SUCCESS};
  uint32_t reasons[2] = {17, 0};
  ASSERT_EQ(slots_.filter(slots_.self, cycle_.get(), &pod_.get(), &nodes, codes, reasons), 0);
  EXPECT_EQ(codes[0], PLIMSOLL_PENDING);
  EXPECT_EQ(reasons[0], 17U);
  EXPECT_EQ(codes[1], PLIMSOLL_UNSCHEDULABLE);
}

TEST_F(EverythingTest, ExceptionsBecomeErrors) {
  plugin_.pre_filter(cycle_, pod_);
  node_.label("explode", "yes");
  auto verdict = plugin_.filter(cycle_, pod_, node_);
  EXPECT_EQ(verdict.code, PLIMSOLL_ERROR);
  EXPECT_EQ(verdict.reasons, "no such seat");
  FakeNode odd("odd");
  odd.label("odd", "yes");
  verdict = plugin_.filter(cycle_, pod_, odd);
  EXPECT_EQ(verdict.code, PLIMSOLL_ERROR);
  EXPECT_EQ(verdict.reasons, "an exception that is no std::exception");
}

TEST_F(EverythingTest, ExceptionsOfCallsWithoutStatusAreLogged) {
  plugin_.unreserve(cycle_, pod_, "n1");
  slots_.pod_event(slots_.self, PLIMSOLL_POD_ASSIGNED, &pod_.get(), str("n1"));
  EXPECT_THAT(host_.logs, ElementsAre("unreserve: stuck", "pod_event: lost count"));
}

TEST_F(EverythingTest, AHintThatFailsQueues) {
  plimsoll_event event{};
  event.size = sizeof event;
  EXPECT_EQ(slots_.hint(slots_.self, &pod_.get(), &event), PLIMSOLL_HINT_QUEUE);
  EXPECT_THAT(host_.logs, ElementsAre("hint: no action"));
  event.actions = PLIMSOLL_ACTION_ADD;
  EXPECT_EQ(slots_.hint(slots_.self, &pod_.get(), &event), PLIMSOLL_HINT_SKIP);
}

TEST_F(EverythingTest, NarrowsToNodes) {
  pod_.label("only", "n7");
  uint32_t reason = 0;
  uint32_t narrowed = 0;
  plimsoll_list names{};
  ASSERT_EQ(slots_.pre_filter(slots_.self, cycle_.get(), &pod_.get(), &reason, &names, &narrowed),
            0);
  EXPECT_EQ(narrowed, 1U);
  ASSERT_EQ(Strings(names).size(), 1U);
  EXPECT_EQ(view(Strings(names)[0]), "n7");
}

TEST_F(EverythingTest, WhatIfsWorkOnACopyOfTheState) {
  plugin_.pre_filter(cycle_, pod_);
  auto copy = cycle_.clone();
  FakePod other("team/b");
  slots_.add_pod(slots_.self, copy->get(), &pod_.get(), &other.get(), &node_.get());
  slots_.remove_pod(slots_.self, copy->get(), &pod_.get(), &other.get(), &node_.get());
  const Host host = detail::of<Everything>(slots_.self).host;
  EXPECT_THAT(host.state<Demand>(*copy->get())->log, ElementsAre("+b", "-b"));
  EXPECT_TRUE(host.state<Demand>(*cycle_.get())->log.empty());
}

TEST_F(EverythingTest, ScoresAreNormalized) {
  FakeNode empty("n2");
  FakePod one("team/x"), two("team/y");
  node_.add(one).add(two);
  EXPECT_THAT(plugin_.score(cycle_, pod_, {&node_, &empty}), ElementsAre(0, 100));
}

TEST_F(EverythingTest, SpeaksToTheHost) {
  EXPECT_EQ(plugin_.reserve(cycle_, pod_, node_).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(cycle_.annotations["seat"], "n1");
  EXPECT_THAT(host_.touched, ElementsAre(std::pair(4U, uint32_t{PLIMSOLL_ASPECT_PLUGIN})));
  EXPECT_EQ(slots_.start(slots_.self), PLIMSOLL_SUCCESS);
  EXPECT_THAT(host_.watched, ElementsAre("seatmaps.v1.seats.example.com"));

  auto* token = reinterpret_cast<plimsoll_token*>(&host_);
  EXPECT_EQ(slots_.bind(slots_.self, cycle_.get(), &pod_.get(), str("n1"), token), PLIMSOLL_WAIT);
  EXPECT_THAT(host_.bindings, ElementsAre("team/a -> n1"));
  ASSERT_EQ(host_.completed.size(), 1U);
  EXPECT_EQ(host_.completed[0].token, token);
}

TEST_F(EverythingTest, SignsOrDoesNot) {
  pod_.request("seats", 2);
  FakePod twin("team/b");
  twin.request("seats", 2);
  EXPECT_EQ(plugin_.sign(pod_), plugin_.sign(twin));
  twin.request("seats", 1);
  EXPECT_NE(plugin_.sign(pod_), plugin_.sign(twin));
  twin.label("unique", "");
  EXPECT_EQ(plugin_.sign(twin), std::nullopt);
}

TEST_F(EverythingTest, SaysOnWhatAPodRests) {
  const auto rests_on = [&](const char* resource) {
    return slots_.rests_on(slots_.self, &pod_.get(), str(resource));
  };
  EXPECT_EQ(rests_on("seatmaps"), 0);
  pod_.request("seats", 2);
  EXPECT_EQ(rests_on("seatmaps"), 1);
  EXPECT_EQ(rests_on("trains"), 0);
  EXPECT_EQ(rests_on(""), 1) << "who cannot tell waits";
  EXPECT_THAT(host_.logs, testing::Contains("rests_on: which kind?"));
}

TEST_F(EverythingTest, AnOlderHostGetsTheSlotsItKnows) {
  plimsoll_plugin table{};
  table.size = offsetof(plimsoll_plugin, explain);
  ASSERT_EQ(detail::create<Everything>(host_.table(), str("{}"), &table, "test"), 0);
  EXPECT_EQ(table.size, offsetof(plimsoll_plugin, explain));
  EXPECT_EQ(table.explain, nullptr) << "beyond the host's memory nothing is written";
  EXPECT_NE(table.object_event, nullptr);
  table.destroy(table.self);
}

// ---- a plugin with nothing

class Nothing {
 public:
  explicit Nothing(Host) {}
};

TEST_F(EverythingTest, HasAHelperForEveryExtensionPoint) {
  plugin_.start();
  EXPECT_THAT(host_.watched, ElementsAre("seatmaps.v1.seats.example.com"));
  FakePod gated("team/gated");
  gated.label("gated", "");
  EXPECT_EQ(plugin_.pre_enqueue(gated).reasons, "gated");
  EXPECT_LT(plugin_.sort_key(pod_, 1), plugin_.sort_key(pod_, 2));
  EXPECT_EQ(view(plugin_.events()[0].resource), "Node");
  plimsoll_event event{};
  event.actions = PLIMSOLL_ACTION_ADD;
  EXPECT_EQ(plugin_.hint(pod_, event), PLIMSOLL_HINT_SKIP);
  plugin_.pre_filter(cycle_, pod_);
  EXPECT_EQ(plugin_.add_pod(cycle_, pod_, gated, node_).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(plugin_.remove_pod(cycle_, pod_, gated, node_).code, PLIMSOLL_SUCCESS);
  std::optional<std::string> nominated;
  plugin_.post_filter(cycle_, pod_, {&node_}, {PLIMSOLL_SUCCESS}, &nominated);
  EXPECT_EQ(nominated, std::nullopt);
  plugin_.post_filter(cycle_, pod_, {&node_}, {PLIMSOLL_UNSCHEDULABLE}, &nominated);
  EXPECT_EQ(nominated, "n1");
  int64_t timeout_ms = 0;
  EXPECT_EQ(plugin_.permit(cycle_, pod_, node_, &timeout_ms).code, PLIMSOLL_WAIT);
  EXPECT_EQ(timeout_ms, 1000);
  EXPECT_EQ(plugin_.pre_bind_pre_flight(cycle_, pod_, "n1").code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(plugin_.pre_bind(cycle_, pod_, "n1").code, PLIMSOLL_WAIT);
  EXPECT_EQ(plugin_.bind(cycle_, pod_, "n1").code, PLIMSOLL_WAIT);
  EXPECT_THAT(host_.bindings, ElementsAre("team/a -> n1"));
  EXPECT_EQ(host_.completed.size(), 2U);
  plugin_.post_bind(cycle_, pod_, "n1");
  plugin_.node_event(PLIMSOLL_NODE_ADDED, node_);
  plugin_.object_event(PLIMSOLL_OBJECT_UPSERT, "seatmaps", "n1", "", "{}");
  plugin_.pod_event(PLIMSOLL_POD_ASSIGNED, pod_, "n1");
  EXPECT_THAT(host_.logs, ElementsAre("n1", "added n1", "{}", HasSubstr("lost count")));
  EXPECT_EQ(plugin_.explain(cycle_, pod_, node_), "no seat on n1");
  pod_.request("seats", 1);
  EXPECT_TRUE(plugin_.rests_on(pod_, "seatmaps"));
  EXPECT_FALSE(plugin_.rests_on(pod_, "pods"));
}

// ---- what becomes of pods

// One place for each node, with a leak that tests plant.
class Place {
 public:
  Place(Host host, std::string_view fault) : host_(host), fault_(fault) {}
  Status reserve(plimsoll_cycle&, Pod pod, Node node) {
    const auto [at, is_new] = taken_.try_emplace(std::string(node.name()), pod.uid());
    return is_new ? Status() : host_.unschedulable("taken");
  }
  void unreserve(plimsoll_cycle&, Pod pod, std::string_view node) {
    if (fault_ != "unreserve") give_back(pod, node);
  }
  void pod_event(PodEvent event, Pod pod, std::string_view node) {
    if (event == PodEvent::kRemoved) return give_back(pod, node);
    if (fault_ != "restart") taken_.try_emplace(std::string(node), pod.uid());
  }
  void start() { host_.watch("example.com", "v1", "locks"); }
  void object_event(const ObjectEvent& event) {
    if (event.type == ObjectEvent::kUpsert) taken_.try_emplace(std::string(event.name), "lock");
    if (event.type == ObjectEvent::kSynced) host_.info("synced");
  }

 private:
  void give_back(Pod pod, std::string_view node) {
    const auto at = taken_.find(std::string(node));
    if (at != taken_.end() && at->second == pod.uid()) taken_.erase(at);
  }

  Host host_;
  std::string fault_;
  std::map<std::string, std::string> taken_;  // UID by node
};

class FakeSchedulerTest : public testing::Test {
 protected:
  FakeSchedulerTest() { host_.add(node_); }
  // Whether another pod gets the place of n1.
  bool is_free(FakeScheduler<Place>& scheduler) {
    FakePod other("team/other");
    FakeCycle cycle;
    if (scheduler.assume(cycle, other, node_).code != PLIMSOLL_SUCCESS) return false;
    scheduler.forget(cycle, other, node_);
    return true;
  }

  FakePod pod_{"team/a"};
  FakeNode node_{"n1", 0};
  FakeHost host_;
  FakeCycle cycle_;
};

TEST_F(FakeSchedulerTest, WhatIsAssumedAndForgottenIsGivenBack) {
  FakeScheduler<Place> scheduler(host_, "");
  EXPECT_EQ(scheduler.assume(cycle_, pod_, node_).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(Node(node_).pods().size(), 1U);
  EXPECT_EQ(Pod(pod_)->node_name.len, 2U);
  FakePod other("team/b");
  EXPECT_EQ(scheduler.assume(cycle_, other, node_).reasons, "taken");
  EXPECT_EQ(Node(node_).pods().size(), 1U) << "who is refused is forgotten";
  scheduler.forget(cycle_, pod_, node_);
  EXPECT_EQ(Node(node_).pods().size(), 0U);
  EXPECT_TRUE(is_free(scheduler));

  FakeScheduler<Place> leaks(host_, "unreserve");
  leaks.assume(cycle_, pod_, node_);
  leaks.forget(cycle_, pod_, node_);
  EXPECT_FALSE(is_free(leaks));
}

TEST_F(FakeSchedulerTest, ARestartKnowsWhatTheApiServerHas) {
  FakeScheduler<Place> scheduler(host_, "");
  scheduler.assume(cycle_, pod_, node_);
  scheduler.restart();
  EXPECT_EQ(Node(node_).pods().size(), 0U) << "its Binding was not answered";
  EXPECT_TRUE(is_free(scheduler));
  scheduler.assume(cycle_, pod_, node_);
  scheduler.confirm(pod_, node_);
  scheduler.restart();
  EXPECT_FALSE(is_free(scheduler));
  scheduler.remove(pod_, node_);
  EXPECT_TRUE(is_free(scheduler));
  scheduler.object("locks.v1.example.com", "", "n1", "{}");
  host_.logs.clear();
  scheduler.restart();
  EXPECT_THAT(host_.logs, ElementsAre("synced"));
  EXPECT_FALSE(is_free(scheduler)) << "it hears of objects, too";

  FakePod kept("team/kept");
  FakeScheduler<Place> forgets(host_, "restart");
  forgets.assume(cycle_, kept, node_);
  forgets.confirm(kept, node_);
  forgets.restart();
  EXPECT_TRUE(is_free(forgets));
}

TEST(NothingTest, FillsNoSlot) {
  FakeHost host;
  FakePlugin<Nothing> plugin(host);
  const auto* words = reinterpret_cast<void* const*>(&plugin.slots().start);
  const size_t count = (sizeof(plimsoll_plugin) - offsetof(plimsoll_plugin, start)) / sizeof(void*);
  for (size_t i = 0; i < count; ++i) EXPECT_EQ(words[i], nullptr) << "slot " << i;
  EXPECT_EQ(plugin.slots().filter_aspects, 0U);
}

// ---- what a plugin may ask since 1.1

TEST(HostTest, AWhatIfIsACopy) {
  FakeHost fake;
  FakePod small("ns/small"), big("ns/big"), wanted("ns/wanted");
  small.request("cpu", 1000);
  big.request("cpu", 3000);
  FakeNode node("n1", 2);
  node.allocatable("cpu", 4000).add(small).add(big);
  fake.add(node);
  fake.what_if_verdict = [](const FakeWhatIf& what_if) {
    return what_if.node().requested[PLIMSOLL_RESOURCE_CPU] > 1000 ? "Insufficient cpu" : "";
  };
  const Host host = fake.handle();
  FakeCycle cycle;
  EXPECT_FALSE(host.what_if(*cycle.get(), wanted, 7));
  const WhatIf what_if = host.what_if(*cycle.get(), wanted, 2);
  ASSERT_TRUE(what_if);
  const Status full = what_if.filter();
  EXPECT_EQ(full.code, PLIMSOLL_UNSCHEDULABLE);
  EXPECT_THAT(host.reason_texts(full.reason), ElementsAre("Insufficient cpu"));
  EXPECT_TRUE(what_if.remove_pod(Pod(node.get().pods[1])).ok());
  EXPECT_TRUE(what_if.filter().ok());
  EXPECT_EQ(what_if.node().pods().size(), 1U);
  EXPECT_EQ(node.get().pod_count, 2U);
  FakePod stranger("ns/stranger");
  EXPECT_EQ(what_if.remove_pod(stranger).code, PLIMSOLL_ERROR);
}

TEST(HostTest, CallablesCrossTheAbiAndAreFreedEitherWay) {
  FakeHost fake;
  const Host host = fake.handle();
  const auto owned = std::make_shared<int>(0);
  host.run_on_loop(5, [owned] { ++*owned; });
  host.run_on_loop(6, [owned] { ++*owned; });
  host.run_on_loop(7, [owned] { throw std::runtime_error("no luck"); });
  ASSERT_EQ(fake.deferred.size(), 3U);
  EXPECT_EQ(fake.deferred[0].delay_ms, 5);
  EXPECT_EQ(owned.use_count(), 4);
  fake.deferred[0].run();
  fake.deferred[1].run(1);  // the scheduler stops
  fake.deferred[2].run();
  EXPECT_EQ(*owned, 1);
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_THAT(fake.logs, ElementsAre("run_on_loop: no luck"));

  int seen = 0;
  fake.answer_status = 404;
  host.api_request({"GET", "/api/v1/nodes/n", "", ""}, [&seen, owned](int status, auto body) {
    seen = status;
    EXPECT_EQ(body, "{}");
  });
  EXPECT_EQ(seen, 404);
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_THAT(fake.requests, ElementsAre("GET /api/v1/nodes/n "));
}

TEST(HostTest, NominationsAndWaitingPods) {
  FakeHost fake;
  const Host host = fake.handle();
  FakePod pod("ns/pod");
  const std::array<plimsoll_str, 2> plugins{str("A"), str("B")};
  fake.waiting.push_back({sizeof(plimsoll_waiting_pod),
                          0,
                          &pod.get(),
                          str("n1"),
                          {plugins.data(), 2, sizeof(plimsoll_str)}});
  const auto waiting = host.waiting_pods();
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].pod.name(), "pod");
  EXPECT_EQ(waiting[0].node_name, "n1");
  EXPECT_THAT(waiting[0].pending_plugins, ElementsAre("A", "B"));
  host.nominate(pod, "n1");
  EXPECT_EQ(fake.nominations["pod"], "n1");
  fake.nominated["n1"] = {&pod.get()};
  ASSERT_EQ(host.nominated_pods("n1").size(), 1U);
  EXPECT_EQ(host.nominated_pods("n1")[0].name(), "pod");
  EXPECT_TRUE(host.nominated_pods("n2").empty());
  EXPECT_FALSE(host.cancel_binding("uid-pod", "text"));
}

// A host of 1.0 has a shorter table.
TEST(HostTest, AnOlderSchedulerHasNothingToSay) {
  FakeHost fake;
  plimsoll_host old = *fake.table();
  old.size = offsetof(plimsoll_host, what_if_begin);
  const Host host(&old, "test");
  FakePod pod("ns/pod");
  FakeCycle cycle;
  EXPECT_FALSE(host.what_if(*cycle.get(), pod, 0));
  EXPECT_FALSE(host.pod_by_uid("uid-pod"));
  EXPECT_TRUE(host.waiting_pods().empty());
  EXPECT_TRUE(host.nominated_pods("n1").empty());
  EXPECT_TRUE(host.reason_texts(1).empty());
  EXPECT_FALSE(host.cancel_binding("uid-pod", "text"));
  host.nominate(pod, "n1");
  host.activate("uid-pod");
  EXPECT_TRUE(fake.nominations.empty());
  EXPECT_TRUE(fake.activated.empty());
  EXPECT_THROW(host.run_on_loop(0, [] {}), std::runtime_error);
  EXPECT_THROW(host.api_request({}, [](int, auto) {}), std::runtime_error);
}

// Two plugins may name their state alike.
struct Number {
  int value;
};

TEST(StateTest, IsApartForEveryPlugin) {
  FakeHost fake;
  FakeCycle cycle;
  const Host a = fake.handle("a");
  const Host b = fake.handle("b");
  a.set_state(*cycle.get(), Number{1});
  EXPECT_EQ(b.state<Number>(*cycle.get()), nullptr);
  b.set_state(*cycle.get(), Number{2});
  EXPECT_EQ(a.state<Number>(*cycle.get())->value, 1);
  a.set_state(*cycle.get(), Number{3});
  EXPECT_EQ(a.state<Number>(*cycle.get())->value, 3);
}

// ---- the note

TEST(Note, SaysWhatTheMacroWasTold) {
  constexpr detail::ElfNote note = detail::elf_note("Seats", "1.2.3", "MIT", 2, 5);
  EXPECT_STREQ(note.name, "Plimsoll");
  EXPECT_EQ(note.name_size, 9U);
  EXPECT_EQ(note.descriptor_size, sizeof(plimsoll_note));
  EXPECT_STREQ(note.descriptor.name, "Seats");
  EXPECT_STREQ(note.descriptor.version, "1.2.3");
  EXPECT_STREQ(note.descriptor.license, "MIT");
  EXPECT_EQ(note.descriptor.plugin_size, sizeof(plimsoll_plugin));
  EXPECT_EQ(note.descriptor.abi_major, PLIMSOLL_ABI_MAJOR);
  EXPECT_EQ(note.descriptor.abi_minor, 2);
  EXPECT_EQ(note.descriptor.capabilities, 5U);
}

// One class for each extension point, and what the note says of it.
struct Points {
  struct Nothing {};
  struct Newer {
    static constexpr uint16_t least_abi_minor = 1;
  };
  struct Queue {
    Status pre_enqueue(Pod) { return {}; }
    SortKey sort_key(Pod, int64_t) { return {}; }
  };
  struct Filters {
    Status pre_filter(plimsoll_cycle&, Pod) { return {}; }
    void filter_node() const {}
    void post_filter() {}
  };
  struct Batch {
    void filter() const {}
    void pre_score() {}
    void score() const {}
  };
  struct Binds {
    void unreserve() {}
    void permit() {}
    void pre_bind() {}
    void bind() {}
    void post_bind() {}
  };
};

TEST(Note, SaysAtWhichPointsTheClassTakesPart) {
  EXPECT_EQ(capabilities<Points::Nothing>, PLIMSOLL_CAPABILITY_STATED);
  EXPECT_EQ(capabilities<Points::Queue>, PLIMSOLL_CAPABILITY_STATED |
                                             PLIMSOLL_CAPABILITY_PRE_ENQUEUE |
                                             PLIMSOLL_CAPABILITY_QUEUE_SORT);
  EXPECT_EQ(capabilities<Points::Filters>,
            PLIMSOLL_CAPABILITY_STATED | PLIMSOLL_CAPABILITY_PRE_FILTER |
                PLIMSOLL_CAPABILITY_FILTER | PLIMSOLL_CAPABILITY_POST_FILTER);
  EXPECT_EQ(capabilities<Points::Batch>, PLIMSOLL_CAPABILITY_STATED | PLIMSOLL_CAPABILITY_FILTER |
                                             PLIMSOLL_CAPABILITY_PRE_SCORE |
                                             PLIMSOLL_CAPABILITY_SCORE);
  EXPECT_EQ(capabilities<Points::Binds>,
            PLIMSOLL_CAPABILITY_STATED | PLIMSOLL_CAPABILITY_RESERVE | PLIMSOLL_CAPABILITY_PERMIT |
                PLIMSOLL_CAPABILITY_PRE_BIND | PLIMSOLL_CAPABILITY_BIND |
                PLIMSOLL_CAPABILITY_POST_BIND);
}

TEST(Note, NeedsNoNewerSchedulerThanTheClassSays) {
  EXPECT_EQ(detail::least_abi_minor<Points::Filters>(), 0);
  EXPECT_EQ(detail::least_abi_minor<Points::Newer>(), 1);
}

TEST(Nodes, HaveColumnsWhereTheHostGivesThem) {
  const plimsoll_node_info info{};
  const plimsoll_node_info* row = &info;
  const uint32_t slot = 7;
  plimsoll_columns columns{};
  plimsoll_nodes nodes{sizeof nodes, 1, &row, &slot, &columns};
  EXPECT_EQ(Nodes(&nodes).columns(), &columns);
  ASSERT_EQ(Nodes(&nodes).slots().size(), 1U);
  EXPECT_EQ(Nodes(&nodes).slots()[0], 7U);
  nodes.size = offsetof(plimsoll_nodes, slots);  // a host of ABI 1.1
  EXPECT_EQ(Nodes(&nodes).columns(), nullptr);
  EXPECT_TRUE(Nodes(&nodes).slots().empty());
  nodes.size = sizeof nodes;
  nodes.columns = nullptr;  // a what-if
  nodes.slots = nullptr;
  EXPECT_EQ(Nodes(&nodes).columns(), nullptr);
  EXPECT_TRUE(Nodes(&nodes).slots().empty());
}

}  // namespace
