#include "config/text/fields.hpp"

#include <plimsoll/duration.hpp>
#include <plimsoll/nearest.hpp>

#include <algorithm>
#include <limits>

#include "config/text/yaml_scalar.hpp"

namespace plimsoll::config {

Fields::Fields(const Value* value, std::string path, Problems& problems)
    : value_(value), path_(std::move(path)), problems_(problems) {
  if (value_ == nullptr || value_->is_mapping()) return;
  if (!value_->is_null()) {
    problems_.push_back({path_, value_->at, wrong_type_message(*value_, "a mapping")});
  }
  value_ = nullptr;
}

std::string wrong_type_message(const Value& value, std::string_view expected) {
  return "expected " + std::string(expected) + ", got " + describe(value) +
         quoting_hint(value, expected);
}

std::string quoting_hint(const Value& value, std::string_view wanted) {
  if (value.is_string()) {
    Problems ignored;
    const Value bare = type_plain_scalar(value.text, {}, ignored);
    const bool helps = wanted == "true or false" ? bare.kind == Value::Kind::kBool
                       : wanted == "an integer"  ? bare.as_int64().has_value()
                                                 : wanted == "a number" && bare.as_double();
    return helps ? ": write it without quotes" : "";
  }
  if (wanted != "a string" || value.text.empty()) return {};
  if (value.kind != Value::Kind::kBool || value.written.empty()) return ": put it in quotes";
  return " (YAML reads the unquoted word " + value.written + " as a boolean: put it in quotes)";
}

const Value* Fields::get(std::string_view name) {
  known_.push_back(name);
  const Value* value = value_ == nullptr ? nullptr : value_->find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Position Fields::at(std::string_view name) const {
  if (value_ == nullptr) return {};
  const Member* member = value_->find_member(name);
  if (member == nullptr) return value_->at;
  const bool inner = !member->value.is_mapping() && !member->value.is_sequence();
  return inner && member->value.at.line > 0 ? member->value.at : member->at;
}

void Fields::problem(std::string_view name, std::string message) {
  problems_.push_back({path(name), at(name), std::move(message)});
}

bool Fields::wrong_type(std::string_view name, const Value& value, std::string_view expected) {
  problem(name, wrong_type_message(value, expected));
  return false;
}

bool Fields::read(std::string_view name, std::string& out) {
  const Value* value = get(name);
  if (value == nullptr) return false;
  if (!value->is_string()) return wrong_type(name, *value, "a string");
  out = value->text;
  return true;
}

bool Fields::read(std::string_view name, bool& out) {
  const Value* value = get(name);
  if (value == nullptr) return false;
  if (value->kind != Value::Kind::kBool) return wrong_type(name, *value, "true or false");
  out = value->text == "true";
  return true;
}

bool Fields::read_integer(std::string_view name, std::int64_t low, std::int64_t high,
                          std::int64_t& out) {
  const Value* value = get(name);
  if (value == nullptr) return false;
  const std::optional<std::int64_t> number = value->as_int64();
  if (!number && value->kind != Value::Kind::kInteger)
    return wrong_type(name, *value, "an integer");
  if (!number || *number < low || *number > high) {
    problem(name, "the integer " + value->text + " is out of range: it must lie between " +
                      std::to_string(low) + " and " + std::to_string(high));
    return false;
  }
  out = *number;
  return true;
}

bool Fields::read(std::string_view name, std::int64_t& out) {
  using Limits = std::numeric_limits<std::int64_t>;
  return read_integer(name, Limits::min(), Limits::max(), out);
}

bool Fields::read(std::string_view name, std::int32_t& out) {
  using Limits = std::numeric_limits<std::int32_t>;
  std::int64_t wide = 0;
  if (!read_integer(name, Limits::min(), Limits::max(), wide)) return false;
  out = static_cast<std::int32_t>(wide);
  return true;
}

bool Fields::read(std::string_view name, double& out) {
  const Value* value = get(name);
  if (value == nullptr) return false;
  const std::optional<double> number = value->as_double();
  if (!number) return wrong_type(name, *value, "a number");
  out = *number;
  return true;
}

bool Fields::read(std::string_view name, std::chrono::nanoseconds& out) {
  const Value* value = get(name);
  if (value == nullptr) return false;
  if (!value->is_string()) return wrong_type(name, *value, "a duration such as \"15s\"");
  const auto duration = sdk::parse_duration(value->text);
  if (!duration) {
    problem(name, invalid_value(go_quoted(value->text),
                                "must be a duration such as \"15s\" or \"1m30s\""));
    return false;
  }
  out = *duration;
  return true;
}

bool Fields::read(std::string_view name, std::vector<std::string>& out) {
  out.clear();
  return each(name, [&](const Value& item, const std::string& item_path) {
    if (item.is_string()) {
      out.push_back(item.text);
    } else {
      problems_.push_back({item_path, item.at, wrong_type_message(item, "a string")});
    }
  });
}

bool Fields::each(std::string_view name,
                  const std::function<void(const Value&, const std::string&)>& visit) {
  const Value* value = get(name);
  if (value == nullptr) return false;
  if (!value->is_sequence()) return wrong_type(name, *value, "a list");
  const std::string base = path(name);
  for (std::size_t i = 0; i < value->items.size(); ++i) {
    visit(value->items[i], index_path(base, i));
  }
  return true;
}

void Fields::finish(const std::map<std::string, std::string, std::less<>>& hints) {
  if (value_ == nullptr) return;
  for (const Member& member : value_->members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    std::string message = "unknown field " + go_quoted(path(member.key));
    if (const auto hint = hints.find(member.key); hint != hints.end()) {
      message += ": " + hint->second;
    } else if (const std::string close = sdk::nearest(member.key, known_); !close.empty()) {
      message += ", did you mean " + go_quoted(close) + "?";
    }
    problems_.push_back({path(member.key), member.at, std::move(message)});
  }
}

}  // namespace plimsoll::config
