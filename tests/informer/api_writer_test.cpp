// Writes against a scripted API server: bodies, retries by kind of error, lost answers, separate
// queues.

#include "informer/write/api_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/informer/http_fixture.hpp"
#include "tests/informer/scripted_server.hpp"
#include "tests/informer/writer_fixture.hpp"

namespace plimsoll::informer {
namespace {

using nlohmann::json;
using test::ApiWriterTest;
using test::ConditionTest;
using test::Exchange;
using test::Journal;
using test::kBindCall;
using test::kGetCall;
using test::pod;
using test::Received;
using test::some_bind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST_F(ApiWriterTest, ABindIsOneWrite) {
  start([](int, const Received&, Exchange& exchange) { exchange.reply(201, "{}"); });
  EXPECT_TRUE(bind());
  EXPECT_THAT(asked(), ElementsAre(kBindCall));
  const json body = json::parse(server_->received()[0].body);
  EXPECT_EQ(body, json::parse(R"({"apiVersion":"v1","kind":"Binding",
      "metadata":{"namespace":"ns","name":"pod","uid":"uid-1",
                  "annotations":{"alloc":"{\"gpu\":[0]}"}},
      "target":{"apiVersion":"v1","kind":"Node","name":"node-a"}})"));
  EXPECT_EQ(writer_->stats().done[0], 1u);
}

// A pod without a node, in a version.
std::string waiting(const std::string& version, bool deleting = false) {
  json metadata = {{"uid", "uid-1"}, {"resourceVersion", version}};
  if (deleting) metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  return json{{"metadata", metadata}, {"spec", json::object()}}.dump();
}

BindRequest bind_version(const std::string& version) {
  BindRequest request = some_bind();
  request.resource_version = version;
  return request;
}

std::string version_in(const Received& request) {
  return json::parse(request.body)["metadata"].value("resourceVersion", "");
}

constexpr const char* kModified = R"({"message":"ResourceVersion in precondition"})";

TEST_F(ApiWriterTest, ABindHoldsForOneVersionAndIsSentAgainForTheNext) {
  start([](int, const Received& request, Exchange& exchange) {
    if (request.method == "GET") {
      exchange.reply(200, waiting("8"));
    } else {
      exchange.reply(version_in(request) == "8" ? 201 : 409, kModified);
    }
  });
  const auto done = bind(bind_version("7"));
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_THAT(asked(), ElementsAre(kBindCall, kGetCall, kBindCall));
  EXPECT_EQ(version_in(server_->received()[0]), "7");
}

TEST_F(ApiWriterTest, ABindOfAPodThatIsBeingDeletedOrKeepsChangingFails) {
  std::atomic<bool> deleting{true};
  std::atomic<int> version{8};
  start([&](int, const Received& request, Exchange& exchange) {
    if (request.method == "GET") {
      exchange.reply(200, waiting(std::to_string(++version), deleting));
    } else {
      exchange.reply(409, kModified);
    }
  });
  const auto gone = bind(bind_version("7"));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kConflict);
  EXPECT_THAT(asked(), ElementsAre(kBindCall, kGetCall));
  deleting = false;
  const auto restless = bind(bind_version("7"));
  ASSERT_FALSE(restless);
  EXPECT_EQ(restless.error().code, ErrorCode::kConflict);
  EXPECT_EQ(server_->count("POST"), 1u + 6u);
  TearDown();
}

// It may yet be carried out, so its place is given away only when it cannot be any more.
TEST_F(ApiWriterTest, ABindIsGivenUpOnlyWhenNoTryOfItCanBeCarriedOut) {
  std::atomic<int> posts{0};
  std::atomic<bool> touched{false};
  start([&](int, const Received& request, Exchange& exchange) {
    if (request.method == "GET") {
      exchange.reply(200, waiting(touched ? "8" : "7"));
    } else if (request.method == "PATCH") {
      EXPECT_EQ(version_in(request), "7");
      touched = true;
      exchange.reply(200, "{}");
    } else {
      exchange.reply(++posts == 1 ? 504 : 403, "{}");
    }
  });
  const auto done = bind(bind_version("7"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnauthorized);
  EXPECT_TRUE(touched);
  EXPECT_EQ(posts, 2);
  TearDown();
}

class VoidBindingsTest : public ApiWriterTest {
 protected:
  static std::vector<PodVersion> pods(std::size_t count) {
    std::vector<PodVersion> pods;
    for (std::size_t i = 0; i < count; ++i) {
      pods.push_back({"ns", "p" + std::to_string(i), "u", "7"});
    }
    return pods;
  }
  void void_bindings(std::vector<PodVersion> pods) {
    writer_->void_bindings(std::move(pods), "one of a kind", [this] { done_.set_value(); });
  }
  std::promise<void> done_;
};

TEST_F(VoidBindingsTest, EveryPodIsTouchedUntilThereIsAnAnswer) {
  constexpr std::size_t kPods = 200;
  start([](int call, const Received&, Exchange& exchange) {
    const int statuses[] = {200, 404, 409, 422, 503, 429};
    if (call % 7 == 6) return exchange.cut();
    exchange.reply(statuses[call % 7], "{}");
  });
  void_bindings(pods(kPods));
  done_.get_future().get();
  std::map<std::string, int> tries;
  for (const Received& request : server_->received()) ++tries[request.target];
  EXPECT_EQ(tries.size(), kPods);
  EXPECT_GT(server_->received().size(), kPods);
  const Received first = server_->received()[0];
  EXPECT_EQ(first.method, "PATCH");
  const json body = json::parse(first.body);
  EXPECT_EQ(body["metadata"], (json{{"uid", "u"}, {"resourceVersion", "7"}}));
  EXPECT_EQ(body["status"]["conditions"][0]["message"], "one of a kind");
  EXPECT_NE(body["status"]["conditions"][0]["type"], "PodScheduled");
  TearDown();
}

TEST_F(VoidBindingsTest, WithoutTheRightNothingIsCertain) {
  std::atomic<bool> allowed{false};
  start(
      [&](int, const Received&, Exchange& exchange) { exchange.reply(allowed ? 200 : 403, "{}"); });
  void_bindings(pods(1));
  ASSERT_TRUE(server_->wait_for("/status", 2));
  auto done = done_.get_future();
  EXPECT_EQ(done.wait_for(0s), std::future_status::timeout);
  allowed = true;
  done.get();
  TearDown();
}

TEST_F(VoidBindingsTest, AStopEndsIt) {
  start([](int, const Received&, Exchange& exchange) { exchange.reply(503, "{}"); });
  void_bindings(pods(100));
  ASSERT_TRUE(server_->wait_for("/status", 20));
  TearDown();
  EXPECT_EQ(done_.get_future().wait_for(0s), std::future_status::timeout);
}

TEST_F(VoidBindingsTest, NoPodsNeedNoWrite) {
  start([](int, const Received&, Exchange& exchange) { exchange.reply(200, "{}"); });
  void_bindings({});
  done_.get_future().get();
  EXPECT_TRUE(asked().empty());
}

TEST_F(ApiWriterTest, ABindWhoseAnswerWasLostIsASuccess) {
  start([](int call, const Received& request, Exchange& exchange) {
    if (request.method == "GET") {
      exchange.reply(200, pod("uid-1", "node-a", R"({"gpu":[0]})"));
    } else if (call == 1) {
      exchange.cut();  // it was carried out, but the answer never came
    } else {
      exchange.reply(409, R"({"message":"pod pod is already assigned to node \"node-a\""})");
    }
  });
  const auto done = bind();
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_THAT(asked().back(), kGetCall);
  EXPECT_EQ(writer_->stats().binds_recovered, 1u);
}

TEST_F(ApiWriterTest, AConflictIsOnlyASuccessIfThePodIsAsAsked) {
  const std::string wrong[] = {pod("uid-2", "node-a", R"({"gpu":[0]})"),
                               pod("uid-1", "node-b", R"({"gpu":[0]})"),
                               pod("uid-1", "node-a", R"({"gpu":[1]})")};
  std::atomic<std::size_t> which{0};
  start([&](int, const Received& request, Exchange& exchange) {
    if (request.method == "GET") {
      exchange.reply(200, wrong[which]);
    } else {
      exchange.reply(409, R"({"message":"the UID in the precondition differs"})");
    }
  });
  for (which = 0; which < std::size(wrong); ++which) {
    const auto done = bind();
    ASSERT_FALSE(done) << wrong[which];
    EXPECT_EQ(done.error().code, ErrorCode::kConflict);
    EXPECT_THAT(done.error().message,
                AllOf(HasSubstr("binding pod ns/pod to node node-a"), HasSubstr("UID in the")));
  }
  EXPECT_EQ(server_->count("POST"), std::size(wrong)) << "a conflict is not tried again";
  TearDown();
}

// Far more troubles than any other write is tried for: giving up would hand the place to another
// pod while this one may be bound.
TEST_F(ApiWriterTest, ABindIsTriedUntilItIsAnswered) {
  constexpr int kTroubles = 25;
  start([](int call, const Received&, Exchange& exchange) {
    if (call > kTroubles) {
      exchange.reply(201, "{}");
    } else if (call % 4 == 0) {
      exchange.cut();
    } else {
      const int statuses[] = {429, 500, 503};
      exchange.reply(statuses[call % 4 - 1], "{}");
    }
  });
  const auto done = bind();
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_THAT(asked(), ::testing::AllOf(::testing::SizeIs(kTroubles + 1),
                                        ::testing::Each(std::string(kBindCall))));
}

TEST_F(ApiWriterTest, TheLookAtAPodIsTriedUntilItIsAnswered) {
  std::atomic<int> looks{0};
  start([&](int call, const Received& request, Exchange& exchange) {
    if (request.method == "POST") {
      call == 1 ? exchange.cut() : (void)exchange.reply(409, "{}");
      return;
    }
    const int look = ++looks;
    if (look > 24) {
      exchange.reply(200, pod("uid-1", "node-a", R"({"gpu":[0]})"));
    } else if (look % 6 == 0) {
      exchange.cut();
    } else {
      const int statuses[] = {500, 429, 403, 200, 200};
      exchange.reply(statuses[look % 6 - 1], look % 6 == 4 ? "no json" : "{}");
    }
  });
  const auto done = bind();
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(looks, 25);
  EXPECT_EQ(writer_->stats().binds_recovered, 1u);
  TearDown();
}

// The first try was carried out, then the server came back and refuses what it is asked.
TEST_F(ApiWriterTest, ARefusalAfterALostAnswerIsLookedInto) {
  std::atomic<int> status{0};
  std::atomic<bool> carried_out{true};
  std::atomic<int> posts{0};
  start([&](int, const Received& request, Exchange& exchange) {
    if (request.method == "GET") {
      exchange.reply(200, pod("uid-1", carried_out ? "node-a" : "", R"({"gpu":[0]})"));
    } else if (++posts % 2 == 1) {
      exchange.reply(504, "{}");
    } else {
      exchange.reply(status, R"({"message":"no"})");
    }
  });
  for (const int refusal : {400, 401, 403, 422}) {
    status = refusal;
    carried_out = true;
    EXPECT_TRUE(bind()) << refusal;
    carried_out = false;
    const auto done = bind();
    ASSERT_FALSE(done) << refusal;
    EXPECT_NE(done.error().code, ErrorCode::kConflict) << refusal;
  }
  status = 404;
  const auto gone = bind();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
  TearDown();
}

TEST_F(ApiWriterTest, APodThatIsGoneIsAConflict) {
  start([](int, const Received& request, Exchange& exchange) {
    exchange.reply(request.method == "GET" ? 404 : 409, "{}");
  });
  const auto done = bind();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kConflict);
}

