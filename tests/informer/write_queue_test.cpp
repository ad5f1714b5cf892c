// The queue of writes by itself: what waits, what comes back, what is withdrawn.

#include "informer/write/write_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/informer/http_fixture.hpp"
#include "tests/informer/scripted_server.hpp"

namespace plimsoll::informer {
namespace {

using test::Exchange;
using test::Journal;
using test::Received;
using test::ScriptedServer;
using ::testing::ElementsAre;
using namespace std::chrono_literals;

// One request at a time; `status` is what the server answers.
class WriteQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = std::make_unique<ScriptedServer>([this](const Received& request, Exchange& exchange) {
      exchange.reply(status(request), "{}");
    });
    client_ = test::client_for(server_->url());
    WriteOptions options;
    options.in_flight = {1, 1, 1, 4};
    options.tries = 1;  // what is tried on gives its place up while it waits
    options.first_delay = options.max_delay = 10ms;
    queue_ = std::make_shared<WriteQueue>(*client_, *client_, options);
  }

  void TearDown() override {
    open = true;
    queue_->stop();
    client_->stop();
    server_->stop();
  }

  void add(const std::string& path, const std::string& merge = {},
           std::function<bool()> superseded = nullptr) {
    add(WriteClass::kStatus, path, [&](WriteJob& job) {
      job.merge = merge;
      job.superseded = std::move(superseded);
    });
  }

  template <typename Set>
  void add(WriteClass write_class, const std::string& path, const Set& set) {
    auto job = std::make_shared<WriteJob>();
    job->what = path;
    job->request.method = "PATCH";
    job->request.path = path;
    job->definite = answers_write;
    job->done = [this, path](const Result<HttpResponse>& result) {
      journal.add(path + (result && result->ok() ? " done" : " failed"));
    };
    set(*job);
    queue_->add(write_class, job);
  }

  // Up to four requests at a time.
  void add_in_order(const std::string& path, const std::string& order) {
    add(WriteClass::kOther, path, [&](WriteJob& job) { job.in_order = order; });
  }

  // Until a timer that is set now would have expired: all that were set before with less time have.
  void pass(std::chrono::milliseconds time) {
    std::promise<void> passed;
    client_->after(time, [&] { passed.set_value(); });
    passed.get_future().wait();
  }

  static void hold_while_closed(const std::atomic<bool>& open) {
    while (!open) std::this_thread::sleep_for(1ms);
  }

  std::atomic<bool> open{false};
  std::function<int(const Received&)> status = [this](const Received& request) {
    if (request.asks("/block")) hold_while_closed(open);
    return 200;
  };
  Journal journal;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<HttpClient> client_;
  std::shared_ptr<WriteQueue> queue_;
};

// A job that waited to be tried again is not the one that waits under its key: a pod that is bound
// meanwhile withdraws the latter.
TEST_F(WriteQueueTest, WhatComesBackHidesNoNewerJob) {
  std::atomic<bool> back{false};
  std::atomic<bool> refused{false};
  status = [&](const Received& request) {
    if (request.asks("/old") && !refused.exchange(true)) return 503;
    hold_while_closed(request.asks("/old") ? open : back);
    return 200;
  };
  add("/old", "key");
  add("/block");
  ASSERT_TRUE(server_->wait_for("/block", 1)) << "in the place that the refused one gave up";
  pass(50ms);  // longer than that one waits: it is back in the queue
  add("/newer", "key");
  back = true;
  ASSERT_TRUE(server_->wait_for("/old", 2)) << "it was the next";
  const auto done = queue_->withdraw(WriteClass::kStatus, "key");
  ASSERT_TRUE(done) << "the newer one";
  done(HttpResponse{200, {}, {}, {}});
  open = true;
  EXPECT_TRUE(queue_->drain(10s));
  EXPECT_THAT(journal.lines(), ElementsAre("/block done", "/newer done", "/old done"));
  EXPECT_EQ(server_->count("/newer"), 0u);
  TearDown();
}

// The queue has only dropped jobs left: whoever waits for it hears so at once.
TEST_F(WriteQueueTest, DrainDoesNotWaitForDroppedJobs) {
  add("/block");
  ASSERT_TRUE(server_->wait_for("/block", 1));
  constexpr int kDropped = 2'000;
  for (int i = 0; i < kDropped; ++i) add("/dropped", std::to_string(i));
  for (int i = 0; i < kDropped; ++i) {
    ASSERT_TRUE(queue_->withdraw(WriteClass::kStatus, std::to_string(i)));
  }
  const auto begun = std::chrono::steady_clock::now();
  auto drained = std::async(std::launch::async, [this] { return queue_->drain(10s); });
  open = true;
  EXPECT_TRUE(drained.get());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  EXPECT_EQ(server_->count("/dropped"), 0u);
}

// Without rights every pod waits. That is said, and over once something is carried out.
TEST_F(WriteQueueTest, KnowsThatAllWritesAreRefused) {
  std::atomic<int> answer{403};
  status = [&](const Received&) { return answer.load(); };
  EXPECT_EQ(queue_->refused().problem(), std::nullopt);
  for (int i = 0; i < 3; ++i) add(WriteClass::kBind, "/bind", [](WriteJob&) {});
  ASSERT_TRUE(journal.wait_for("/bind", 3));
  EXPECT_EQ(queue_->refused().problem(), "the API server refuses bindings (403): {}");
  answer = 404;  // it may write, but the pod is gone
  add(WriteClass::kBind, "/bind", [](WriteJob&) {});
  ASSERT_TRUE(journal.wait_for("/bind", 4));
  EXPECT_EQ(queue_->refused().problem(), std::nullopt);
}

