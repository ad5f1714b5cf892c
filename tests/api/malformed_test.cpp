// Objects that are not what they should be: an error that names the field, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

TEST(DecodePod, NamesTheFieldThatIsWrong) {
  struct {
    std::string json;
    std::string_view where;
  } const cases[] = {
      {R"({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}, {"name": "b",
           "resources": {"requests": {"cpu": "1Kk"}}}]}})",
       "spec.containers[1].resources.requests[cpu]: unable to parse quantity's suffix"},
      {R"({"metadata": {"name": 7}})", "metadata.name: expected a string"},
      {R"({"metadata": {"name": "p", "labels": {"a": 1}}})",
       "metadata.labels[a]: expected a string"},
      {R"({"metadata": {"name": "p", "creationTimestamp": "yesterday"}})",
       "metadata.creationTimestamp: expected a time"},
      {R"({"metadata": {"name": "p"}, "spec": {"priority": 4294967296}})",
       "spec.priority: the number 4294967296 is out of range"},
      {R"({"metadata": {"name": "p"}, "spec": {"priority": 1.5}})",
       "spec.priority: expected a whole"},
      {R"({"metadata": {"name": "p"}, "spec": {"containers": {}}})",
       "spec.containers: expected a list"},
      {R"({"metadata": {"name": "p"}, "spec": {"hostNetwork": "yes"}})",
       "spec.hostNetwork: expected true or false"},
      {R"({"metadata": []})", "metadata: expected an object"},
      {R"({"metadata": {}})", "metadata.name: a pod needs a name"},
      {R"([1])", "expected an object"},
      {R"(12)", "expected an object"},
      {R"({"metadata": {"name": "p")", "malformed JSON"},
      {R"({"metadata": {"name": "p"}} trailing)", "malformed JSON"},
      {"", "malformed JSON"},
  };
  SymbolTable symbols;
  for (const auto& each : cases) {
    const auto pod = decode_pod(each.json, symbols);
    ASSERT_FALSE(pod) << each.json;
    EXPECT_EQ(pod.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(pod.error().message, HasSubstr(each.where)) << each.json;
  }
}

TEST(DecodeReadable, LeavesOutWhatIsWrongAndSaysSo) {
  const PodIdentity identity{"ns", "p", "u-p"};
  SymbolTable symbols;
  const auto one_bad_quantity = decode_readable(
      R"({"metadata": {"name": "p", "namespace": "ns", "uid": "u-p", "labels": {"a": 1, "b": "2"}},
          "spec": {"nodeName": "n1", "priority": "high", "containers": [
            {"name": "a", "resources": {"requests": {"cpu": "1Kk", "memory": "1Gi"}}},
            {"name": "b", "resources": {"requests": {"cpu": "2"}}}]},
          "status": {"phase": "Running"}})",
      identity, symbols);
  ASSERT_TRUE(one_bad_quantity) << one_bad_quantity.error().message;
  const plimsoll_pod& pod = **one_bad_quantity;
  EXPECT_THAT(std::string(view(pod.unreadable)), HasSubstr("metadata.labels[a]"));
  EXPECT_EQ(view(pod.node_name), "n1");
  EXPECT_EQ(pod.phase, PLIMSOLL_PHASE_RUNNING);
  EXPECT_EQ(sdk::Labels(pod.meta.labels).size(), 1u);
  EXPECT_EQ(sdk::Resources(pod.used).amount("cpu"), 2000);
  EXPECT_EQ(sdk::Resources(pod.used).amount("memory"), int64_t{1} << 30);

  // Not even JSON: only what else tells of it is left.
  const auto nothing = decode_readable(R"({"spec": {"nodeName": "n1")", identity, symbols);
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_EQ(view((*nothing)->meta.name), "p");
  EXPECT_EQ(view((*nothing)->meta.uid), "u-p");
  EXPECT_THAT(std::string(view((*nothing)->unreadable)), HasSubstr("malformed JSON"));

  EXPECT_FALSE(decode_readable(R"({"spec": 1})", {}, symbols)) << "nobody's";
  EXPECT_FALSE(decode_readable(R"({"metadata": {"name": "p"}})", identity, symbols))
      << "nothing is wrong";
}

TEST(DecodeReadable, NeverCrashesOnDamagedObjects) {
  const std::string whole =
      R"({"metadata": {"name": "p", "labels": {"a": "1"}}, "spec": {"nodeName": "n1",
          "containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
          "ports": [{"hostPort": 80}]}], "tolerations": [{"key": "k"}]},
          "status": {"containerStatuses": [{"name": "a"}]}})";
  std::mt19937 random(test::test_seed());
  SymbolTable symbols;
  for (int round = 0; round < 3'000; ++round) {
    std::string damaged = whole;
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
      damaged[random() % damaged.size()] = R"("{}[]:,0a\)"[random() % 10];
    }
    damaged.resize(damaged.size() - random() % 20);
    for (const Encoding encoding : {Encoding::kJson, Encoding::kProtobuf}) {
      (void)decode_readable(damaged, {"ns", "p", "u"}, symbols, encoding);
    }
  }
  EXPECT_EQ(symbols.shared_count(), 0u);
}