TEST_F(ApiWriterTest, BindsWithoutAnAnswerDoNotStopOthersForEver) {
  options.in_flight = {2, 1, 1, 1};
  start([](int, const Received& request, Exchange& exchange) {
    exchange.reply(request.asks("/stuck/") ? 500 : 201, "{}");
  });
  Journal journal;
  for (int i = 0; i < 4; ++i) {
    BindRequest stuck = some_bind();
    stuck.name = "stuck";
    writer_->bind(stuck, [&](const Result<void>& done) {
      journal.add(!done && done.error().code == ErrorCode::kCancelled ? "cancelled" : "other");
    });
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(bind());
  EXPECT_TRUE(server_->wait_for("/stuck/", 30)) << "and they are still tried";
  EXPECT_TRUE(journal.lines().empty());
  writer_->stop();
  TearDown();
  EXPECT_EQ(journal.lines(), std::vector<std::string>(4, "cancelled"));
}

TEST_F(ApiWriterTest, ErrorsAreRetriedByKind) {
  struct Case {
    int status;
    std::size_t tries;
    ErrorCode code;
  };
  const Case cases[] = {
      {500, 5, ErrorCode::kUnavailable}, {503, 5, ErrorCode::kUnavailable},
      {504, 5, ErrorCode::kUnavailable}, {429, 10, ErrorCode::kThrottled},
      {400, 1, ErrorCode::kInvalid},     {403, 1, ErrorCode::kUnauthorized},
      {404, 1, ErrorCode::kNotFound},    {422, 1, ErrorCode::kInvalid},
  };
  std::atomic<int> status{0};
  start([&](int, const Received&, Exchange& exchange) { exchange.reply(status, "{}"); });
  std::size_t before = 0;
  const auto expect = [&](const Case& c, const Error& error) {
    EXPECT_EQ(error.code, c.code) << c.status;
    EXPECT_EQ(asked().size() - before, c.tries) << c.status;
    before = asked().size();
  };
  for (const Case& c : cases) {
    status = c.status;
    HttpRequest request;
    request.path = "/api/v1/namespaces/a/things/b";
    const auto sent = send(WriteClass::kOther, request);
    ASSERT_FALSE(sent);
    expect(c, sent.error());
    if (c.tries > 1) continue;
    const auto bound = bind();
    ASSERT_FALSE(bound);
    expect(c, bound.error());
  }
  TearDown();
}

TEST_F(ApiWriterTest, RetryAfterIsObeyed) {
  std::atomic<bool> early{false};
  std::chrono::steady_clock::time_point refused;
  start([&](int call, const Received&, Exchange& exchange) {
    if (call == 1) {
      refused = std::chrono::steady_clock::now();
      exchange.reply(429, R"({"details":{"retryAfterSeconds":1}})");
    } else {
      early = std::chrono::steady_clock::now() - refused < 950ms;
      exchange.reply(201, "{}");
    }
  });
  EXPECT_TRUE(bind());
  EXPECT_FALSE(early);
  EXPECT_EQ(writer_->stats().retried[0], 1u);
  TearDown();
}

TEST_F(ApiWriterTest, AnUnreachableServerIsGivenUpInTheEndButNotForABind) {
  start([](int, const Received&, Exchange&) {});
  server_->stop();
  std::promise<Result<void>> promise;
  writer_->bind(some_bind(), [&](Result<void> done) { promise.set_value(std::move(done)); });
  HttpRequest request;
  request.path = "/api/v1/namespaces/a/things/b";
  const auto sent = send(WriteClass::kOther, request);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(sent.error().message, AllOf(HasSubstr("GET /api"), HasSubstr("cannot reach")));
  while (writer_->stats().retried[0] < 20) std::this_thread::sleep_for(1ms);
  auto bound = promise.get_future();
  EXPECT_EQ(bound.wait_for(0s), std::future_status::timeout);
  writer_->stop();
  binds_->stop();
  const auto done = bound.get();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kCancelled);
}

