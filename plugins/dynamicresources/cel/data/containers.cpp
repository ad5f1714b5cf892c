// Maps and lists: the device's views, keys, elements.
#include <algorithm>
#include <cmath>
#include <optional>

#include "plugins/dynamicresources/cel/data/run.hpp"

namespace plimsoll::dra::cel {
namespace {

constexpr std::string_view kDriver = "driver", kAttributes = "attributes", kCapacity = "capacity",
                           kShared = "allowMultipleAllocations";

struct Name {
  std::string_view domain, id;
};

Name split_name(const Run& run, std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {run.driver(), name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

Value semver_value(Run& run, const Version& version) {
  auto parsed = Semver::parse(version.text);
  return parsed ? Value::of_semver(run.semver(std::move(*parsed)))
                : Value::of_error("parse semantic version");
}

Value published(Run&, int64_t value) {
  return Value::of_int(value);
}
Value published(Run&, bool value) {
  return Value::of_bool(value);
}
Value published(Run&, const std::string& value) {
  return Value::of_string(value);
}
Value published(Run& run, const Version& value) {
  return semver_value(run, value);
}
Value published(Run&, std::monostate) {
  return Value::of_error("unsupported attribute value");
}

template <typename T>
Value published(Run& run, const std::vector<T>& values) {
  const auto items = run.room<Value>(values.size());
  size_t at = 0;
  for (auto&& value : values) {
    if (at == items.size()) break;  // out of steps
    if constexpr (std::is_same_v<T, bool>)
      items[at++] = Value::of_bool(value);
    else
      items[at++] = published(run, value);
  }
  return run.list(items);
}

Value published(Run& run, const AttributeValue& attribute) {
  return std::visit([&](const auto& value) { return published(run, value); }, attribute);
}

Value published(Run&, const Capacity& capacity) {
  return Value::of_quantity(&capacity.value);
}

// Calls `each` with the device's attributes or its capacity, a map by full or short names.
auto with_published(const Run& run, const Map& view, auto each) {
  return view.capacity ? each(run.device().capacity) : each(run.device().attributes);
}

// The name as published that `domain` and `id` stand for. Where a device has the short and the full
// name of one attribute, the full one counts.
std::optional<Value> find_published(Run& run, const Map& view, std::string_view id) {
  return with_published(run, view, [&](const auto& all) -> std::optional<Value> {
    run.charge(all.size() / 8);
    auto best = all.end();
    for (auto it = all.begin(); it != all.end(); ++it) {
      const Name name = split_name(run, it->first);
      if (name.domain != view.domain || name.id != id) continue;
      best = it;
      if (id.size() != it->first.size()) break;
    }
    if (best == all.end()) return std::nullopt;
    return published(run, best->second);
  });
}

// The distinct domains, or the distinct ids of one domain.
std::vector<std::string_view> names_in(Run& run, const Map& view) {
  std::vector<std::string_view> names;
  with_published(run, view, [&](const auto& all) {
    run.charge(all.size());
    for (const auto& entry : all) {
      const Name name = split_name(run, entry.first);
      if (view.form == Map::Form::kDomains)
        names.push_back(name.domain);
      else if (name.domain == view.domain)
        names.push_back(name.id);
    }
  });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Value domain_view(Run& run, const Map& domains, std::string_view domain) {
  return Value::of_map(run.one(Map{Map::Form::kDomain, domains.capacity, domain, {}}));
}

std::optional<Value> device_field(Run& run, std::string_view field) {
  if (field == kDriver) return Value::of_string(run.driver());
  if (field == kShared) return Value::of_bool(run.device().allow_multiple_allocations);
  if (field != kAttributes && field != kCapacity) return std::nullopt;
  return Value::of_map(run.one(Map{Map::Form::kDomains, field == kCapacity, {}, {}}));
}

std::optional<Value> find_in_view(Run& run, const Map& map, const Value& key) {
  if (map.form == Map::Form::kDomains)  // an unknown domain is an empty map
    return domain_view(run, map, key.kind == Kind::kString ? key.text : std::string_view("\0", 1));
  if (key.kind != Kind::kString) return std::nullopt;
  return map.form == Map::Form::kDevice ? device_field(run, key.text)
                                        : find_published(run, map, key.text);
}

// Keys that are doubles are found by doubles only.
bool same_key(Run& run, const Value& stored, const Value& key) {
  if (stored.kind != key.kind &&
      (!stored.is_number() || !key.is_number() || stored.kind == Kind::kDouble))
    return false;
  return is_equal(run, stored, key);
}

const Value* find_entry(Run& run, std::span<const Entry> entries, const Value& key) {
  for (const Entry& entry : entries)
    if (same_key(run, entry.key, key)) return &entry.value;
  return nullptr;
}

// A key as a place in a list; numbers that are whole will do.
std::optional<int64_t> place_of(const Value& key) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (key.kind == Kind::kInt) return key.integer;
  if (key.kind == Kind::kUint && key.natural < uint64_t{1} << 63)
    return static_cast<int64_t>(key.natural);
  if (key.kind == Kind::kDouble && std::trunc(key.real) == key.real &&
      std::abs(key.real) < kTwoTo63)
    return static_cast<int64_t>(key.real);
  return std::nullopt;
}

std::string printed(const Value& key) {
  if (key.kind == Kind::kString) return std::string(key.text.substr(0, 100));
  const auto place = place_of(key);
  return place ? std::to_string(*place) : std::string(name_of(key.kind));
}

Value no_such_key(Run& run, const Value& key) {
  return run.fail("no such key: " + printed(key));
}

struct Found {
  const Value* value = nullptr;
  bool wrong = false;  // the key cannot be one of this container
};

Found find_item(const List& list, const Value& key) {
  const auto place = place_of(key);
  if (!place) return {nullptr, true};
  if (*place < 0 || *place >= static_cast<int64_t>(list.items.size())) return {};
  return {&list.items[static_cast<size_t>(*place)], false};
}

Value missing(Run& run, const Value& container, const Value& key, bool wrong) {
  if (container.kind != Kind::kList) return no_such_key(run, key);
  return run.fail((wrong ? "unsupported index in list: " : "index out of bounds: ") + printed(key));
}

}  // namespace

size_t size_of(Run& run, const Map& map) {
  if (map.form == Map::Form::kEntries) return map.entries.size();
  return map.form == Map::Form::kDevice ? 4 : names_in(run, map).size();
}

const Value* find(Run& run, const Map& map, const Value& key) {
  if (map.form == Map::Form::kEntries) return find_entry(run, map.entries, key);
  const auto found = find_in_view(run, map, key);
  return found ? run.one(*found) : nullptr;
}

bool has_key(Run& run, const Map& map, const Value& key) {
  if (map.form != Map::Form::kDomains) return find(run, map, key) != nullptr;
  const auto names = names_in(run, map);
  return key.kind == Kind::kString && std::binary_search(names.begin(), names.end(), key.text);
}

std::span<const Value> keys_of(Run& run, const Map& map) {
  if (map.form == Map::Form::kEntries) {
    const auto keys = run.room<Value>(map.entries.size());
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = map.entries[i].key;
    return keys;
  }
  const auto names = map.form == Map::Form::kDevice
                         ? std::vector<std::string_view>{kShared, kAttributes, kCapacity, kDriver}
                         : names_in(run, map);
  const auto keys = run.room<Value>(names.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = Value::of_string(names[i]);
  return keys;
}

Value index(Run& run, const Value& container, const Value& key, bool optional) {
  const bool was_optional = container.kind == Kind::kOptional;
  if (was_optional && container.optional == nullptr) return container;
  const Value& inner = was_optional ? *container.optional : container;
  Found found;
  if (inner.kind == Kind::kMap) found = {find(run, *inner.map, key), false};
  if (inner.kind == Kind::kList) found = find_item(*inner.list, key);
  if (run.spent()) return Run::out_of_steps();
  if (found.value != nullptr && found.value->is_error()) return *found.value;
  if (!optional && !was_optional)
    return found.value != nullptr ? *found.value : missing(run, inner, key, found.wrong);
  return found.wrong ? missing(run, inner, key, true) : Value::of_optional(found.value);
}

}  // namespace plimsoll::dra::cel
