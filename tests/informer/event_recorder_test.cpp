// Events and their series: what is written when, on a clock of the test's own; and over HTTP.

#include "informer/write/event_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "tests/informer/http_fixture.hpp"
#include "tests/informer/scripted_server.hpp"
#include "tests/informer/writer_fixture.hpp"

namespace plimsoll::informer {
namespace {

using nlohmann::json;
using test::ApiWriterTest;
using test::Exchange;
using test::Received;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace std::chrono_literals;

EventRecord some_event(const std::string& pod = "pod") {
  EventRecord event;
  event.warning = true;
  event.ns = "ns";
  event.name = pod;
  event.uid = "u-" + pod;
  event.resource_version = "7";
  event.scheduler_name = "topo";
  event.reason = "FailedScheduling";
  event.action = "Scheduling";
  event.note = "0/3 nodes are available";
  return event;
}

// An API server that keeps event objects, on a clock that the test moves.
class EventRecorderTest : public ::testing::Test {
 protected:
  void record(const EventRecord& event) { recorder->record(event, now); }
  void pass(std::chrono::seconds time) {
    now += time;
    recorder->sweep(now);
  }

  void send(const HttpRequest& request, const EventRecorder::Answer& answer) {
    const std::string path = "/apis/events.k8s.io/v1/namespaces/ns/events";
    EXPECT_THAT(request.path, StartsWith(path));
    asked.push_back(request.method + " " + request.body);
    if (hold) return held.push_back([this, request, answer] { carry_out(request, answer); });
    carry_out(request, answer);
  }

  void carry_out(const HttpRequest& request, const EventRecorder::Answer& answer) {
    if (error) return answer(fail(*error));
    const json body = json::parse(request.body);
    if (request.method == "POST") {
      const std::string name = body["metadata"]["name"];
      if (objects.contains(name)) return answer(fail(ErrorCode::kConflict, "it exists"));
      objects[name] = body;
    } else {
      EXPECT_EQ(request.content_type, "application/strategic-merge-patch+json");
      const std::string name = request.path.substr(request.path.rfind('/') + 1);
      if (!objects.contains(name)) return answer(fail(ErrorCode::kNotFound, "no such event"));
      objects[name].merge_patch(body);
    }
    answer(HttpResponse{200, "{}", {}, {}});
  }

  void let_go() {
    hold = false;
    for (auto waiting = std::exchange(held, {}); auto& each : waiting) each();
  }

  // How often each object that there is has been seen.
  [[nodiscard]] std::vector<int> counts() const {
    std::vector<int> all;
    for (const auto& [name, object] : objects) {
      all.push_back(object.contains("series") ? object["series"]["count"].get<int>() : 1);
    }
    return all;
  }