TEST_F(ApiWriterTest, BindsDoNotWaitBehindEventsAndConditions) {
  options.in_flight = {4, 1, 1, 1};
  options.event_queue = 3;
  Journal journal;
  start([&](int, const Received& request, Exchange& exchange) {
    if (request.asks("/binding")) {
      exchange.reply(201, "{}");
    } else {
      exchange.hang(5s);
      exchange.cut();
    }
  });
  EventRecord event;
  event.ns = "ns";
  event.name = "pod";
  writer_->record_event(event);
  ASSERT_TRUE(server_->wait_for("/events", 1));
  for (int i = 0; i < 5; ++i) {
    event.name = "pod-" + std::to_string(i);
    writer_->record_event(event);
  }
  EXPECT_EQ(writer_->stats().events_dropped, 2u);
  ConditionPatch patch{"ns", "pod", "u", "7", "Unschedulable", "none fits", 0, false, ""};
  const auto note = [&](const Result<void>& done) { journal.add(done ? "done" : "failed"); };
  writer_->patch_condition(patch, note);
  ASSERT_TRUE(server_->wait_for("/status", 1));
  writer_->patch_condition(patch, note);  // waits
  writer_->patch_condition(patch, note);  // replaces it
  EXPECT_TRUE(journal.wait_for("done", 1));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(bind());
  EXPECT_EQ(server_->count("/events"), 1u);
  EXPECT_EQ(server_->count("/status"), 1u);
  TearDown();
  EXPECT_TRUE(journal.wait_for("failed", 2));
  EXPECT_EQ(journal.lines().size(), 3u) << "each is heard of once";
}

