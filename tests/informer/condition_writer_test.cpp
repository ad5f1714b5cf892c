// Conditions against a scripted API server: the newest word wins, and none that is not true any
// more.

#include "informer/write/condition_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "informer/write/write_bodies.hpp"
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
using test::kGetCall;
using test::Received;
using test::some_bind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

TEST_F(ApiWriterTest, NewerConditionsTakeThePlaceOfOlderOnesInTheQueue) {
  options.in_flight = {1, 1, 1, 1};
  options.timeout = 10min;  // the first request is held while all others are queued
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

// While the server is away every attempt at a pod has one more patch to write: only the newest is
// tried on.
TEST_F(ConditionTest, AnOutageLeavesOnePatchPerPod) {
  options.tries = 2;  // then it waits without a place among those under way
  std::atomic<bool> away{true};
  std::mutex mutex;
  std::string last;  // what the server was told
  start([&](int, const Received& request, Exchange& exchange) {
    if (!away) {
      const std::lock_guard lock(mutex);
      last = json::parse(request.body)["status"]["conditions"][0]["message"];
    }
    exchange.reply(away ? 503 : 200, "{}");
  });
  constexpr int kRounds = 20;
  Journal journal;
  for (int round = 0; round < kRounds; ++round) {
    const std::string message = std::to_string(round);
    writer_->patch_condition({"ns", "pod", "u", "7", "Unschedulable", message, 0, false, ""},
                             [&, message](const Result<void>& done) {
                               journal.add((done ? "done " : "failed ") + message + ".");
                             });
    ASSERT_TRUE(server_->wait_for("PATCH", 3 * static_cast<std::size_t>(round + 1)));
  }
  ASSERT_TRUE(journal.wait_for("done", kRounds - 1)) << "though the server is still away";
  EXPECT_FALSE(writer_->all_ended()) << "the newest goes on";
  away = false;
  ASSERT_TRUE(journal.wait_for("done 19.", 1));
  EXPECT_TRUE(writer_->drain(10s));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(last, "19");
  EXPECT_EQ(journal.lines().size(), static_cast<std::size_t>(kRounds));
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

// What room is kept for whom does not wait behind what people read; a nomination that was taken
// back while it waited is never written, and an older condition does not follow a newer one.
TEST_F(ConditionTest, NominationsGoAheadAndTheNewestCounts) {
  options.in_flight = {1, 1, 1, 1};
  std::atomic<bool> open{false};
  start([&](int, const Received&, Exchange& exchange) {
    while (!open) std::this_thread::sleep_for(1ms);
    exchange.reply(200, "{}");
  });
  Journal journal;
  const auto patch_pod = [&](const std::string& name, const std::string& message, bool nominated,
                             const std::string& node = "") {
    const std::string reason = message.empty() ? "" : "Unschedulable";
    writer_->patch_condition({"ns", name, name, "7", reason, message, 0, nominated, node},
                             [&, name](const Result<void>&) { journal.add(name); });
  };
  patch_pod("first", "none fits", false);
  ASSERT_TRUE(server_->wait_for("/first/status", 1));
  patch_pod("plain", "none fits", false);
  patch_pod("a", "older", false);
  patch_pod("a", "none fits", true, "n");
  patch_pod("b", "none fits b", true, "m");
  patch_pod("b", "", true, "n");
  patch_pod("a", "none fits at all", true);
  open = true;
  EXPECT_TRUE(journal.wait_for("plain", 1));
  const auto seen = server_->received();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_TRUE(seen[1].asks("/a/status"));
  const json status = json::parse(seen[1].body)["status"];
  EXPECT_TRUE(status.contains("nominatedNodeName") && status["nominatedNodeName"].is_null());
  EXPECT_EQ(status["conditions"][0]["message"], "none fits at all");
  EXPECT_TRUE(seen[2].asks("/b/status"));
  const json renominated = json::parse(seen[2].body)["status"];
  EXPECT_EQ(renominated["nominatedNodeName"], "n");
  EXPECT_EQ(renominated["conditions"][0]["message"], "none fits b") << "it is still true";
  EXPECT_TRUE(seen[3].asks("/plain/status"));
  EXPECT_THAT(journal.lines(), ElementsAre("a", "b", "a", "first", "a", "b", "plain"));
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

}  // namespace
}  // namespace plimsoll::informer
