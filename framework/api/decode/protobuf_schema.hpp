#pragma once
// The fields that are read from Kubernetes' protobuf messages: numbers and JSON names, from
// generated.proto of k8s.io/api/core/v1 and k8s.io/apimachinery. Other fields are skipped.

#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll {

enum class ProtoKind : uint8_t {
  kText,
  kInteger,  // also bool
  kMessage,
  kQuantity,  // a message that JSON writes as text
  kTime,      // a message that JSON writes as text
};
enum class ProtoShape : uint8_t {
  kOne,
  kMany,    // repeated: a list in JSON
  kMap,     // map<string, kind>
  kInline,  // a message whose fields JSON puts into the parent (Go's json:",inline")
};

struct ProtoMessage;

struct ProtoField {
  uint32_t number;
  std::string_view name;
  ProtoKind kind = ProtoKind::kText;
  ProtoShape shape = ProtoShape::kOne;
  const ProtoMessage* message = nullptr;  // of kMessage
};

struct ProtoMessage {
  std::span<const ProtoField> fields;
};

extern const ProtoMessage kPodMessage;
extern const ProtoMessage kNodeMessage;

}  // namespace plimsoll
