// Reading objects: for every list and map of pods and nodes, in both encodings, cost and memory
// grow as the object does, and the memory returns when it is gone.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "framework/api/decode/decode.hpp"
#include "framework/api/decode/protobuf_schema.hpp"
#include "framework/api/selectors.hpp"
#include "framework/api/symbols.hpp"
#include "tests/support/growing_objects.hpp"
#include "tests/support/growth.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

// The protobuf form of what the decoders read of an object.
void write_field(protozero::pbf_writer& writer, const ProtoField& field, const Json& value);

void write_fields(protozero::pbf_writer& writer, const ProtoMessage& message, const Json& object) {
  for (const ProtoField& field : message.fields) {
    if (field.shape == ProtoShape::kInline) {
      protozero::pbf_writer nested(writer, field.number);
      write_fields(nested, *field.message, object);
      continue;
    }
    const auto at = object.find(std::string(field.name));
    if (at == object.end()) continue;
    if (field.shape == ProtoShape::kMany) {
      for (const Json& element : *at) write_field(writer, field, element);
    } else if (field.shape == ProtoShape::kMap) {
      for (const auto& [key, element] : at->items()) {
        protozero::pbf_writer entry(writer, field.number);
        entry.add_string(1, key);
        ProtoField value = field;
        value.number = 2;
        write_field(entry, value, element);
      }
    } else {
      write_field(writer, field, *at);
    }
  }
}

void write_field(protozero::pbf_writer& writer, const ProtoField& field, const Json& value) {
  if (field.kind == ProtoKind::kText) {
    writer.add_string(field.number, value.get<std::string>());
  } else if (field.kind == ProtoKind::kInteger) {
    writer.add_int64(field.number, value.is_boolean() ? value.get<bool>() : value.get<int64_t>());
  } else if (field.kind == ProtoKind::kQuantity) {
    protozero::pbf_writer nested(writer, field.number);
    nested.add_string(1, value.get<std::string>());
  } else if (field.kind == ProtoKind::kMessage) {
    protozero::pbf_writer nested(writer, field.number);
    write_fields(nested, *field.message, value);
  }
}

std::string protobuf_of(const Json& object, const ProtoMessage& message) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  write_fields(writer, message, object);
  return bytes;
}

template <typename Decode>
void expect_linear_decoding(const test::GrowingObject& object, const ProtoMessage& message,
                            const Decode& decode) {
  for (const Encoding encoding : {Encoding::kJson, Encoding::kProtobuf}) {
    SymbolTable symbols;
    const bool json = encoding == Encoding::kJson;
    test::expect_linear(
        std::string(object.what) + (json ? " in JSON" : " in protobuf"),
        [&](size_t entries, size_t round) {
          const Json made = object.make(entries, round);
          const auto bytes =
              std::make_shared<const std::string>(json ? made.dump() : protobuf_of(made, message));
          using Ref = typename decltype(decode(*bytes, symbols, encoding))::value_type;
          const auto read = std::make_shared<Ref>();
          return test::Growing{[=, &symbols, &decode] {
                                 auto decoded = decode(*bytes, symbols, encoding);
                                 ASSERT_TRUE(decoded) << decoded.error().message;
                                 *read = std::move(*decoded);
                               },
                               [=] { read->reset(); }};
        });
    EXPECT_EQ(symbols.shared_count(), 0u) << object.what;
  }
}

class PodGrowth : public ::testing::TestWithParam<test::GrowingObject> {};
TEST_P(PodGrowth, IsLinearAndReturns) {
  expect_linear_decoding(GetParam(), kPodMessage, decode_pod);
}
INSTANTIATE_TEST_SUITE_P(Pods, PodGrowth, ::testing::ValuesIn(test::growing_pods()),
                         [](const auto& each) { return each.param.name(); });

class NodeGrowth : public ::testing::TestWithParam<test::GrowingObject> {};
TEST_P(NodeGrowth, IsLinearAndReturns) {
  expect_linear_decoding(GetParam(), kNodeMessage, decode_node);
}
INSTANTIATE_TEST_SUITE_P(Nodes, NodeGrowth, ::testing::ValuesIn(test::growing_nodes()),
                         [](const auto& each) { return each.param.name(); });

// What is matched with what has n entries on both sides.
struct Matching {
  std::string_view what;
  std::function<Json(size_t entry)> requirement;  // of a label selector, which the labels meet
};

std::string key_at(size_t entry) {
  return "example.com/some-key-" + std::to_string(entry);
}

TEST(MatchingGrowth, IsLinear) {
  const auto on_key = [](const char* op, size_t entry) {
    return Json{{"key", key_at(entry)}, {"operator", op}};
  };
  const Matching cases[] = {
      {"NotIn of other values",
       [&](size_t entry) {
         Json each = on_key("NotIn", entry);
         each["values"] = {"other"};
         return each;
       }},
      {"In",
       [&](size_t entry) {
         Json each = on_key("In", entry);
         each["values"] = {"x"};
         return each;
       }},
      {"Exists", [&](size_t entry) { return on_key("Exists", entry); }},
      {"DoesNotExist",
       [&](size_t entry) {
         Json each = on_key("DoesNotExist", entry);
         each["key"] = "no-" + std::to_string(entry);
         return each;
       }},
  };
  SymbolTable symbols;
  for (const Matching& each : cases) {
    test::GrowthLimits limits;
    limits.many = 15'000;
    const auto make = [&](size_t entries, size_t) {
      Json labels = Json::object();
      Json expressions = Json::array();
      for (size_t i = 0; i < entries; ++i) {
        labels[key_at(i)] = "x";
        expressions.push_back(each.requirement(entries - i - 1));
      }
      const Json selector = {{"matchLabels", labels}, {"matchExpressions", expressions}};
      const Json term = {{"labelSelector", selector}, {"topologyKey", "zone"}};
      const Json node_terms = {{{"matchExpressions", expressions}}};
      const Json affinity = {
          {"podAntiAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", {term}}}},
          {"nodeAffinity",
           {{"requiredDuringSchedulingIgnoredDuringExecution",
             {{"nodeSelectorTerms", node_terms}}}}}};
      const Json pod = {{"metadata", {{"name", "p"}, {"labels", labels}}},
                        {"spec", {{"affinity", affinity}, {"nodeSelector", labels}}}};
      const Json node = {{"metadata", {{"name", "n"}, {"labels", labels}}}};
      const PodRef read = *decode_pod(pod.dump(), symbols);
      const NodeRef on = *decode_node(node.dump(), symbols);
      return test::Growing{[=] {
                             const sdk::List<plimsoll_pod_affinity_term> terms =
                                 read->pod_anti_affinity->required;
                             EXPECT_TRUE(matches(terms[0].selector, read->meta.labels));
                             EXPECT_TRUE(matches_required_node_affinity(*read, *on));
                           },
                           [] {}};
    };
    test::expect_linear("labels and " + std::string(each.what), make, limits);
  }
}

}  // namespace
}  // namespace plimsoll
