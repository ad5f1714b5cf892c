// All classes of writes at once, in front of a server that is slow or turns writes down: everything
// is carried out in the end, and nobody waits for the end of the others.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/informer/writer_fixture.hpp"

namespace plimsoll::informer {
namespace {

using test::ApiWriterTest;
using test::Exchange;
using test::Received;
using test::some_bind;
using namespace std::chrono_literals;

class SlowServer : public ApiWriterTest {
 protected:
  // How often something has happened, and waiting for it.
  class Count {
   public:
    int add() {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
      return ++count_;
    }
    [[nodiscard]] int get() const {
      const std::lock_guard lock(mutex_);
      return count_;
    }
    [[nodiscard]] bool wait(int wanted) {
      std::unique_lock lock(mutex_);
      return changed_.wait_for(lock, 60s, [&] { return count_ >= wanted; });
    }

   private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    int count_ = 0;
  };

  void bind_many(int pods) {
    for (int i = 0; i < pods; ++i) {
      BindRequest request = some_bind();
      request.name = "pod-" + std::to_string(i);
      request.uid = "uid-" + std::to_string(i);
      request.node = "node-" + std::to_string(i);  // those of one node are sent one by one
      writer_->bind(std::move(request), [this](const Result<void>& done) {
        EXPECT_TRUE(done) << done.error().message;
        smallest_window = std::min(smallest_window.load(), window());
        bound.add();
      });
    }
  }
  void tell_many(int pods) {
    for (int i = 0; i < pods; ++i) {
      EventRecord event;
      event.ns = "ns";
      event.name = "pod-" + std::to_string(i);
      event.reason = "Scheduled";
      writer_->record_event(event);
    }
  }
  void patch_many(int pods) {
    for (int i = 0; i < pods; ++i) {
      const std::string number = std::to_string(i);
      writer_->patch_condition({"ns", "waiting-" + number, "w-" + number, "7", "Unschedulable",
                                "none fits", 0, false, ""},
                               [this](const Result<void>& done) {
                                 EXPECT_TRUE(done) << done.error().message;
                                 bound_at_last_patch = bound.get();
                                 patched.add();
                               });
    }
  }
  [[nodiscard]] std::size_t window() const { return writer_->load(WriteClass::kBind).window; }

  Count bound, patched;
  std::atomic<int> bound_at_last_patch{0};
  std::atomic<std::size_t> smallest_window{1'000};
};

// The lease has a connection of its own and is renewed while the server answers no other write.
// Once the server works on four writes at a time, conditions and events do not wait for the
// bindings' end.
TEST_F(SlowServer, NobodyIsStarved) {
  std::mutex mutex;
  std::condition_variable freed;
  int hands = 0;  // until everything has been asked for
  start([&](int, const Received& request, Exchange& exchange) {
    if (!request.asks("/leases/")) {
      std::unique_lock lock(mutex);
      freed.wait(lock, [&] { return hands > 0; });
      --hands;
      lock.unlock();
      std::this_thread::sleep_for(3ms);  // its work
      lock.lock();
      ++hands;
      freed.notify_one();
    }
    exchange.reply(201, "{}");
  });
  auto leases = test::client_for(server_->url());
  bind_many(600);
  patch_many(32);
  tell_many(64);
  for (int renewals = 0; renewals < 20; ++renewals) {
    HttpRequest renewal;
    renewal.method = "PUT";
    renewal.path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll";
    const auto renewed = test::fetch(*leases, renewal);
    ASSERT_TRUE(renewed && renewed->ok());
  }
  EXPECT_EQ(bound.get(), 0);
  {
    const std::lock_guard lock(mutex);
    hands = 4;
  }
  freed.notify_all();
  ASSERT_TRUE(patched.wait(32));
  ASSERT_TRUE(bound.wait(600));
  EXPECT_LT(bound_at_last_patch, 500);
  EXPECT_TRUE(writer_->drain(60s));
  EXPECT_EQ(writer_->stats().done[2], 64u);
  EXPECT_EQ(writer_->stats().failed[0] + writer_->stats().failed[1] + writer_->stats().failed[2],
            0u);
  leases->stop();
}

// One that turns down what is more than six bindings at a time: the window goes below what it
// began with, and every pod is bound.
TEST_F(SlowServer, TheWindowShrinksOn429AndEveryPodIsBound) {
  std::atomic<int> bindings{0};
  start([&](int, const Received& request, Exchange& exchange) {
    if (!request.asks("/binding")) {
      exchange.reply(201, "{}");
      return;
    }
    const bool much = ++bindings > 6;
    if (!much) std::this_thread::sleep_for(2ms);  // its work
    --bindings;
    exchange.reply(much ? 429 : 201, "{}");
  });
  bind_many(300);
  tell_many(30);
  ASSERT_TRUE(bound.wait(300));
  EXPECT_LT(smallest_window, 16u);
  EXPECT_GE(smallest_window, 4u);
  EXPECT_EQ(writer_->stats().done[0], 300u);
  EXPECT_EQ(writer_->stats().failed[0], 0u);
  EXPECT_GT(writer_->stats().retried[0], 0u);
  EXPECT_TRUE(writer_->drain(60s));
  EXPECT_EQ(writer_->stats().done[2], 30u);
}

}  // namespace
}  // namespace plimsoll::informer
