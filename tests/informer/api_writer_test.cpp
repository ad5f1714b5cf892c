// Writes against a scripted API server: bodies, retries by kind of error, lost answers, separate
// queues.

#include "informer/api_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/informer/http_fixture.hpp"
#include "tests/informer/scripted_server.hpp"

namespace plimsoll::informer {
namespace {

using nlohmann::json;
using test::Exchange;
using test::Journal;
using test::Received;
using test::ScriptedServer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

BindRequest some_bind() {
  return {"ns", "pod", "uid-1", "node-a", {{"alloc", R"({"gpu":[0]})"}}};
}

std::string pod(const std::string& uid, const std::string& node, const std::string& alloc) {
  return json{{"metadata", {{"uid", uid}, {"annotations", {{"alloc", alloc}}}}},
              {"spec", {{"nodeName", node}}}}
      .dump();
}

class ApiWriterTest : public ::testing::Test {
 protected:
  using Answer = std::function<void(int call, const Received&, Exchange&)>;

  void start(Answer answer) {
    answer_ = std::move(answer);
    server_ = std::make_unique<ScriptedServer>([this](const Received& request, Exchange& exchange) {
      answer_(++calls_, request, exchange);
    });
    binds_ = test::client_for(server_->url());
    others_ = test::client_for(server_->url());
    options.first_delay = 10ms;
    options.max_delay = 40ms;
    options.reporting_instance = "plimsoll-host";
    writer_ = std::make_unique<ServerWriter>(*binds_, *others_, options);
  }

  void TearDown() override {
    if (writer_) writer_->stop();
    if (binds_) binds_->stop();
    if (others_) others_->stop();
    if (server_) server_->stop();
  }

  Result<void> bind(BindRequest request = some_bind()) {
    std::promise<Result<void>> promise;
    writer_->bind(std::move(request),
                  [&](Result<void> done) { promise.set_value(std::move(done)); });
    return promise.get_future().get();
  }

  Result<HttpResponse> send(WriteClass write_class, HttpRequest request) {
    std::promise<Result<HttpResponse>> promise;
    writer_->send(write_class, std::move(request),
                  [&](Result<HttpResponse> done) { promise.set_value(std::move(done)); });
    return promise.get_future().get();
  }

  // What was asked, as "METHOD target".
  [[nodiscard]] std::vector<std::string> asked() const {
    std::vector<std::string> lines;
    for (const Received& request : server_->received()) {
      lines.push_back(request.method + " " + request.target);
    }
    return lines;
  }

  WriteOptions options;
  Answer answer_;
  std::atomic<int> calls_{0};
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<HttpClient> binds_, others_;
  std::unique_ptr<ServerWriter> writer_;
};

const std::string kBindCall = "POST /api/v1/namespaces/ns/pods/pod/binding";
const std::string kGetCall = "GET /api/v1/namespaces/ns/pods/pod";

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
  for (int i = 0; i < 5; ++i) writer_->record_event(event);
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

TEST_F(ApiWriterTest, NewerConditionsTakeThePlaceOfOlderOnesInTheQueue) {
  options.in_flight = {1, 1, 1, 1};
  std::atomic<bool> open{false};
  start([&](int, const Received&, Exchange& exchange) {
    while (!open) std::this_thread::sleep_for(1ms);
    exchange.reply(200, "{}");
  });
  constexpr int kPods = 300;
  constexpr int kRounds = 100;
  std::atomic<int> heard{0};
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kPods; ++i) {
      const std::string name = "p" + std::to_string(i);
      ConditionPatch patch;
      patch.ns = "ns";
      patch.name = name;
      patch.uid = name;
      patch.reason = "Unschedulable";
      patch.message = std::to_string(round);
      writer_->patch_condition(patch, [&](const Result<void>&) { ++heard; });
    }
    if (round == 0) {
      ASSERT_TRUE(server_->wait_for("/pods/p0/status", 1));
    }
  }
  EXPECT_EQ(heard, (kRounds - 1) * kPods - 1) << "the first one of p0 is under way";
  open = true;
  EXPECT_TRUE(server_->wait_for("/status", kPods + 1));
  const auto seen = server_->received();
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(kPods) + 1);
  for (std::size_t i = 1; i < seen.size(); ++i) {
    const std::string name = i < kPods ? "p" + std::to_string(i) : "p0";
    EXPECT_TRUE(seen[i].asks("/" + name + "/status")) << "in the order of their places";
    EXPECT_EQ(json::parse(seen[i].body)["status"]["conditions"][0]["message"], "99");
  }
  TearDown();
}