TEST(DecodePod, TimesOfProtobufStayWithinWhatTextCanSay) {
  // Pod{metadata{name: "p", creationTimestamp{seconds, nanos}}}
  const auto pod_of = [](int64_t seconds, int64_t nanos) {
    const auto varint = [](uint64_t value) {
      std::string bytes;
      for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
      return bytes += static_cast<char>(value);
    };
    const auto field = [&](int number, const std::string& bytes) {
      return std::string(1, static_cast<char>(number << 3 | 2)) + varint(bytes.size()) + bytes;
    };
    const std::string time = "\x08" + varint(static_cast<uint64_t>(seconds)) + "\x10" +
                             varint(static_cast<uint64_t>(nanos));
    return field(1, field(1, "p") + field(8, time));
  };
  SymbolTable symbols;
  const auto created = [&](int64_t seconds, int64_t nanos) {
    const auto pod = decode_pod(pod_of(seconds, nanos), symbols, Encoding::kProtobuf);
    EXPECT_TRUE(pod) << pod.error().message;
    return (*pod)->meta.creation_ms;
  };
  EXPECT_EQ(created(1'700'000'000, 5'000'000), 1'700'000'000'005);
  for (const int64_t seconds : {INT64_MAX, INT64_MAX / 1000 + 1, INT64_MIN, INT64_MIN / 1000 - 1}) {
    for (const int64_t nanos : {INT64_MAX, int64_t{0}, INT64_MIN}) {
      const int64_t ms = created(seconds, nanos);
      EXPECT_LE(std::abs(ms), 253'402'300'799'999) << seconds;
      EXPECT_EQ(ms > 0, seconds > 0);
    }
  }
}

TEST(DecodeNode, NamesTheFieldThatIsWrong) {
  SymbolTable symbols;
  const auto node = decode_node(
      R"({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "lots"}}})",
      symbols);
  ASSERT_FALSE(node);
  EXPECT_THAT(node.error().message, HasSubstr("status.allocatable[memory]: "));
}

TEST(DecodePod, TakesNullForAFieldThatIsNotThere) {
  SymbolTable symbols;
  const auto pod = decode_pod(
      R"({"metadata": {"name": "p", "labels": null, "creationTimestamp": null},
          "spec": {"affinity": null, "containers": null, "tolerations": null, "priority": null},
          "status": null})",
      symbols);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ((*pod)->node_affinity, nullptr);
  EXPECT_EQ((*pod)->priority, 0);
}

TEST(DecodePod, ReadsEscapedTexts) {
  SymbolTable symbols;
  const auto pod = decode_pod(
      R"({"metadata": {"na\u006de": "a\"\u00e4\n", "labels": {"\u0061": "b"}}})", symbols);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(view((*pod)->meta.name), "a\"\xc3\xa4\n");
}

// Random damage to valid objects: whatever comes out, nothing is read or written out of bounds
// (the sanitizers watch), and what is accepted can be copied.
TEST(Decode, SurvivesRandomDamage) {
  const std::string pod = R"({"metadata":{"name":"p","namespace":"ns","labels":{"a":"b"},
    "annotations":{"k":"v"},"ownerReferences":[{"kind":"ReplicaSet","controller":true}],
    "creationTimestamp":"2024-01-01T00:00:00Z"},"spec":{"priority":5,"hostNetwork":true,
    "initContainers":[{"name":"i","restartPolicy":"Always","resources":{"limits":{"cpu":"1"}}}],
    "containers":[{"name":"c","ports":[{"hostPort":80,"protocol":"TCP"}],
      "resources":{"requests":{"cpu":"100m","memory":"1.5Gi"}}}],
    "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms":[{"matchExpressions":[{"key":"z","operator":"In","values":["a"]}]}]}},
      "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"h",
      "labelSelector":{"matchLabels":{"a":"b"}}}]}},
    "tolerations":[{"key":"t","operator":"Exists"}],"volumes":[{"name":"v","rbd":{"image":"x"}}]},
    "status":{"phase":"Running","conditions":[{"type":"PodScheduled","status":"True"}],
    "containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}})";
  const std::string node = R"({"metadata":{"name":"n","labels":{"z":"a"}},"spec":{"taints":
    [{"key":"k","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"4","pods":"110"},
    "images":[{"names":["a","b"],"sizeBytes":5}],"conditions":[{"type":"Ready","status":"True"}]}})";
  constexpr std::string_view kInteresting = "{}[]\",:0-9eE.\\nulltrue \x01\xff";
  constexpr int kRounds = 20'000;
  std::mt19937 random(test::test_seed());
  const auto below = [&](size_t bound) { return random() % bound; };
  SymbolTable symbols;
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string text = round % 4 == 0 ? node : pod;
    for (size_t damage = 1 + below(3); damage > 0 && !text.empty(); --damage) {
      const size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = kInteresting[below(kInteresting.size())];
          break;
        case 1:
          text.erase(at, 1 + below(8));
          break;
        case 2:
          text.insert(at, text.substr(below(text.size()), below(20)));
          break;
        default:
          text.resize(at);
          break;
      }
    }
    if (round % 4 == 0) {
      const auto decoded = decode_node(text, symbols);
      accepted += decoded ? 1 : 0;
      if (!decoded) {
        ASSERT_FALSE(decoded.error().message.empty());
      }
    } else {
      const auto decoded = decode_pod(text, symbols);
      accepted += decoded ? 1 : 0;
      if (decoded) {
        ASSERT_EQ(view(assigned_copy(*decoded, "n")->node_name), "n");
      } else {
        ASSERT_FALSE(decoded.error().message.empty());
      }
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace plimsoll