TEST_F(ApiWriterTest, AnyRequestCanBeSent) {
  start([](int, const Received& request, Exchange& exchange) {
    exchange.reply(request.method == "PUT" ? 409 : 200, R"({"message":"changed","x":1})");
  });
  HttpRequest request;
  request.path = "/apis/coordination.k8s.io/v1/namespaces/a/leases/b";
  auto answer = send(WriteClass::kOther, request);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->body, HasSubstr("\"x\":1"));
  request.method = "PUT";
  request.body = "{}";
  answer = send(WriteClass::kOther, request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kConflict);
  EXPECT_THAT(answer.error().message,
              AllOf(HasSubstr("PUT /apis/coordination"), HasSubstr("changed")));
}

TEST_F(ConditionTest, DrainWaitsForTheLastEventsAndConditions) {
  options.in_flight = {1, 1, 1, 1};
  start_with_pod();
  EXPECT_TRUE(writer_->drain(0ms)) << "nothing is waiting";
  number = 9;  // one more look and one more try
  writer_->patch_condition({"ns", "pod", "u", "7", "Unschedulable", "none fits", 0, false, ""},
                           nullptr);
  EventRecord event;
  event.ns = "ns";
  event.name = "pod";
  for (int i = 0; i < 20; ++i) {
    event.name = "pod-" + std::to_string(i);
    writer_->record_event(event);
  }
  EXPECT_TRUE(writer_->drain(10s));
  EXPECT_EQ(server_->count("/events"), 20u);
  EXPECT_EQ(server_->count("PATCH"), 2u);
  EXPECT_TRUE(bind());
  TearDown();
}