TEST_F(ApiWriterTest, ConditionsAreStrategicMergePatches) {
  start([](int, const Received&, Exchange& exchange) { exchange.reply(200, "{}"); });
  std::promise<Result<void>> promise;
  writer_->patch_condition(
      {"ns", "pod", "u", "7", "Unschedulable", "0/1 nodes are available", 3, true, ""},
      [&](Result<void> done) { promise.set_value(std::move(done)); });
  ASSERT_TRUE(promise.get_future().get());
  const Received seen = server_->received().at(0);
  EXPECT_EQ(seen.method + " " + seen.target, "PATCH /api/v1/namespaces/ns/pods/pod/status");
  EXPECT_EQ(seen.header("Content-Type"), "application/strategic-merge-patch+json");
  json body = json::parse(seen.body);
  EXPECT_EQ(body["metadata"], json::parse(R"({"uid":"u","resourceVersion":"7"})"));
  EXPECT_EQ(body["status"]["nominatedNodeName"], nullptr);
  json& condition = body["status"]["conditions"][0];
  EXPECT_THAT(condition["lastTransitionTime"].get<std::string>(),
              AllOf(StartsWith("20"), EndsWith("Z")));
  condition.erase("lastTransitionTime");
  EXPECT_EQ(condition, json::parse(R"({"type":"PodScheduled","status":"False",
      "reason":"Unschedulable","message":"0/1 nodes are available","lastProbeTime":null,
      "observedGeneration":3})"));
}

TEST(ConditionBody, SaysOnlyWhatChanges) {
  const auto body = [](const ConditionPatch& patch) {
    return json::parse(condition_body(patch, std::chrono::system_clock::time_point()));
  };
  ConditionPatch nomination{"ns", "pod", "u", "7", "", "", 3, true, "n"};
  EXPECT_EQ(body(nomination), json::parse(R"({"metadata":{"uid":"u","resourceVersion":"7"},
      "status":{"nominatedNodeName":"n"}})"))
      << "no condition";
  ConditionPatch still{"ns", "pod", "u", "7", "Unschedulable", "none fits", 0, false, ""};
  EXPECT_EQ(body(still)["status"]["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
  still.stays_false = true;
  EXPECT_EQ(body(still)["status"], json::parse(R"({"conditions":[{"type":"PodScheduled",
      "status":"False","reason":"Unschedulable","message":"none fits","lastProbeTime":null}]})"))
      << "the API server keeps the time of the last transition";
}

// An API server's pod: a patch of another version than its own is refused.
class ConditionTest : public ApiWriterTest {
 protected:
  void start_with_pod() {
    start([this](int, const Received& request, Exchange& exchange) {
      if (request.method == "GET") {
        exchange.reply(gone ? 404 : 200,
                       json{{"metadata", {{"uid", uid.load()}, {"resourceVersion", version()}}},
                            {"spec", {{"nodeName", bound ? "node-a" : ""}}}}
                           .dump());
      } else if (request.method == "PATCH") {
        if (moving) ++number;
        const json metadata = json::parse(request.body)["metadata"];
        const bool same = metadata["uid"] == uid.load() && !gone &&
                          metadata.value("resourceVersion", version()) == version();
        if (same) ++number;
        exchange.reply(same ? 200 : 409, R"({"message":"the object has been modified"})");
      } else {
        exchange.reply(201, "{}");
      }
    });
  }

  [[nodiscard]] std::string version() const { return std::to_string(number); }

  // A patch by somebody who saw version 7.
  Result<void> patch() {
    std::promise<Result<void>> promise;
    writer_->patch_condition({"ns", "pod", "u", "7", "Unschedulable", "none fits", 0, false, ""},
                             [&](Result<void> done) { promise.set_value(std::move(done)); });
    return promise.get_future().get();
  }

