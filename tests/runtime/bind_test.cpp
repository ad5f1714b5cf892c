// PreBind, Bind, PostBind, and the tokens by which they may end later.

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "framework/runtime/plugin/running_call.hpp"
#include "tests/runtime/support.hpp"

namespace plimsoll {
namespace {

using sdk::FakeNode;
using sdk::FakePod;
using sdk::Host;
using sdk::Token;
using testing::calls;
using ::testing::ElementsAre;
using testing::minimal_profile;
using testing::Script;
using testing::scripts;
using testing::World;

using PluginStatus = sdk::Status;

// Runs what is posted on two threads.
class Binders {
 public:
  Binders() {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Binders() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Framework::Post post() {
    return [this](std::function<void()> run) {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(run));
      wake_.notify_one();
    };
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto run = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      run();
      run = nullptr;
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

// The one status that a step ends with.
class Ending {
 public:
  Framework::Done done() {
    return [this](Status status) {
      std::lock_guard lock(mutex_);
      ++count_;
      status_ = std::move(status);
      wake_.notify_all();
    };
  }
  Status wait() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(wake_.wait_for(lock, std::chrono::seconds(20), [this] { return count_ > 0; }));
    EXPECT_EQ(count_, 1);
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  int count_ = 0;
  Status status_;
};

class BindTest : public ::testing::Test {
 protected:
  Framework& abc(ExtensionPoint point) {
    ProfileSpec spec = minimal_profile();
    spec.at(point) = {{"A"}, {"B"}, {"C"}};
    return world_.make(spec);
  }
  BindTarget target(Framework& framework) {
    return {framework.new_cycle(), PodRef(std::shared_ptr<void>(), &pod_.get()), "n1"};
  }
  Status pre_bind(Framework& framework) {
    BindTarget on = target(framework);
    const Status flight = framework.run_pre_bind_pre_flight(*on.cycle, *on.pod, on.node_name);
    if (flight.is_error()) return flight;
    Ending ending;
    framework.run_pre_binds(on, binders_.post(), ending.done());
    return ending.wait();
  }
  Status bind(Framework& framework) {
    Ending ending;
    framework.run_binds(target(framework), binders_.post(), ending.done());
    return ending.wait();
  }
  void note(const std::string& text) {
    std::lock_guard lock(mutex_);
    notes_.push_back(text);
  }
  auto notes(const std::string& text, PluginStatus status = {}) {
    return [this, text, status](auto&&...) {
      note(text);
      return status;
    };
  }
  Script& a() { return scripts()["A"]; }
  Script& b() { return scripts()["B"]; }
  Script& c() { return scripts()["C"]; }

  World world_;
  FakePod pod_{"team/a"};
  std::mutex mutex_;
  std::vector<std::string> notes_;
  Binders binders_;
  Binders others_;  // threads that are not the scheduler's
};

TEST_F(BindTest, PreBindsRunInOrderAndStopAtAFailure) {
  Framework& framework = abc(ExtensionPoint::kPreBind);
  a().pre_bind = notes("A");
  b().pre_bind = [this](const Host& host, plimsoll_cycle&, Token) {
    note("B");
    return host.error("volume is gone");
  };
  c().pre_bind = notes("C");
  const Status status = pre_bind(framework);
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.error, "running PreBind plugin \"B\": volume is gone");
  EXPECT_EQ(status.plugin, "B");
  EXPECT_THAT(notes_, ElementsAre("A", "B"));
}

TEST_F(BindTest, PreBindMayReject) {
  Framework& framework = abc(ExtensionPoint::kPreBind);
  a().pre_bind = [](const Host& host, plimsoll_cycle&, Token) {
    return host.failed(PLIMSOLL_UNSCHEDULABLE, "claim is lost");
  };
  const Status status = pre_bind(framework);
  EXPECT_EQ(status.code, Code::kUnschedulable);
  EXPECT_EQ(status.plugin, "A");
  EXPECT_EQ(world_.message(status), "claim is lost");
}

TEST_F(BindTest, PreFlightSkipLeavesPreBindOut) {
  Framework& framework = abc(ExtensionPoint::kPreBind);
  a().pre_flight = [](const Host&, bool&) { return PluginStatus::skip(); };
  a().pre_bind = notes("A");
  b().pre_bind = notes("B");
  EXPECT_TRUE(pre_bind(framework).ok());
  EXPECT_THAT(notes_, ElementsAre("B"));
  c().pre_flight = [](const Host& host, bool&) { return host.unschedulable("no"); };
  EXPECT_EQ(
      pre_bind(framework).error,
      "PreBindPreFlight C returned \"Unschedulable\", which is unsupported. It is supposed to "
      "return Success, Skip, or Error status");
}

TEST_F(BindTest, NeighboursThatAllowItRunAtOnce) {
  Framework& framework = abc(ExtensionPoint::kPreBind);
  const auto parallel = [](const Host&, bool& allow) {
    allow = true;
    return PluginStatus();
  };
  a().pre_flight = parallel;
  b().pre_flight = parallel;
  // Each waits for the other: run one after the other, they would never end.
  std::mutex mutex;
  std::condition_variable wake;
  int inside = 0;
  const auto meet = [&](auto&&...) {
    std::unique_lock lock(mutex);
    ++inside;
    wake.notify_all();
    wake.wait_for(lock, std::chrono::seconds(10), [&] { return inside >= 2; });
    note("met " + std::to_string(inside));
    return PluginStatus();
  };
  a().pre_bind = meet;
  b().pre_bind = meet;
  c().pre_bind = notes("C");
  EXPECT_TRUE(pre_bind(framework).ok());
  EXPECT_THAT(notes_, ElementsAre("met 2", "met 2", "C"));
}

TEST_F(BindTest, ATokenEndsAStepFromAnyThread) {
  Framework& framework = abc(ExtensionPoint::kPreBind);
  a().pre_bind = [this](const Host& host, plimsoll_cycle&, Token token) {
    others_.post()([this, host, token] {
      note("later");
      host.complete(token, PLIMSOLL_SUCCESS);
      host.complete(token, PLIMSOLL_ERROR, "a second time");
    });
    return PluginStatus::wait();
  };
  b().pre_bind = notes("B");
  const Status status = pre_bind(framework);
  EXPECT_TRUE(status.ok()) << status.error;
  EXPECT_THAT(notes_, ElementsAre("later", "B"));
}

TEST_F(BindTest, ATokenCarriesTheError) {
  Framework& framework = abc(ExtensionPoint::kPreBind);
  a().pre_bind = [](const Host& host, plimsoll_cycle&, Token token) {
    host.complete(token, PLIMSOLL_ERROR, "disk is full");  // before the call even returns
    return PluginStatus::wait();
  };
  EXPECT_EQ(pre_bind(framework).error, "running PreBind plugin \"A\": disk is full");
  a().pre_bind = [](const Host& host, plimsoll_cycle&, Token token) {
    host.complete(token, PLIMSOLL_WAIT);
    return PluginStatus::wait();
  };
  EXPECT_EQ(pre_bind(framework).error,
            "running PreBind plugin \"A\": it returned Wait, which it must not return here");
}

TEST_F(BindTest, ACodeBesidesACompletedTokenIsIgnored) {
  Framework& framework = abc(ExtensionPoint::kPreBind);
  a().pre_bind = [](const Host& host, plimsoll_cycle&, Token token) {
    host.complete(token, PLIMSOLL_SUCCESS);
    return host.error("too late");
  };
  EXPECT_TRUE(pre_bind(framework).ok());
}

// The loop does not wait for them, so somebody has to look.
TEST_F(BindTest, CallsThatDoNotReturnAreFound) {
  const auto hanging = [] {
    std::vector<std::string> found;
    LooseCall::each_that_hangs(std::chrono::seconds(0), [&](const RunningCall& call, auto) {
      found.push_back(std::string(call.plugin().name) + " " + call.call() + " " +
                      std::string(view(call.pod()->meta.name)));
    });
    return found;
  };
  Framework& framework = abc(ExtensionPoint::kPreBind);
  b().pre_bind = [&](const Host&, plimsoll_cycle&, Token) {
    EXPECT_THAT(hanging(), ElementsAre("B PreBind a"));
    return PluginStatus();
  };
  EXPECT_TRUE(pre_bind(framework).ok());
  Framework& binding = abc(ExtensionPoint::kBind);
  a().bind = [&](const Host&, plimsoll_cycle&, sdk::Pod, std::string_view, Token) {
    EXPECT_THAT(hanging(), ElementsAre("A Bind a"));
    return PluginStatus();
  };
  EXPECT_TRUE(bind(binding).ok());
  EXPECT_THAT(hanging(), ElementsAre());
}

TEST_F(BindTest, UnknownTokensDoNoHarm) {
  EXPECT_FALSE(world_.env.tokens.complete(nullptr, 0, ""));
  EXPECT_FALSE(world_.env.tokens.complete(reinterpret_cast<plimsoll_token*>(987654), 0, ""));
  plimsoll_token* token = world_.env.tokens.issue("A", [](int32_t, std::string_view) { FAIL(); });
  EXPECT_TRUE(world_.env.tokens.withdraw(token));
  EXPECT_FALSE(world_.env.tokens.complete(token, 0, ""));
}

// A plugin ends its steps in its destructor, or from a thread of its own, while the scheduler goes.
TEST_F(BindTest, ClosedTokensEndNoStep) {
  TokenTable tokens;
  std::promise<void> begun;
  std::promise<void> may_end;
  std::atomic<bool> has_ended = false;
  plimsoll_token* late = tokens.issue("A", [](int32_t, std::string_view) { FAIL(); });
  plimsoll_token* running = tokens.issue("A", [&](int32_t, std::string_view) {
    begun.set_value();
    may_end.get_future().wait();
    has_ended = true;
  });
  std::thread other([&] { tokens.complete(running, 0, ""); });
  begun.get_future().wait();
  std::thread closes([&] {
    tokens.close();
    EXPECT_TRUE(has_ended) << "nothing is let go that a step still uses";
  });
  may_end.set_value();
  closes.join();
  other.join();
  EXPECT_FALSE(tokens.complete(late, 0, ""));
}

TEST_F(BindTest, BindSkipsToTheNextPlugin) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kBind) = {{"A"}, {"Binder"}, {"B"}};
  Framework& framework = world_.make(spec);
  a().bind = notes("A", PluginStatus::skip());
  b().bind = notes("B");
  BindTarget on = target(framework);
  on.cycle->annotate("zone", "1");
  Ending ending;
  framework.run_binds(on, binders_.post(), ending.done());
  EXPECT_TRUE(ending.wait().ok());
  EXPECT_THAT(notes_, ElementsAre("A"));
  ASSERT_EQ(world_.backend.posts.size(), 1U);
  const BindingPost& post = world_.backend.posts[0];
  EXPECT_EQ(post.ns, "team");
  EXPECT_EQ(post.name, "a");
  EXPECT_EQ(post.uid, "uid-a");
  EXPECT_EQ(post.node, "n1");
  EXPECT_THAT(post.annotations, ElementsAre(std::pair("zone", "1")));
}

TEST_F(BindTest, AllSkippedIsSkip) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kBind) = {{"A"}, {"B"}};
  Framework& framework = world_.make(spec);
  a().bind = notes("A", PluginStatus::skip());
  b().bind = notes("B", PluginStatus::skip());
  EXPECT_EQ(bind(framework).code, Code::kSkip);
  EXPECT_THAT(notes_, ElementsAre("A", "B"));
}

