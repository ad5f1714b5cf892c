// The JSON part of WireValue.

#include <plimsoll/time_text.hpp>

#include <simdjson.h>

#include <cstring>
#include <vector>

#include "framework/api/decode/decoder.hpp"
#include "framework/api/decode/wire_context.hpp"
#include "framework/api/decode/wire_value.hpp"

namespace plimsoll {
namespace {

namespace ondemand = simdjson::ondemand;

ondemand::value& real(void* value) {
  return *static_cast<ondemand::value*>(value);
}

bool malformed(WireContext& context, simdjson::error_code code) {
  return context.fail(std::string("malformed JSON: ") + simdjson::error_message(code));
}

// Reports that the value is not of the type `expected`, or is malformed.
bool wrong_type(WireContext& context, simdjson::error_code code, std::string_view expected) {
  if (code == simdjson::INCORRECT_TYPE) return context.fail("expected " + std::string(expected));
  return malformed(context, code);
}

}  // namespace

std::string WireContext::where() const {
  std::string text;
  for (const PathStep& step : path) {
    if (step.kind == PathStep::kField) {
      if (!text.empty()) text += '.';
      text += step.name;
    } else if (step.kind == PathStep::kEntry) {
      text.append("[").append(step.name).append("]");
    } else {
      text.append("[").append(std::to_string(step.index)).append("]");
    }
  }
  return text;
}

bool WireContext::fail(std::string_view why) {
  if (!error.empty()) return false;
  const std::string place = where();
  error = place.empty() ? std::string(why) : place + ": " + std::string(why);
  return false;
}

bool WireValue::fail(std::string_view why) {
  return context_->fail(why);
}

bool WireValue::is_null() {
  if (proto_ != nullptr) return false;
  if (root_) return false;  // the parser cannot tell the type of a root
  bool null = false;
  return real(value_).is_null().get(null) == simdjson::SUCCESS && null;
}

bool WireValue::text(std::string_view* out) {
  if (proto_ != nullptr) return proto_text(out);
  if (is_null()) return true;
  std::string_view text;
  if (auto error = real(value_).get_string().get(text))
    return wrong_type(*context_, error, "a string");
  *out = text;
  return true;
}

bool WireValue::boolean(bool* out) {
  if (proto_ != nullptr) {
    int64_t number = 0;
    if (!proto_integer(&number)) return false;
    *out = number != 0;
    return true;
  }
  if (is_null()) return true;
  if (auto error = real(value_).get_bool().get(*out)) {
    return wrong_type(*context_, error, "true or false");
  }
  return true;
}

bool WireValue::integer(int64_t* out, int64_t min, int64_t max) {
  if (is_null()) return true;
  int64_t number = 0;
  if (proto_ != nullptr) {
    if (!proto_integer(&number)) return false;
  } else if (auto error = real(value_).get_int64().get(number)) {
    if (error == simdjson::NUMBER_ERROR || error == simdjson::NUMBER_OUT_OF_RANGE) {
      return context_->fail("expected a whole number of 64 bits");
    }
    return wrong_type(*context_, error, "a whole number");
  }
  if (number < min || number > max) {
    return context_->fail("the number " + std::to_string(number) + " is out of range");
  }
  *out = number;
  return true;
}

bool WireValue::time(int64_t* out_ms) {
  if (proto_ != nullptr) return proto_time(out_ms);
  std::string_view text;
  if (!this->text(&text)) return false;
  if (text.empty()) return true;
  const auto ms = sdk::parse_time(text);
  if (!ms) return fail("expected a time such as 2024-01-31T12:00:00Z");
  *out_ms = *ms;
  return true;
}

bool WireValue::text_or_number(std::string_view* out) {
  if (proto_ != nullptr) return proto_text(out);
  ondemand::json_type type{};
  if (auto error = real(value_).type().get(type)) return malformed(*context_, error);
  if (type == ondemand::json_type::null) return true;
  if (type == ondemand::json_type::string) return text(out);
  if (type != ondemand::json_type::number) return context_->fail("expected a string or a number");
  std::string_view token = real(value_).raw_json_token();
  while (!token.empty() && std::strchr(" \t\r\n", token.back()) != nullptr) token.remove_suffix(1);
  *out = token;
  return true;
}

bool WireValue::raw(std::string_view* out) {
  if (proto_ != nullptr) return context_->fail("is no JSON");
  if (is_null()) return true;
  ondemand::object object;
  if (auto error = real(value_).get_object().get(object)) {
    return wrong_type(*context_, error, "an object");
  }
  std::string_view text;
  if (auto error = object.raw_json().get(text)) return malformed(*context_, error);
  *out = text;
  return true;
}

bool WireValue::members(Step step, const void* visit, CallMember call) {
  if (proto_ != nullptr) return proto_members(step, visit, call);
  if (is_null()) return true;
  ondemand::object object;
  if (auto error = real(value_).get_object().get(object)) {
    return wrong_type(*context_, error, "an object");
  }
  const auto kind =
      step == Step::kField ? WireContext::PathStep::kField : WireContext::PathStep::kEntry;
  for (auto result : object) {
    ondemand::field field;
    if (auto error = std::move(result).get(field)) return malformed(*context_, error);
    std::string_view key;
    if (auto error = field.unescaped_key().get(key)) return malformed(*context_, error);
    WireValue child;
    child.context_ = context_;
    child.value_ = &field.value();
    if (!context_->part({kind, key, 0}, [&] { return call(visit, key, child); })) return false;
  }
  return true;
}

bool WireValue::elements(const void* visit, Call call) {
  if (proto_ != nullptr) return proto_elements(visit, call);
  if (is_null()) return true;
  ondemand::array array;
  if (auto error = real(value_).get_array().get(array)) {
    return wrong_type(*context_, error, "a list");
  }
  size_t index = 0;
  for (auto result : array) {
    ondemand::value element;
    if (auto error = std::move(result).get(element)) return malformed(*context_, error);
    WireValue child;
    child.context_ = context_;
    child.value_ = &element;
    const WireContext::PathStep at{WireContext::PathStep::kIndex, {}, index++};
    if (!context_->part(at, [&] { return call(visit, child); })) return false;
  }
  return true;
}

Error read_json_with(std::string_view json, const void* visit,
                     bool (*call)(const void*, WireValue&), Reading how) {
  // The parser reads blocks beyond the end of the text, so it gets a padded copy. Buffer and parser
  // are kept for the thread's next object.
  thread_local std::vector<char> buffer;
  thread_local ondemand::parser parser;
  if (buffer.size() < json.size() + simdjson::SIMDJSON_PADDING) {
    buffer.resize((json.size() + simdjson::SIMDJSON_PADDING) * 2);
  }
  if (!json.empty()) std::memcpy(buffer.data(), json.data(), json.size());
  std::memset(buffer.data() + json.size(), ' ', simdjson::SIMDJSON_PADDING);

  WireContext context;
  context.lenient = how == Reading::kWhatCanBeRead;
  const auto invalid = [&] { return Error{ErrorCode::kInvalid, context.error}; };
  ondemand::document document;
  if (auto error = parser.iterate(buffer.data(), json.size(), buffer.size()).get(document)) {
    malformed(context, error);
    return invalid();
  }
  ondemand::value root;
  if (auto error = document.get_value().get(root)) {
    if (error == simdjson::SCALAR_DOCUMENT_AS_VALUE) {
      context.fail("expected an object");
    } else {
      malformed(context, error);
    }
    return invalid();
  }
  WireValue value;
  value.context_ = &context;
  value.value_ = &root;
  value.root_ = true;
  if (!call(visit, value)) {
    if (context.error.empty()) context.fail("rejected");
    return invalid();
  }
  if (!context.error.empty()) return invalid();
  const char* rest = nullptr;
  if (document.current_location().get(rest) == simdjson::SUCCESS) {
    context.path.clear();
    context.fail("malformed JSON: text after the end of the object");
    return invalid();
  }
  return Error{ErrorCode::kInvalid, {}};
}

}  // namespace plimsoll
