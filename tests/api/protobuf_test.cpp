// Objects read from protobuf are the same as those read from JSON: for every pod and node of the
// recorded vectors, encoded by the schema that the reader itself goes by. That the schema's numbers
// are Kubernetes' is shown against a real API server (tests/kube/protobuf_test.cpp).

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "framework/api/decode/decode.hpp"
#include "framework/api/decode/protobuf_schema.hpp"
#include "framework/api/symbols.hpp"
#include "tests/api/describe.hpp"
#include "tests/api/protobuf_encode.hpp"
#include "tests/conformance/vector_file.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

using nlohmann::json;

template <typename Ref>
using Decode = Result<Ref> (*)(std::string_view, SymbolTable&, Encoding);

// Compares the two readings of one object; false if JSON itself cannot be read.
template <typename Ref>
bool same(const json& object, const ProtoMessage& message, Decode<Ref> decode) {
  SymbolTable symbols;
  const auto from_json = decode(object.dump(), symbols, Encoding::kJson);
  if (!from_json) return false;
  std::string bytes;
  try {
    bytes = test::encode_protobuf(object, message);
  } catch (const std::exception&) {
    return false;  // JSON takes a number for a text here and there, protobuf cannot
  }
  const auto from_protobuf = decode(bytes, symbols, Encoding::kProtobuf);
  EXPECT_TRUE(from_protobuf) << from_protobuf.error().message << "\n" << object.dump();
  if (from_protobuf) {
    EXPECT_EQ(test::describe(**from_json), test::describe(**from_protobuf)) << object.dump();
  }
  return true;
}

bool same_pod(const json& pod) {
  return same<PodRef>(pod, kPodMessage, decode_pod);
}
bool same_node(const json& node) {
  return same<NodeRef>(node, kNodeMessage, decode_node);
}

TEST(Protobuf, EveryRecordedObjectReadsLikeItsJson) {
  size_t pods = 0;
  size_t nodes = 0;
  size_t lines = 0;
  for (const char* file : {"fit", "selectors", "qos_requests", "device", "volumes"}) {
    const auto read = conformance::for_each_line(
        std::string("tests/vectors/") + file + ".jsonl.gz", [&](std::string_view line) {
          if (lines++ % 5 != 0) return true;  // enough of each kind
          const json vector = json::parse(line);
          for (const char* key : {"pod", "existingPods", "pods"}) {
            if (!vector.contains(key)) continue;
            const json& value = vector[key];
            for (const json& pod : value.is_array() ? value : json::array({value})) {
              if (pod.is_object() && pod.contains("spec")) pods += same_pod(pod);
            }
          }
          if (vector.contains("nodes") && vector["nodes"].is_array()) {
            for (const json& node : vector["nodes"]) {
              if (node.is_object()) nodes += same_node(node);
            }
          }
          return !::testing::Test::HasFailure();
        });
    ASSERT_TRUE(read) << read.error().message;
  }
  EXPECT_GT(pods, 1000U);
  EXPECT_GT(nodes, 1000U);
}

TEST(Protobuf, APodWithEverythingReadsLikeItsJson) {
  EXPECT_TRUE(same_pod(test::whole_pod()));
}

TEST(Protobuf, ErrorsNameTheField) {
  SymbolTable symbols;
  json pod = test::whole_pod();
  pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "lots";
  const auto decoded =
      decode_pod(test::encode_protobuf(pod, kPodMessage), symbols, Encoding::kProtobuf);
  ASSERT_FALSE(decoded);
  EXPECT_NE(decoded.error().message.find("spec.containers[0].resources.requests[cpu]: "),
            std::string::npos)
      << decoded.error().message;
  EXPECT_FALSE(decode_pod("", symbols, Encoding::kProtobuf)) << "no name";
}

// Whatever arrives: an error or an object, never a crash, never a byte beyond the end.
TEST(Protobuf, DamagedBytesNeverCrash) {
  std::mt19937 random(test::test_seed());
  const std::string whole = test::encode_protobuf(test::whole_pod(), kPodMessage);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (unsigned changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const std::string exact(bytes);  // its own allocation, for the address sanitizer
    SymbolTable symbols;
    const auto pod = decode_pod(exact, symbols, Encoding::kProtobuf);
    EXPECT_TRUE(pod || !pod.error().message.empty());
    const auto node = decode_node(exact, symbols, Encoding::kProtobuf);
    EXPECT_TRUE(node || !node.error().message.empty());
  }
}

}  // namespace
}  // namespace plimsoll