TEST_F(BindTest, APostThatFailsIsABindError) {
  Framework& framework = world_.make(minimal_profile());
  world_.backend.on_post = [this](std::function<void(Result<void>)> done) {
    others_.post()([done] { done(fail(ErrorCode::kConflict, "409: already assigned")); });
  };
  const Status status = bind(framework);
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.error, "running Bind plugin \"Binder\": 409: already assigned");
}

TEST_F(BindTest, PostBindTellsAll) {
  Framework& framework = abc(ExtensionPoint::kPostBind);
  calls().clear();
  framework.run_post_bind(target(framework));
  EXPECT_THAT(calls(), ElementsAre("A.post_bind n1", "B.post_bind n1", "C.post_bind n1"));
}

TEST_F(BindTest, ManyPodsAtOnce) {
  Framework& framework = abc(ExtensionPoint::kPreBind);
  std::mutex mutex;
  std::vector<std::pair<Host, Token>> waiting;
  a().pre_bind = [&](const Host& host, plimsoll_cycle& cycle, Token token) {
    host.annotate(cycle, "a", "1");
    std::lock_guard lock(mutex);
    waiting.emplace_back(host, token);
    return PluginStatus::wait();
  };
  constexpr int kPods = 200;
  std::deque<Ending> endings(kPods);
  const BindTarget on = target(framework);
  for (Ending& ending : endings) {
    framework.run_pre_binds({framework.new_cycle(), on.pod, "n1"}, binders_.post(), ending.done());
  }
  for (int completed = 0; completed < kPods;) {
    std::vector<std::pair<Host, Token>> now;
    {
      std::lock_guard lock(mutex);
      now.swap(waiting);
    }
    for (auto& [host, token] : now) host.complete(token, PLIMSOLL_SUCCESS);
    completed += static_cast<int>(now.size());
    std::this_thread::yield();
  }
  for (Ending& ending : endings) EXPECT_TRUE(ending.wait().ok());
}

}  // namespace
}  // namespace plimsoll
