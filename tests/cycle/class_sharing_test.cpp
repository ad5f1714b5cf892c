// Like pods share results: what is asked again after which change, and what becomes of a plugin
// whose verdict changes without a word.

#include <gtest/gtest.h>
#include <plimsoll/plugin.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/log.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/runtime/plugin/modules.hpp"

namespace plimsoll::class_sharing_test {
namespace {

using namespace std::chrono_literals;
using sdk::Host;
using sdk::Node;
using sdk::Pod;

// Guarded by the loop: the test touches it in Tasks only.
struct Probed {
  std::set<std::string> closed;   // nodes that are refused, which no aspect tells
  std::set<std::string> misread;  // nodes about which columns say something else than the nodes
  size_t filtered = 0;            // nodes asked about
  size_t scored = 0;
};
Probed* g_probed = nullptr;

class Sort {
 public:
  static constexpr const char* kName = "Sort";
  Sort(Host, std::string_view) {}
  sdk::SortKey sort_key(Pod, int64_t queued_ms) {
    sdk::SortKey key;
    key.ascending(queued_ms);
    return key;
  }
};

// Says that it rests on labels and pods.
class Probe {
 public:
  static constexpr const char* kName = "Probe";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_PODS;
  Probe(Host host, std::string_view) : host_(host), closed_(host.reason("is closed")) {}
  sdk::Status filter(const plimsoll_cycle&, Pod pod, sdk::Nodes nodes,
                     sdk::Verdicts verdicts) const {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i)) continue;
      ++g_probed->filtered;
      const std::string name(nodes[i].name());
      const bool closed = nodes[i].label("closed").has_value() || g_probed->closed.contains(name);
      if (closed) verdicts.set(i, sdk::Status::unschedulable(closed_));
      const std::string_view wants = pod.label("wants").value_or("");
      if (!wants.empty()) {
        verdicts.set(i, host_.unschedulable(std::string(wants) + " " + std::string(1'900, 'x')));
      }
    }
    return sdk::Status::success();
  }
  sdk::Status score(const plimsoll_cycle&, Pod, sdk::Nodes nodes, std::span<int64_t> scores) const {
    for (size_t i = 0; i < nodes.size(); ++i) {
      ++g_probed->scored;
      scores[i] = 100 - static_cast<int64_t>(nodes[i].pods().size());
      const bool misread =
          nodes.columns() != nullptr && g_probed->misread.contains(std::string(nodes[i].name()));
      if (misread) scores[i] = 0;
    }
    return sdk::Status::success();
  }
  sdk::Status sign(Pod pod, sdk::Sink& sink) {
    sink.put_field(pod.label("kind").value_or(""));
    sink.put_field(pod.label("wants").value_or(""));
    return sdk::Status::success();
  }

 private:
  Host host_;
  uint32_t closed_;
};

class Binder {
 public:
  static constexpr const char* kName = "Binder";
  Binder(Host host, std::string_view) : host_(host) {}
  sdk::Status bind(plimsoll_cycle& cycle, Pod pod, std::string_view node, sdk::Token token) {
    return host_.post_binding(cycle, pod, node, token);
  }

 private:
  Host host_;
};

class Binds final : public ApiWriter {
 public:
  void bind(BindRequest request, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      nodes_[request.name] = request.node;
    }
    done({});
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch patch, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      messages_[patch.name] = patch.message;
    }
    done({});
  }
  void request(ApiRequest, Answered done) override { done(500, "{}"); }

  // Its node, or why it has none; waited for.
  std::string outcome(const std::string& pod) {
    for (int i = 0; i < 6000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (nodes_.contains(pod)) return nodes_[pod];
        if (messages_.contains(pod)) return messages_[pod];
      }
      std::this_thread::sleep_for(5ms);
    }
    return "nothing became of it";
  }

 private:
  std::mutex mutex_;  // guards the rest
  std::map<std::string, std::string> nodes_;
  std::map<std::string, std::string> messages_;
};

