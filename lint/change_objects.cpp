// What may happen to the objects that plugins watch, and the time.

#include <array>

#include "lint/changes.hpp"

namespace plimsoll::lint {
namespace {

// Pointers to the values of an object that are not structured, but for who it is.
void leaves(const Json& value, const std::string& at, std::vector<std::string>& out) {
  if (at == "/metadata" || at == "/apiVersion" || at == "/kind") return;
  if (!value.is_structured()) {
    out.push_back(at);
    return;
  }
  for (const auto& [key, part] : value.items()) {
    std::string token;
    for (const char c : key) token += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    leaves(part, at + "/" + token, out);
  }
}

Json another(const Json& value, Dice& dice, const Vocabulary& words) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return dice.below(6);
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    const size_t digits = text.find_first_not_of("0123456789");
    if (digits != 0) return words.value(dice);  // no number and no quantity
    return std::to_string(dice.below(9)) + (digits == std::string::npos ? "" : text.substr(digits));
  }
  return words.value(dice);
}

}  // namespace

std::optional<Change> Changes::change_object() {
  if (objects_.empty()) return std::nullopt;
  Watched& watched = objects_[dice_.below(objects_.size())];
  Json json = Json::parse(watched.object.json);
  std::vector<std::string> where;
  leaves(json, "", where);
  if (where.empty() || !watched.present) return std::nullopt;
  const std::string& at = dice_.of(where);
  Json& value = json[Json::json_pointer(at)];
  const Json before = value;
  value = another(before, dice_, words_);
  if (value == before) return std::nullopt;
  json["metadata"]["resourceVersion"] = std::to_string(next_version_++);
  Change change{.kind = Change::Kind::kObject,
                .node = {},
                .text = watched.object.resource + " " + watched.object.name + ": " + at + " from " +
                        before.dump() + " to " + value.dump(),
                .resource = watched.object.resource};
  watched.object.json = json.dump();
  note_.about_to("object_event", watched.object.resource + " " + watched.object.name);
  cluster_.put_object(watched.object);
  return change;
}

std::optional<Change> Changes::remove_or_restore_object() {
  if (objects_.empty()) return std::nullopt;
  Watched& watched = objects_[dice_.below(objects_.size())];
  watched.present = !watched.present;
  const std::string name = watched.object.resource + " " + watched.object.name;
  note_.about_to("object_event", name);
  if (watched.present) {
    // What came of random changes may be beyond use: it comes back as it was given.
    for (const Object& given : options_.objects) {
      if (given.resource == watched.object.resource && given.name == watched.object.name &&
          given.ns == watched.object.ns) {
        watched.object = given;
      }
    }
    cluster_.put_object(watched.object);
  } else {
    cluster_.remove_object(watched.object);
  }
  return Change{.kind = Change::Kind::kObject,
                .node = {},
                .text = name + (watched.present ? " came" : " was deleted"),
                .resource = watched.object.resource};
}

std::optional<Change> Changes::pass_time() {
  constexpr std::array<int64_t, 3> kMinutes = {10, 61, 7 * 24 * 60 + 61};
  const int64_t minutes = kMinutes[dice_.below(kMinutes.size())];
  note_.about_to("a task on the loop");
  cluster_.pass_time(minutes * 60'000);
  return Change{
      .kind = Change::Kind::kTime, .node = {}, .text = std::to_string(minutes) + " minutes passed"};
}

}  // namespace plimsoll::lint