  std::atomic<const char*> uid{"u"};
  std::atomic<int> number{7};
  std::atomic<bool> bound{false}, gone{false}, moving{false};
};

const std::string kPatchCall = "PATCH /api/v1/namespaces/ns/pods/pod/status";

TEST_F(ConditionTest, APodThatHasChangedIsLookedAtAgain) {
  start_with_pod();
  number = 9;
  EXPECT_TRUE(patch());
  EXPECT_THAT(asked(), ElementsAre(kPatchCall, kGetCall, kPatchCall));
  EXPECT_EQ(json::parse(server_->received()[2].body)["metadata"]["resourceVersion"], "9");
  TearDown();
}

TEST_F(ConditionTest, ABoundPodIsNotToldThatItCannotBePlaced) {
  start_with_pod();
  number = 9;
  bound = true;
  EXPECT_TRUE(patch());
  EXPECT_THAT(asked(), ElementsAre(kPatchCall, kGetCall));
  TearDown();
}

TEST_F(ConditionTest, NobodyIsToldWhatWasMeantForAnotherPod) {
  start_with_pod();
  uid = "u2";
  EXPECT_TRUE(patch());
  gone = true;
  EXPECT_TRUE(patch());
  EXPECT_THAT(asked(), ElementsAre(kPatchCall, kGetCall, kPatchCall, kGetCall));
  TearDown();
}

TEST_F(ConditionTest, APodThatAlwaysChangesIsGivenUp) {
  start_with_pod();
  moving = true;
  const auto done = patch();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kConflict);
  EXPECT_EQ(server_->count("PATCH"), 6u);
  TearDown();
}

TEST_F(ConditionTest, AnOutageCostsNoPodItsReason) {
  start([](int number, const Received&, Exchange& exchange) {
    exchange.reply(number < 12 ? 503 : 200, "{}");
  });
  EXPECT_TRUE(patch());
  EXPECT_GE(server_->count("PATCH"), 12u);
  TearDown();
}

TEST_F(ConditionTest, WhatIsNoPodIsAnError) {
  start([](int, const Received& request, Exchange& exchange) {
    exchange.reply(request.method == "GET" ? 200 : 409, "<html>");
  });
  const auto done = patch();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("ns/pod"), HasSubstr("no pod")));
}

TEST_F(ConditionTest, ABindDropsTheConditionsThatWait) {
  options.in_flight = {1, 1, 1, 1};
  std::atomic<bool> open{false};
  start([&](int, const Received& request, Exchange& exchange) {
    while (request.method == "PATCH" && !open) std::this_thread::sleep_for(1ms);
    exchange.reply(request.asks("/first/") ? 409 : 200, "{}");
  });
  Journal journal;
  const auto patch_pod = [&](const std::string& name, const std::string& id, bool nominated) {
    writer_->patch_condition(
        {"ns", name, id, "7", "Unschedulable", "none fits", 0, nominated, ""},
        [&, name](const Result<void>& done) { journal.add(name + (done ? " done" : " failed")); });
  };
  patch_pod("first", "u1", false);
  ASSERT_TRUE(server_->wait_for("/first/status", 1));
  patch_pod("second", "u2", false);
  patch_pod("second", "u2", true);
  patch_pod("third", "u3", false);
  for (const char* id : {"u1", "u2"}) {
    BindRequest request = some_bind();
    request.uid = id;
    EXPECT_TRUE(bind(request));
  }
  EXPECT_THAT(journal.lines(), ElementsAre("second done", "second done"));
  patch_pod("second", "u2", false);  // the bind has failed since, say
  open = true;
  EXPECT_TRUE(journal.wait_for("second done", 3));
  EXPECT_THAT(journal.lines(),
              ElementsAre("second done", "second done", "first done", "third done", "second done"));
  EXPECT_EQ(server_->count("/second/status"), 1u);
  EXPECT_EQ(server_->count("GET"), 0u) << "the one under way is not tried again";
  TearDown();
}

