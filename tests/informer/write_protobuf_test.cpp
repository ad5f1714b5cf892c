// Bodies in protobuf: every field where Kubernetes' generated.proto has it; and what becomes of
// them at a server that only takes JSON.

#include "informer/write/write_protobuf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>

#include "tests/informer/writer_fixture.hpp"

namespace plimsoll::informer {
namespace {

using nlohmann::json;
using test::ApiWriterTest;
using test::Exchange;
using test::Received;
using test::some_bind;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

// One message as "field=text" or "field=number"; of what is itself a message the caller says so.
std::multimap<std::uint32_t, std::string> fields(std::string_view message) {
  std::multimap<std::uint32_t, std::string> all;
  protozero::pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    const std::uint32_t number = reader.tag();
    if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      all.emplace(number, reader.get_string());
    } else {
      all.emplace(number, std::to_string(reader.get_int64()));
    }
  }
  return all;
}

std::string only(const std::multimap<std::uint32_t, std::string>& all, std::uint32_t number) {
  EXPECT_EQ(all.count(number), 1u) << number;
  const auto found = all.find(number);
  return found == all.end() ? "" : found->second;
}

// What is in the envelope, which must name the kind.
std::string unwrapped(const std::string& body, const std::string& version,
                      const std::string& kind) {
  EXPECT_EQ(body.substr(0, 4), std::string("k8s\0", 4));
  const auto unknown = fields(std::string_view(body).substr(4));
  EXPECT_THAT(fields(only(unknown, 1)), UnorderedElementsAre(Pair(1u, version), Pair(2u, kind)));
  return only(unknown, 2);
}

TEST(WriteProtobuf, ABinding) {
  BindRequest request = some_bind();
  request.annotations.emplace_back("more", "");
  const auto binding = fields(unwrapped(binding_protobuf(request), "v1", "Binding"));
  const auto meta = fields(only(binding, 1));
  EXPECT_EQ(only(meta, 1), "pod");
  EXPECT_EQ(only(meta, 3), "ns");
  EXPECT_EQ(only(meta, 5), "uid-1");
  EXPECT_EQ(meta.count(6), 0u);
  request.resource_version = "7";
  const auto of_a_version = fields(unwrapped(binding_protobuf(request), "v1", "Binding"));
  EXPECT_EQ(only(fields(only(of_a_version, 1)), 6), "7");
  std::vector<std::pair<std::string, std::string>> annotations;
  for (auto [at, end] = meta.equal_range(12); at != end; ++at) {
    annotations.emplace_back(only(fields(at->second), 1), only(fields(at->second), 2));
  }
  EXPECT_THAT(annotations, ElementsAre(Pair("alloc", R"({"gpu":[0]})"), Pair("more", "")));
  EXPECT_THAT(fields(only(binding, 2)),
              UnorderedElementsAre(Pair(1u, "Node"), Pair(3u, "node-a"), Pair(5u, "v1")));
}

