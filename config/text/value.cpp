#include "config/text/value.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <unordered_map>

#include "framework/base/quote.hpp"

namespace plimsoll::config {

Value Value::boolean(bool value) {
  Value out;
  out.kind = Kind::kBool;
  out.text = value ? "true" : "false";
  return out;
}

Value Value::integer(std::int64_t value) {
  Value out;
  out.kind = Kind::kInteger;
  out.text = std::to_string(value);
  return out;
}

Value Value::string(std::string value) {
  Value out;
  out.kind = Kind::kString;
  out.text = std::move(value);
  return out;
}

Value Value::sequence() {
  Value out;
  out.kind = Kind::kSequence;
  return out;
}

Value Value::mapping() {
  Value out;
  out.kind = Kind::kMapping;
  return out;
}

const Member* Value::find_member(std::string_view key) const {
  for (const Member& member : members) {
    if (member.key == key) return &member;
  }
  return nullptr;
}

const Value* Value::find(std::string_view key) const {
  const Member* member = find_member(key);
  return member == nullptr ? nullptr : &member->value;
}

std::optional<std::int64_t> Value::as_int64() const {
  const char* end = text.data() + text.size();
  if (kind == Kind::kInteger) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stop == end) return number;
  } else if (kind == Kind::kFloat) {
    const std::optional<double> number = as_double();
    constexpr double kExact =
        9007199254740992.0;  // 2^53: above it a float does not identify one integer
    if (number && std::trunc(*number) == *number && std::abs(*number) <= kExact) {
      return static_cast<std::int64_t>(*number);
    }
  }
  return std::nullopt;
}

std::optional<double> Value::as_double() const {
  if (kind != Kind::kInteger && kind != Kind::kFloat) return std::nullopt;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

Value& Value::set(std::string key, Value value) {
  members.push_back(Member{std::move(key), {}, std::move(value)});
  return *this;
}

Value& Value::add(Value value) {
  items.push_back(std::move(value));
  return *this;
}

namespace {

void append_json(const Value& value, std::string& out) {
  switch (value.kind) {
    case Value::Kind::kNull:
      out += "null";
      return;
    case Value::Kind::kBool:
    case Value::Kind::kInteger:
    case Value::Kind::kFloat:
      out += value.text;
      return;
    case Value::Kind::kString:
      append_json_string(out, value.text);
      return;
    case Value::Kind::kSequence: {
      out += '[';
      bool first = true;
      for (const Value& item : value.items) {
        if (!first) out += ',';
        first = false;
        append_json(item, out);
      }
      out += ']';
      return;
    }
    case Value::Kind::kMapping: {
      out += '{';
      bool first = true;
      for (const Member& member : value.members) {
        if (!first) out += ',';
        first = false;
        append_json_string(out, member.key);
        out += ':';
        append_json(member.value, out);
      }
      out += '}';
      return;
    }
  }
}

}  // namespace

std::string to_json(const Value& value) {
  std::string out;
  append_json(value, out);
  return out;
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kBool:
      return "the boolean " + value.text;
    case Value::Kind::kInteger:
      return "the integer " + value.text;
    case Value::Kind::kFloat:
      return "the number " + value.text;
    case Value::Kind::kString:
      return "the string " + go_quoted(value.text);
    case Value::Kind::kSequence:
      return "a list";
    case Value::Kind::kMapping:
      return "a mapping";
  }
  return "nothing";
}

namespace {

struct Place {
  Position value;  // of the value, or of the key if the value spans lines
  Position key;    // of the last key on the path
  const Value* found = nullptr;
};

Place walk(const Value& root, std::string_view path) {
  const Value* value = &root;
  Place at{root.at, root.at, nullptr};
  std::size_t next = 0;
  while (next < path.size()) {
    if (path[next] == '.') ++next;
    if (next < path.size() && path[next] == '[') {
      const std::size_t close = path.find(']', next);
      if (close == std::string_view::npos) return at;
      std::size_t index = 0;
      const auto parsed = std::from_chars(path.data() + next + 1, path.data() + close, index);
      const bool number = parsed.ec == std::errc() && parsed.ptr == path.data() + close;
      if (!number || !value->is_sequence() || index >= value->items.size()) return at;
      value = &value->items[index];
      at = {value->at, value->at, nullptr};
      next = close + 1;
      continue;
    }
    const std::size_t end = std::min(path.find_first_of(".[", next), path.size());
    const Member* member = value->find_member(path.substr(next, end - next));
    if (member == nullptr) return at;
    value = &member->value;
    const bool short_value =
        end == path.size() && !value->is_null() && value->members.empty() && value->items.empty();
    at = {short_value ? value->at : member->at, member->at, nullptr};
    next = end;
  }
  at.found = value;
  return at;
}

}  // namespace

Position locate(const Value& root, std::string_view path) {
  return walk(root, path).value;
}

const Value* value_at(const Value& root, std::string_view path) {
  return walk(root, path).found;
}

Position locate_key(const Value& root, std::string_view path) {
  return walk(root, path).key;
}

void find_duplicate_keys(const Value& value, std::string_view path, Problems& problems) {
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    find_duplicate_keys(value.items[i], index_path(path, i), problems);
  }
  std::unordered_map<std::string_view, int> seen;
  for (const Member& member : value.members) {
    const std::string child = child_path(path, member.key);
    const auto [first, fresh] = seen.emplace(member.key, member.at.line);
    if (!fresh) {
      problems.push_back({child, member.at,
                          "duplicate field " + go_quoted(child) + ", first given in line " +
                              std::to_string(first->second)});
    }
    find_duplicate_keys(member.value, child, problems);
  }
}

}  // namespace plimsoll::config