// An older patch that met a conflict does not come back over a newer one.
TEST_F(ConditionTest, TheNewestConditionWins) {
  std::atomic<bool> open{false};
  start([&](int, const Received& request, Exchange& exchange) {
    const bool old = request.body.find("\"old\"") != std::string::npos;
    while (old && !open) std::this_thread::sleep_for(1ms);
    exchange.reply(old ? 409 : 200, "{}");
  });
  std::promise<Result<void>> older;
  writer_->patch_condition({"ns", "pod", "u", "7", "Unschedulable", "old", 0, false, ""},
                           [&](Result<void> done) { older.set_value(std::move(done)); });
  ASSERT_TRUE(server_->wait_for("PATCH", 1));
  std::promise<Result<void>> newer;
  writer_->patch_condition({"ns", "pod", "u", "8", "Unschedulable", "new", 0, false, ""},
                           [&](Result<void> done) { newer.set_value(std::move(done)); });
  ASSERT_TRUE(server_->wait_for("PATCH", 2));
  open = true;
  EXPECT_TRUE(newer.get_future().get());
  EXPECT_TRUE(older.get_future().get());
  EXPECT_EQ(server_->received().size(), 2u);
  TearDown();
}

TEST_F(ApiWriterTest, EventsHaveTheirFields) {
  start([](int, const Received&, Exchange& exchange) { exchange.reply(201, "{}"); });
  EventRecord event;
  event.warning = true;
  event.ns = "ns";
  event.name = "pod";
  event.uid = "u";
  event.resource_version = "7";
  event.scheduler_name = "topo";
  event.reason = "FailedScheduling";
  event.action = "Scheduling";
  event.note = "0/3 nodes are available";
  writer_->record_event(event);
  ASSERT_TRUE(server_->wait_for("POST /apis/events.k8s.io/v1/namespaces/ns/events", 1));
  json body = json::parse(server_->received()[0].body);
  EXPECT_THAT(body["metadata"]["name"].get<std::string>(), StartsWith("pod."));
  EXPECT_EQ(body["eventTime"].get<std::string>().size(),
            std::string("2026-01-02T03:04:05.123456Z").size());
  body.erase("metadata");
  body.erase("eventTime");
  EXPECT_EQ(body, json::parse(R"({"apiVersion":"events.k8s.io/v1","kind":"Event",
      "reportingController":"topo","reportingInstance":"plimsoll-host","action":"Scheduling",
      "reason":"FailedScheduling","note":"0/3 nodes are available","type":"Warning",
      "regarding":{"apiVersion":"v1","kind":"Pod","namespace":"ns","name":"pod","uid":"u",
                   "resourceVersion":"7"}})"));
}

TEST(WriteBodies, NotesAndNamesAreCut) {
  EventRecord event;
  event.name = std::string(253, 'n');
  event.note = std::string(1019, 'x') + "éé" + std::string(100, 'y');
  const json body = json::parse(event_body(event, "i", std::chrono::system_clock::now()));
  const auto note = body["note"].get<std::string>();
  EXPECT_EQ(note, std::string(1019, 'x') + " ...") << "not in the middle of a character";
  EXPECT_LE(body["metadata"]["name"].get<std::string>().size(), 253u);
  EXPECT_EQ(body["metadata"]["namespace"], "default");
  event.note = std::string(1024, 'x');
  const json whole = json::parse(event_body(event, "i", std::chrono::system_clock::now()));
  EXPECT_EQ(whole["note"], event.note);
  event.note = "bad \xff byte";
  EXPECT_FALSE(json::parse(event_body(event, "i", {}), nullptr, false).is_discarded());
}

TEST_F(ApiWriterTest, DeletesNameTheUid) {
  std::atomic<int> status{200};
  start([&](int, const Received&, Exchange& exchange) { exchange.reply(status, "{}"); });
  const auto erase = [&] {
    std::promise<Result<void>> promise;
    writer_->delete_pod("ns", "pod", "u", [&](Result<void> r) { promise.set_value(std::move(r)); });
    return promise.get_future().get();
  };
  EXPECT_TRUE(erase());
  EXPECT_EQ(json::parse(server_->received()[0].body)["preconditions"]["uid"], "u");
  status = 404;
  EXPECT_TRUE(erase()) << "already gone";
  status = 409;
  EXPECT_EQ(erase().error().code, ErrorCode::kConflict);
  TearDown();
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
  for (int i = 0; i < 20; ++i) writer_->record_event(event);
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
