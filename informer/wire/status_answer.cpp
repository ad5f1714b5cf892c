#include "informer/wire/status_answer.hpp"

#include <nlohmann/json.hpp>

#include "framework/base/json_field.hpp"
#include "informer/wire/protobuf_wire.hpp"

namespace plimsoll::informer {
namespace {

std::int64_t integer_at(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

}  // namespace

StatusAnswer read_json_status(std::string_view json) {
  const auto status = nlohmann::json::parse(json, nullptr, false);
  if (!status.is_object()) return {};
  StatusAnswer answer{text_at(status, "message"), static_cast<int>(integer_at(status, "code")), 0};
  const auto details = status.find("details");
  if (details != status.end() && details->is_object()) {
    answer.retry_after_seconds = integer_at(*details, "retryAfterSeconds");
  }
  return answer;
}

Result<StatusAnswer> read_status(std::string_view body) {
  return is_protobuf(body) ? read_protobuf_status(body) : read_json_status(body);
}

}  // namespace plimsoll::informer