TEST_F(ApiWriterTest, DrainIsBounded) {
  start([](int, const Received& request, Exchange& exchange) {
    exchange.hang(request.asks("/events") ? 5s : 0s);
    exchange.reply(503, "{}");
  });
  EventRecord event;
  event.ns = "ns";
  event.name = "pod";
  writer_->bind(some_bind(), [](const Result<void>&) {});
  EXPECT_TRUE(writer_->drain(10s)) << "binds are not waited for";
  writer_->record_event(event);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_FALSE(writer_->drain(50ms));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 50ms);
  std::thread stopper([this] { writer_->stop(); });
  EXPECT_FALSE(writer_->drain(10s)) << "it is under way, but nobody waits for a stopped writer";
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  stopper.join();
}

// The deletions of a preemption count as much as the binds: after the lease is given back none may
// still be carried out.
TEST_F(ApiWriterTest, EveryClassOfWritesIsWaitedFor) {
  std::atomic<bool> open{false};
  start([&](int, const Received&, Exchange& exchange) {
    while (!open) std::this_thread::sleep_for(1ms);
    exchange.reply(200, "{}");
  });
  EXPECT_TRUE(writer_->all_ended());
  for (std::size_t i = 0; i < kWriteClasses; ++i) {
    const auto write_class = static_cast<WriteClass>(i);
    SCOPED_TRACE(i);
    open = false;
    HttpRequest request;
    request.method = "DELETE";
    request.path = "/some";
    std::promise<void> ended;
    writer_->send(write_class, request, [&](const Result<HttpResponse>&) { ended.set_value(); });
    EXPECT_FALSE(writer_->all_ended());
    if (write_class != WriteClass::kBind) {
      EXPECT_FALSE(writer_->drain(1ms));
    }
    open = true;
    ended.get_future().wait();
    EXPECT_TRUE(writer_->drain(10s));
    while (write_class == WriteClass::kBind && !writer_->all_ended()) std::this_thread::yield();
    EXPECT_TRUE(writer_->all_ended());
  }
  TearDown();
}

TEST_F(ApiWriterTest, StopAnswersEverybody) {
  options.in_flight = {2, 1, 1, 1};
  options.first_delay = 1h;
  options.max_delay = 1h;
  start([](int call, const Received&, Exchange& exchange) {
    if (call == 1) {
      exchange.reply(503, "{}");  // will be tried again in an hour
    } else {
      exchange.hang();
    }
  });
  Journal journal;
  for (int i = 0; i < 4; ++i) {
    writer_->bind(some_bind(), [&](const Result<void>& done) {
      journal.add(!done && done.error().code == ErrorCode::kCancelled ? "cancelled" : "other");
    });
    ASSERT_TRUE(server_->wait_for("POST", i < 2 ? static_cast<std::size_t>(i) + 1 : 2));
  }
  while (writer_->stats().retried[0] == 0) std::this_thread::sleep_for(1ms);
  writer_->stop();
  EXPECT_EQ(journal.lines().size(), 3u) << "two waited, one was to be sent again";
  binds_->stop();
  EXPECT_THAT(journal.lines(), ElementsAre("cancelled", "cancelled", "cancelled", "cancelled"));
  writer_->bind(some_bind(), [&](const Result<void>&) { journal.add("refused"); });
  EXPECT_EQ(journal.lines().back(), "refused");
}

}  // namespace
}  // namespace plimsoll::informer