TEST(WriteProtobuf, AnEvent) {
  EventRecord event;
  event.warning = true;
  event.name = "pod";
  event.uid = "u";
  event.resource_version = "7";
  event.scheduler_name = "topo";
  event.reason = "FailedScheduling";
  event.action = "Scheduling";
  event.note = std::string(2000, 'x') + "\xff";
  const std::chrono::system_clock::time_point when{1'700'000'000s + 123'456'789ns};
  const EventSeries series{3, when + 1s};
  const auto object = fields(
      unwrapped(event_protobuf(event, "pod.1", "me", when, &series), "events.k8s.io/v1", "Event"));
  EXPECT_THAT(fields(only(object, 1)),
              UnorderedElementsAre(Pair(1u, "pod.1"), Pair(3u, "default")));
  EXPECT_THAT(fields(only(object, 2)),
              UnorderedElementsAre(Pair(1u, "1700000000"), Pair(2u, "123456000")))
      << "microseconds";
  const auto count = fields(only(object, 3));
  EXPECT_EQ(only(count, 1), "3");
  EXPECT_EQ(only(fields(only(count, 2)), 1), "1700000001");
  EXPECT_EQ(only(object, 4), "topo");
  EXPECT_EQ(only(object, 5), "me");
  EXPECT_EQ(only(object, 6), "Scheduling");
  EXPECT_EQ(only(object, 7), "FailedScheduling");
  EXPECT_THAT(fields(only(object, 8)),
              UnorderedElementsAre(Pair(1u, "Pod"), Pair(2u, ""), Pair(3u, "pod"), Pair(4u, "u"),
                                   Pair(5u, "v1"), Pair(6u, "7")));
  EXPECT_EQ(only(object, 10), cut_note(event.note));
  EXPECT_EQ(only(object, 11), "Warning");

  event.note = "bad \xff byte";
  const auto cleaned =
      fields(unwrapped(event_protobuf(event, "pod.1", "me", when), "events.k8s.io/v1", "Event"));
  EXPECT_EQ(only(cleaned, 10), "bad ? byte") << "a string of protobuf is UTF-8";
  EXPECT_EQ(cleaned.count(3), 0u) << "no series";
}

TEST_F(ApiWriterTest, WritesProtobuf) {
  options.protobuf = true;
  start([](int, const Received&, Exchange& exchange) { exchange.reply(201, ""); });
  EXPECT_TRUE(bind());
  ASSERT_EQ(server_->received().size(), 1u);
  const Received bind_call = server_->received()[0];
  EXPECT_EQ(bind_call.header("content-type"), "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(bind_call.header("accept"), "application/vnd.kubernetes.protobuf,application/json");
  EXPECT_EQ(bind_call.body, binding_protobuf(some_bind()));
  EventRecord event;
  event.ns = "ns";
  event.name = "pod";
  event.reason = "Scheduled";
  writer_->record_event(event);
  EXPECT_TRUE(writer_->drain(10s));
  EXPECT_EQ(server_->received()[1].header("content-type"), "application/vnd.kubernetes.protobuf");
}

// 415: the server is written JSON to, from then on, and nothing is lost or counted as a failure.
TEST_F(ApiWriterTest, AServerWithoutProtobufGetsJson) {
  options.protobuf = true;
  start([](int, const Received& request, Exchange& exchange) {
    const bool understood = request.header("content-type") == "application/json";
    exchange.reply(understood ? 201 : 415, "{}");
  });
  EXPECT_TRUE(bind());
  EXPECT_TRUE(bind());
  EventRecord event;
  event.ns = "ns";
  event.name = "pod";
  event.reason = "Scheduled";
  writer_->record_event(event);
  EXPECT_TRUE(writer_->drain(10s));
  std::vector<std::string> types;
  for (const Received& request : server_->received()) {
    types.push_back(request.header("content-type"));
    EXPECT_EQ(json::accept(request.body), types.back() == "application/json");
  }
  EXPECT_THAT(types, ElementsAre("application/vnd.kubernetes.protobuf", "application/json",
                                 "application/json", "application/json"));
  EXPECT_EQ(writer_->stats().done[0], 2u);
  EXPECT_EQ(writer_->stats().done[2], 1u);
  EXPECT_EQ(writer_->stats().failed[0] + writer_->stats().failed[2], 0u);
  EXPECT_EQ(writer_->stats().retried[0], 0u);
}

TEST_F(ApiWriterTest, AnEventThatMeetsA415IsWrittenAsJson) {
  options.protobuf = true;
  start([](int, const Received& request, Exchange& exchange) {
    const bool understood = request.header("content-type") == "application/json";
    exchange.reply(understood ? 201 : 415, "{}");
  });
  EventRecord event;
  event.ns = "ns";
  event.name = "pod";
  event.reason = "Scheduled";
  event.note = "to node-a";
  writer_->record_event(event);
  EXPECT_TRUE(writer_->drain(10s));
  ASSERT_EQ(server_->received().size(), 2u);
  const json body = json::parse(server_->received()[1].body);
  EXPECT_EQ(body["note"], "to node-a");
  EXPECT_EQ(writer_->stats().done[2], 1u);
}

}  // namespace
}  // namespace plimsoll::informer