class ClassSharing : public ::testing::Test {
 protected:
  void start(uint32_t check_every, size_t most_bytes = size_t{1} << 30) {
    log_to_stderr(LogLevel::kError, LogFormat::kText);
    g_probed = &probed_;
    const std::vector<StaticModule> plugins{{"Sort", "1", sdk::create_fn<Sort>},
                                            {"Probe", "1", sdk::create_fn<Probe>},
                                            {"Binder", "1", sdk::create_fn<Binder>}};
    modules_.add_builtin(plugins);
    SchedulerOptions options;
    options.binder_threads = 1;
    options.classes.check_every = check_every;
    options.classes.most_bytes = most_bytes;
    ProfileSpec profile;
    profile.scheduler_name = "topo";
    profile.at(ExtensionPoint::kQueueSort) = {{"Sort"}};
    profile.at(ExtensionPoint::kFilter) = {{"Probe"}};
    profile.at(ExtensionPoint::kScore) = {{"Probe"}};
    profile.at(ExtensionPoint::kBind) = {{"Binder"}};
    options.profiles.push_back(profile);
    auto made = Scheduler::create(std::move(options), modules_, symbols_, api_);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    scheduler_ = std::move(*made);
    loop_ = std::thread([this] { scheduler_->run(); });
    for (int i = 0; i < 20; ++i) put_node(name_of(i));
    scheduler_->post(KindSynced{"nodes", true});
    scheduler_->post(KindSynced{"pods", true});
  }
  void TearDown() override {
    scheduler_->stop();
    loop_.join();
  }
  static std::string name_of(int i) { return "n" + std::to_string(10 + i); }
  void put_node(const std::string& name, const std::string& labels = "{}") {
    scheduler_->post(NodeUpserted{*decode_node(
        R"({"metadata":{"name":")" + name + R"(","labels":)" + labels + R"(},"status":{}})",
        symbols_)});
  }
  void add(const std::string& name, const std::string& kind, const std::string& wants = "") {
    scheduler_->post(PodUpserted{
        *decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" + name +
                        R"(","labels":{"kind":")" + kind + R"(","wants":")" + wants +
                        R"("}},"spec":{"schedulerName":"topo","containers":[{"name":"c"}]}})",
                    symbols_)});
  }
  // Where it goes.
  std::string place(const std::string& name, const std::string& kind,
                    const std::string& wants = "") {
    add(name, kind, wants);
    return api_.outcome(name);
  }
  template <typename Change>
  void on_loop(const Change& change) {
    std::promise<void> done;
    scheduler_->post(Task{[&] {
      change();
      done.set_value();
    }});
    done.get_future().wait();
  }
  struct Asked {
    size_t filtered, scored;
    friend bool operator==(const Asked&, const Asked&) = default;
  };
  // Since the last time.
  Asked asked() {
    Asked counts{};
    on_loop([&] {
      counts = {probed_.filtered, probed_.scored};
      probed_.filtered = probed_.scored = 0;
    });
    return counts;
  }
  ClassCache::Stats classes() {
    on_loop([] {});
    on_loop([] {});  // in a later turn: what that one came to is published
    return scheduler_->stats().classes;
  }

  Probed probed_;
  SymbolTable symbols_;
  Modules modules_;
  Binds api_;
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
};

