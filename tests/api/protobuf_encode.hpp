#pragma once
// Objects in Kubernetes' protobuf encoding, from their JSON, by the schema that the reader itself
// goes by.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "framework/api/decode/protobuf_schema.hpp"

namespace plimsoll::test {

// Throws where JSON has another type than the schema: a number for a text, say.
[[nodiscard]] std::string encode_protobuf(const nlohmann::json& object,
                                          const ProtoMessage& message);

// A pod in which nearly every field that is read is set.
[[nodiscard]] nlohmann::json whole_pod();

}  // namespace plimsoll::test
