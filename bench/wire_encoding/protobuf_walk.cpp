#include "bench/wire_encoding/protobuf_walk.hpp"

#include <array>
#include <span>

namespace plimsoll::bench {
namespace {

// Field numbers: generated.proto of k8s.io/api/core/v1 and apimachinery's meta/v1 and resource.
struct Message;
struct Child {
  uint32_t field;
  const Message* message;  // null: the bytes are read as they are
};
struct Message {
  std::span<const Child> children;
};

constexpr std::array<Child, 2> kMapEntry{{{1, nullptr}, {2, nullptr}}};
constexpr Message kStrings{kMapEntry};
constexpr std::array<Child, 1> kQuantityFields{{{1, nullptr}}};
constexpr Message kQuantity{kQuantityFields};
constexpr std::array<Child, 2> kResourceEntry{{{1, nullptr}, {2, &kQuantity}}};
constexpr Message kResource{kResourceEntry};
constexpr std::array<Child, 2> kRequirementLists{{{1, &kResource}, {2, &kResource}}};
constexpr Message kResources{kRequirementLists};
constexpr std::array<Child, 4> kPortFields{
    {{2, nullptr}, {3, nullptr}, {4, nullptr}, {5, nullptr}}};
constexpr Message kPort{kPortFields};
constexpr std::array<Child, 5> kContainerFields{
    {{1, nullptr}, {2, nullptr}, {6, &kPort}, {8, &kResources}, {24, nullptr}}};
constexpr Message kContainer{kContainerFields};
constexpr std::array<Child, 4> kTolerationFields{
    {{1, nullptr}, {2, nullptr}, {3, nullptr}, {4, nullptr}}};
constexpr Message kToleration{kTolerationFields};
constexpr std::array<Child, 7> kMetaFields{{{1, nullptr},
                                            {3, nullptr},
                                            {5, nullptr},
                                            {6, nullptr},
                                            {11, &kStrings},
                                            {12, &kStrings},
                                            {13, nullptr}}};
constexpr Message kMeta{kMetaFields};
constexpr std::array<Child, 11> kSpecFields{{{1, nullptr},
                                             {2, &kContainer},
                                             {7, &kStrings},
                                             {10, nullptr},
                                             {18, nullptr},
                                             {19, nullptr},
                                             {20, &kContainer},
                                             {22, &kToleration},
                                             {24, nullptr},
                                             {25, nullptr},
                                             {32, &kResource}}};
constexpr Message kSpec{kSpecFields};
constexpr std::array<Child, 4> kConditionFields{
    {{1, nullptr}, {2, nullptr}, {5, nullptr}, {6, nullptr}}};
constexpr Message kCondition{kConditionFields};
constexpr std::array<Child, 5> kStatusFields{
    {{1, nullptr}, {2, &kCondition}, {7, nullptr}, {9, nullptr}, {11, nullptr}}};
constexpr Message kStatus{kStatusFields};
constexpr std::array<Child, 3> kPodFields{{{1, &kMeta}, {2, &kSpec}, {3, &kStatus}}};
constexpr Message kPod{kPodFields};

bool varint(std::string_view& in, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in.front());
    in.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Takes one field off `in`; length-delimited ones in `bytes`.
bool next_field(std::string_view& in, uint32_t& number, std::string_view& bytes) {
  uint64_t tag = 0;
  uint64_t value = 0;
  if (!varint(in, tag)) return false;
  number = static_cast<uint32_t>(tag >> 3);
  bytes = {};
  switch (tag & 7) {
    case 0:
      return varint(in, value);
    case 1:
    case 5: {
      const size_t size = (tag & 7) == 1 ? 8 : 4;
      if (in.size() < size) return false;
      in.remove_prefix(size);
      return true;
    }
    case 2:
      if (!varint(in, value) || in.size() < value) return false;
      bytes = in.substr(0, value);
      in.remove_prefix(value);
      return true;
    default:
      return false;
  }
}

bool walk(std::string_view in, const Message& message, uint64_t& fields) {
  uint32_t number = 0;
  std::string_view bytes;
  while (!in.empty()) {
    if (!next_field(in, number, bytes)) return false;
    for (const Child& child : message.children) {
      if (child.field != number) continue;
      ++fields;
      if (child.message != nullptr && !walk(bytes, *child.message, fields)) return false;
      break;
    }
  }
  return true;
}

}  // namespace

WalkedPods walk_pod_list(std::string_view body) {
  WalkedPods result;
  constexpr std::string_view kMagic("k8s\0", 4);
  if (!body.starts_with(kMagic)) return result;
  body.remove_prefix(kMagic.size());
  uint32_t number = 0;
  std::string_view bytes;
  std::string_view list;
  while (!body.empty()) {
    if (!next_field(body, number, bytes)) return result;
    if (number == 2) list = bytes;  // runtime.Unknown.raw
  }
  while (!list.empty()) {
    if (!next_field(list, number, bytes)) return result;
    if (number != 2) continue;  // PodList.items
    if (!walk(bytes, kPod, result.fields)) return result;
    ++result.pods;
  }
  result.valid = true;
  return result;
}

}  // namespace plimsoll::bench