TEST(ClassCacheChecks, AreOneInSoManyDecisions) {
  const auto checks = [](uint32_t every) {
    ClassCacheOptions options;
    options.check_every = every;
    ClassCache cache(options);
    size_t made = 0;
    for (int decision = 0; decision < 1000; ++decision) made += cache.check_now() ? 1 : 0;
    return made;
  };
  EXPECT_EQ(checks(0), 0u);
  EXPECT_EQ(checks(1), 1'000u);
  EXPECT_EQ(checks(10), 100u);
  EXPECT_EQ(checks(1'000), 1u);
  EXPECT_EQ(ClassCacheOptions().check_every, 1'000u);
}

// Far more different reasons than a step may bring and a plugin may keep, from pods that are all
// different: each reads its own, and so does a class of pods, whose table keeps one.
TEST_F(ClassSharing, EveryPodReadsItsOwnReason) {
  start(0);
  const auto wanted = [](const std::string& what) {
    return "0/20 nodes are available: 20 " + what + " " + std::string(1'900, 'x') + ".";
  };
  constexpr int kStrangers = 12'000;
  for (int i = 0; i < kStrangers; ++i) {
    const std::string name = "s" + std::to_string(i);
    add(name, "", name);
  }
  EXPECT_EQ(api_.outcome("s11999"), wanted("s11999"));
  EXPECT_EQ(api_.outcome("s0"), wanted("s0"));
  for (const char* name : {"a", "b", "c", "d"}) {
    EXPECT_EQ(place(name, "", "me"), wanted("me"));
    EXPECT_EQ(place(std::string("other-") + name, "", name), wanted(name));
  }
  EXPECT_EQ(classes().tables, 1U);
}

TEST_F(ClassSharing, OnlyWhatChangedIsAskedAgain) {
  start(0);
  EXPECT_EQ(place("a", "x"), "n10");
  EXPECT_EQ(asked(), (Asked{20, 20}));
  EXPECT_EQ(place("b", "x"), "n11");  // the second one makes the table
  EXPECT_EQ(asked(), (Asked{20, 20}));
  // A pod more on a node says nothing to the filter, and something to the score of that node.
  EXPECT_EQ(place("c", "x"), "n12");
  EXPECT_EQ(asked(), (Asked{0, 1}));
  put_node("n13", R"({"closed":"yes"})");
  EXPECT_EQ(place("d", "x"), "n14");
  EXPECT_EQ(asked(), (Asked{1, 1}));
  put_node("n13");
  EXPECT_EQ(place("e", "x"), "n13") << "the one without a pod that was chosen longest ago";
  EXPECT_EQ(asked(), (Asked{1, 1}));
  scheduler_->post(NodeDeleted{"n15"});
  EXPECT_EQ(place("f", "x"), "n16");
  put_node("n30");
  EXPECT_EQ(place("g", "x"), "n30") << "it has the place of n15 in the order";
  const ClassCache::Stats stats = classes();
  EXPECT_EQ(stats.tables, 1U);
  EXPECT_EQ(stats.hits, 5U);
  EXPECT_EQ(stats.misses, 2U);
  EXPECT_GT(stats.bytes, 0U);
}

TEST_F(ClassSharing, OtherPodsAreAnotherClass) {
  start(0);
  for (const char* name : {"a", "b"}) place(name, "x");
  asked();
  place("c", "y");
  EXPECT_EQ(asked(), (Asked{20, 20}));
  EXPECT_EQ(classes().tables, 1U);
  place("d", "y");
  EXPECT_EQ(classes().tables, 2U);
}

TEST_F(ClassSharing, AClassThatFitsNowhereFailsWithoutALookAtTheNodes) {
  start(0);
  for (int i = 0; i < 20; ++i) put_node(name_of(i), R"({"closed":"yes"})");
  const std::string refusal = "0/20 nodes are available: 20 is closed.";
  for (const char* name : {"a", "b"}) EXPECT_EQ(place(name, "x"), refusal);
  asked();
  EXPECT_EQ(place("c", "x"), refusal);
  EXPECT_EQ(asked(), (Asked{0, 0}));
  put_node("n12");
  EXPECT_EQ(place("d", "x"), "n12");
}

TEST_F(ClassSharing, WhatIsKeptIsUsed) {
  start(0);
  for (const char* name : {"a", "b"}) place(name, "x");
  on_loop([&] { probed_.closed = {"n12"}; });
  EXPECT_EQ(place("c", "x"), "n12") << "nobody said that it is closed";
  EXPECT_EQ(classes().different, 0U);
}

TEST_F(ClassSharing, TheCheckFindsAPluginThatChangesItsMindAndTrustsItNoMore) {
  start(1);
  for (const char* name : {"a", "b"}) place(name, "x");
  on_loop([&] { probed_.closed = {"n12"}; });
  EXPECT_EQ(place("c", "x"), "n13") << "what is found afresh counts";
  ClassCache::Stats stats = classes();
  EXPECT_EQ(stats.different, 1U);
  EXPECT_EQ(stats.tables, 0U);
  on_loop([&] { probed_.closed = {"n14"}; });
  EXPECT_EQ(place("d", "x"), "n12");
  EXPECT_EQ(place("e", "x"), "n15");
  stats = classes();
  EXPECT_EQ(stats.different, 1U) << "nothing of it is kept";
  EXPECT_EQ(stats.tables, 1U);
}

TEST_F(ClassSharing, ChecksHoldTheColumnsAgainstEachNodeInTurn) {
  start(1);
  on_loop([&] { probed_.misread = {"n27"}; });
  for (int i = 0; i < 20; ++i) place("c" + std::to_string(i), "x");
  const ClassCache::Stats stats = classes();
  EXPECT_EQ(stats.different, 1U) << "each check asks about one of the twenty by itself";
}

TEST_F(ClassSharing, TheLeastRecentlyUsedGoFirst) {
  start(0, 1);  // one table at most
  for (const char* name : {"a", "b"}) place(name, "x");
  for (const char* name : {"c", "d"}) place(name, "y");
  const ClassCache::Stats stats = classes();
  EXPECT_EQ(stats.tables, 1U);
  EXPECT_EQ(stats.dropped, 1U);
  asked();
  place("e", "y");
  EXPECT_EQ(asked(), (Asked{0, 1})) << "the last is kept";
}

}  // namespace
}  // namespace plimsoll::class_sharing_test