  EventRecorderOptions options;
  std::chrono::system_clock::time_point now{std::chrono::hours(500'000)};
  std::map<std::string, json> objects;
  std::vector<std::string> asked;
  std::optional<Error> error;
  bool hold = false;
  std::vector<std::function<void()>> held;
  std::shared_ptr<EventRecorder> recorder = make();

  std::shared_ptr<EventRecorder> make() {
    return std::make_shared<EventRecorder>(
        options, [this](const EventWrite& write, const EventRecorder::Answer& answer) {
          send(write.request, answer);
        });
  }
};

TEST_F(EventRecorderTest, TheSecondOfItsKindMakesItASeries) {
  record(some_event());
  EXPECT_THAT(asked, ElementsAre(StartsWith("POST")));
  EXPECT_FALSE(json::parse(asked[0].substr(5)).contains("series"));
  pass(60s);
  record(some_event());
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(asked[1],
            R"(PATCH {"series":{"count":2,"lastObservedTime":"2027-01-15T08:01:00.000000Z"}})");
  EXPECT_THAT(counts(), ElementsAre(2));
}

TEST_F(EventRecorderTest, FurtherOnesAreCountedAndWrittenWhenTheSeriesEnds) {
  for (int i = 0; i < 5; ++i) {
    record(some_event());
    pass(300s);
  }
  EXPECT_THAT(asked, SizeIs(2));
  EXPECT_THAT(counts(), ElementsAre(2));
  pass(60s);
  EXPECT_THAT(asked, SizeIs(2)) << "six minutes are not over";
  pass(1s);
  EXPECT_THAT(asked, SizeIs(3));
  EXPECT_THAT(counts(), ElementsAre(5));
  EXPECT_EQ(recorder->remembered(), 0u);
  record(some_event());
  EXPECT_THAT(counts(), SizeIs(2)) << "the next one begins anew";
}

TEST_F(EventRecorderTest, ALongSeriesIsRefreshedEveryHalfHour) {
  for (int i = 0; i <= 120; ++i) {
    record(some_event());
    pass(60s);
  }
  EXPECT_THAT(counts(), SizeIs(1));
  EXPECT_EQ(counts()[0], 121);
  EXPECT_THAT(asked, SizeIs(2 + 4))
      << "created, a series after a minute, and then at 31, 61, 91, 121";
}

TEST_F(EventRecorderTest, WhatHappensOnceIsForgottenAfterSixMinutes) {
  record(some_event());
  pass(360s);
  EXPECT_EQ(recorder->remembered(), 1u);
  pass(1s);
  EXPECT_EQ(recorder->remembered(), 0u);
  EXPECT_THAT(asked, SizeIs(1));
  record(some_event());
  EXPECT_THAT(counts(), ElementsAre(1, 1));
}

TEST_F(EventRecorderTest, WhatTellsEventsApart) {
  record(some_event());
  EventRecord event = some_event();
  event.resource_version = "8";
  record(event);
  EXPECT_THAT(counts(), ElementsAre(2)) << "not the version";
  const auto differing = [&](const auto& change) {
    EventRecord other = some_event();
    change(other);
    record(other);
  };
  differing([](EventRecord& e) { e.warning = false; });
  differing([](EventRecord& e) { e.action = "Preempting"; });
  differing([](EventRecord& e) { e.reason = "Preempted"; });
  differing([](EventRecord& e) { e.scheduler_name = "other"; });
  differing([](EventRecord& e) { e.uid = "made again"; });
  differing([](EventRecord& e) { e.kind = "Lease"; });
  differing([](EventRecord& e) { e.note = "0/4 nodes are available"; });
  EXPECT_THAT(objects, SizeIs(8));
  EXPECT_EQ(recorder->remembered(), 8u);
}

// What `kubectl describe pod` shows last is the reason that holds.
TEST_F(EventRecorderTest, AnotherReasonIsAnotherEventAndTheNewestOneHasTheNewestTime) {
  EventRecord selector = some_event();
  EventRecord cpu = some_event();
  selector.note = "10 node(s) didn't match Pod's node affinity/selector";
  cpu.note = "1 Insufficient cpu, 9 node(s) didn't match Pod's node affinity/selector";
  const auto newest = [this] {
    const auto seen = [](const json& object) -> std::string {
      return object.contains("series") ? object["series"]["lastObservedTime"] : object["eventTime"];
    };
    json last = objects.begin()->second;
    for (const auto& [name, object] : objects) {
      if (seen(object) > seen(last)) last = object;
    }
    return last["note"].get<std::string>();
  };
  for (int i = 0; i < 4; ++i) {
    record(selector);
    EXPECT_EQ(newest(), selector.note);
    pass(2s);
    record(cpu);
    EXPECT_EQ(newest(), cpu.note);
    pass(2s);
  }
  EXPECT_THAT(counts(), ElementsAre(4, 4));
  const std::size_t written = asked.size();
  for (int i = 0; i < 5; ++i) record(cpu);
  EXPECT_THAT(asked, SizeIs(written)) << "the same reason is only counted";
}

// Somebody may make a pod's reason change at each try.
TEST_F(EventRecorderTest, NotesThatChangeAllTheTimeAreBounded) {
  EventRecord event = some_event();
  const auto fail_with = [&](int i) {
    event.note = "reason " + std::to_string(i);
    record(event);
  };
  for (int i = 0; i < 1000; ++i) fail_with(i);
  EXPECT_THAT(objects, SizeIs(options.most_notes));
  EXPECT_EQ(recorder->remembered(), options.most_notes);
  pass(60s);
  ASSERT_THAT(objects, SizeIs(options.most_notes + 1)) << "the newest one, and no other";
  EXPECT_EQ(recorder->remembered(), options.most_notes);
  std::set<std::string> notes;
  for (const auto& [name, object] : objects) notes.insert(object["note"]);
  EXPECT_TRUE(notes.contains("reason 999"));
  pass(60s);
  EXPECT_THAT(objects, SizeIs(options.most_notes + 1)) << "once";

  fail_with(1000);
  fail_with(999);
  pass(60s);
  EXPECT_THAT(objects, SizeIs(options.most_notes + 1)) << "1000 was not the last one";
  fail_with(1001);
  record(some_event("other"));
  EXPECT_THAT(objects, SizeIs(options.most_notes + 2)) << "another pod does not wait";
  pass(361s);
  pass(361s);
  EXPECT_EQ(recorder->remembered(), 0u);
  EXPECT_THAT(objects, SizeIs(options.most_notes + 3)) << "1001 was written, too";
}

TEST_F(EventRecorderTest, APodsBindingIsNotRemembered) {
  EventRecord event = some_event();
  event.warning = false;
  event.reason = "Scheduled";
  event.action = "Binding";
  record(event);
  EXPECT_THAT(objects, SizeIs(1));
  EXPECT_EQ(recorder->remembered(), 0u);
}

TEST_F(EventRecorderTest, ASeriesWaitsForItsFirstEvent) {
  hold = true;
  for (int i = 0; i < 5; ++i) record(some_event());
  EXPECT_THAT(asked, ElementsAre(StartsWith("POST")));
  let_go();
  EXPECT_THAT(asked, SizeIs(2));
  EXPECT_THAT(counts(), ElementsAre(5));
}

TEST_F(EventRecorderTest, ASeriesThatIsBeingWrittenDoesNotEnd) {
  record(some_event());
  record(some_event());
  record(some_event());
  hold = true;
  pass(361s);
  EXPECT_THAT(asked, SizeIs(3)) << "the final count";
  record(some_event());  // while it is under way: another object
  pass(361s);
  let_go();
  EXPECT_THAT(counts(), ElementsAre(3, 1));
}

TEST_F(EventRecorderTest, AnObjectThatWasDeletedIsCreatedAgain) {
  record(some_event());
  objects.clear();
  record(some_event());
  ASSERT_THAT(objects, SizeIs(1));
  const json& object = objects.begin()->second;
  EXPECT_EQ(object["series"]["count"], 2);
  EXPECT_EQ(object["note"], "0/3 nodes are available");
  EXPECT_EQ(object["eventTime"], "2027-01-15T08:00:00.000000Z");
}

// The first try was carried out though its answer was lost: the second one meets its own object.
TEST_F(EventRecorderTest, AnEventThatExistsAlreadyWasWritten) {
  error = Error{ErrorCode::kConflict, "it exists"};
  record(some_event());
  EXPECT_EQ(recorder->remembered(), 1u);
}

TEST_F(EventRecorderTest, WhatCannotBeWrittenBeginsAnew) {
  for (const ErrorCode code : {ErrorCode::kInvalid, ErrorCode::kUnavailable, ErrorCode::kThrottled,
                               ErrorCode::kCancelled}) {
    error = Error{code, "no"};
    record(some_event());
    EXPECT_EQ(recorder->remembered(), 0u);
  }
  error.reset();
  record(some_event());
  record(some_event());
  EXPECT_THAT(counts(), ElementsAre(2));
}

TEST_F(EventRecorderTest, MemoryIsBounded) {
  options.max_remembered = 10;
  recorder = make();
  for (int i = 0; i < 3; ++i) record(some_event("first"));
  for (int i = 0; i < 1000; ++i) record(some_event("p" + std::to_string(i)));
  EXPECT_EQ(recorder->remembered(), 10u);
  EXPECT_THAT(objects, SizeIs(1001));
  int most = 0;
  for (const int count : counts()) most = std::max(most, count);
  EXPECT_EQ(most, 3) << "the count of a series that is forgotten is written";
}

TEST(WriteBodies, NotesAndNamesAreCut) {
  EventRecord event;
  event.name = std::string(253, 'n');
  event.note = std::string(1019, 'x') + "éé" + std::string(100, 'y');
  const auto now = std::chrono::system_clock::now();
  const std::string name = event_name(event.name, now);
  EXPECT_LE(name.size(), 253u);
  EXPECT_NE(event_name(event.name, now), name) << "of one instant, and still another";
  const json body = json::parse(event_body(event, name, "i", now));
  const auto note = body["note"].get<std::string>();
  EXPECT_EQ(note, std::string(1019, 'x') + " ...") << "not in the middle of a character";
  EXPECT_EQ(body["metadata"]["name"], name);
  EXPECT_EQ(body["metadata"]["namespace"], "default");
  event.note = std::string(1024, 'x');
  EXPECT_EQ(json::parse(event_body(event, name, "i", now))["note"], event.note);
  event.note = "bad \xff byte";
  EXPECT_FALSE(json::parse(event_body(event, name, "i", {}), nullptr, false).is_discarded());
}

TEST_F(ApiWriterTest, EventsHaveTheirFields) {
  start([](int, const Received&, Exchange& exchange) { exchange.reply(201, "{}"); });
  writer_->record_event(some_event());
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
      "regarding":{"apiVersion":"v1","kind":"Pod","namespace":"ns","name":"pod","uid":"u-pod",
                   "resourceVersion":"7"}})"));
}

TEST_F(ApiWriterTest, EventsOutliveAnOutageWithoutHoldingUpOthers) {
  options.in_flight = {1, 1, 1, 1};
  options.event_delay = 50ms;
  start([](int, const Received& request, Exchange& exchange) {
    const bool stuck = request.body.find("\"stuck\"") != std::string::npos;
    exchange.reply(stuck ? 503 : 201, "{}");
  });
  EventRecord stuck = some_event("stuck");
  writer_->record_event(stuck);
  for (int i = 0; i < 20; ++i) writer_->record_event(some_event("p" + std::to_string(i)));
  EXPECT_TRUE(writer_->drain(10s));
  const auto stuck_tries = server_->count("POST") - 20;
  EXPECT_EQ(stuck_tries, 12u);
  EXPECT_EQ(writer_->stats().failed[2], 1u);
  EXPECT_EQ(writer_->stats().done[2], 20u);
  std::size_t before = 0;
  for (const Received& request : server_->received()) {
    if (request.body.find("\"p19\"") != std::string::npos) break;
    if (request.body.find("\"stuck\"") != std::string::npos) ++before;
  }
  EXPECT_LT(before, 12u) << "the others did not wait for its end";
}

}  // namespace
}  // namespace plimsoll::informer