// Two Bindings to one node: the kubelet sees them in the order in which they were carried out.
TEST_F(WriteQueueTest, WhatHasAnOrderIsSentOneAfterTheOther) {
  std::atomic<bool> refused{false};
  status = [&](const Received& request) {
    if (request.asks("/a1")) hold_while_closed(open);
    return request.asks("/a2") && !refused.exchange(true) ? 503 : 200;
  };
  for (const char* path : {"/a1", "/a2", "/a3"}) add_in_order(path, "a");
  add_in_order("/b1", "b");
  ASSERT_TRUE(journal.wait_for("/b1 done")) << "another order is not held up";
  ASSERT_TRUE(server_->wait_for("/a1", 1));
  EXPECT_EQ(server_->count("/a2"), 0u);
  EXPECT_EQ(queue_->load(WriteClass::kOther).waiting, 2u);
  EXPECT_FALSE(queue_->is_empty());
  open = true;
  EXPECT_TRUE(queue_->drain(10s));
  EXPECT_EQ(server_->count("/a2"), 2u);
  const auto lines = journal.lines();
  EXPECT_THAT(lines, ElementsAre("/b1 done", "/a1 done", "/a3 done", "/a2 done"))
      << "whoever has to be tried again holds nobody up";
}

// What waited for one before it goes when its turn comes, not before all that wait. Otherwise a
// Binding overtakes those of pods that were placed before, and after a crash only it is there.
TEST_F(WriteQueueTest, WhatWasHeldUpOvertakesNobody) {
  std::atomic<bool> first_open{false};
  status = [&](const Received& request) {
    hold_while_closed(request.asks("/a1") ? first_open : open);
    return 200;
  };
  add_in_order("/a1", "a");
  for (const char* path : {"/b", "/c", "/d"}) add_in_order(path, path);
  for (const char* path : {"/a1", "/b", "/c", "/d"}) ASSERT_TRUE(server_->wait_for(path, 1));
  add_in_order("/e", "e");  // the window is full
  add_in_order("/a2", "a");
  first_open = true;
  ASSERT_TRUE(journal.wait_for("/a1 done"));
  EXPECT_TRUE(server_->wait_for("/e", 1)) << "it was there before /a2";
  EXPECT_EQ(server_->count("/a2"), 0u);
  open = true;
  EXPECT_TRUE(queue_->drain(10s));
  EXPECT_EQ(server_->count("/a2"), 1u);
}

// In a simulation the nomination of a pod comes before its volumes are bound, and the binding last,
// whoever is faster.
TEST_F(WriteQueueTest, OneAtATimeGoesByAgeWhateverTheClass) {
  WriteOptions options;
  options.one_at_a_time = true;
  queue_ = std::make_shared<WriteQueue>(*client_, *client_, options);
  const auto add_to = [&](WriteClass write_class, const std::string& path) {
    add(write_class, path, [](WriteJob&) {});
  };
  add_to(WriteClass::kOther, "/block");
  add_to(WriteClass::kStatus, "/1-nomination");
  add_to(WriteClass::kEvent, "/2-event");
  add_to(WriteClass::kOther, "/3-claim");
  add_to(WriteClass::kBind, "/4-binding");
  ASSERT_TRUE(server_->wait_for("/block", 1));
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < kWriteClasses; ++i)
    waiting += queue_->load(static_cast<WriteClass>(i)).waiting;
  EXPECT_EQ(waiting, 4U);
  open = true;
  EXPECT_TRUE(queue_->drain(10s));
  EXPECT_TRUE(journal.wait_for("/4-binding done"));
  EXPECT_THAT(journal.lines(), ElementsAre("/block done", "/1-nomination done", "/2-event done",
                                           "/3-claim done", "/4-binding done"));
}

TEST_F(WriteQueueTest, WhatIsHeldUpEndsWhenTheQueueStops) {
  status = [&](const Received&) {
    hold_while_closed(open);
    return 200;
  };
  for (const char* path : {"/a1", "/a2"}) add_in_order(path, "a");
  ASSERT_TRUE(server_->wait_for("/a1", 1));
  queue_->stop();
  EXPECT_TRUE(journal.wait_for("/a2 failed"));
  open = true;
  EXPECT_TRUE(journal.wait_for("/a1 done"));
  while (!queue_->is_empty()) std::this_thread::sleep_for(1ms);  // its place is given back last
}

TEST_F(WriteQueueTest, WhatIsSupersededIsNotTriedAgain) {
  status = [](const Received&) { return 503; };
  std::atomic<bool> superseded{false};
  add("/old", "key", [&] { return superseded.load(); });
  ASSERT_TRUE(server_->wait_for("/old", 3)) << "until then it is";
  superseded = true;
  ASSERT_TRUE(journal.wait_for("/old done"));
  EXPECT_TRUE(queue_->drain(10s));
  EXPECT_TRUE(queue_->is_empty());
}

}  // namespace
}  // namespace plimsoll::informer
