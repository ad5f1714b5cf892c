// Plimsoll plugin SDK, a part of Args: the fields of one object, and what is wrong with them.
#pragma once

#include <plimsoll/args_value.hpp>
#include <plimsoll/nearest.hpp>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::sdk {

namespace detail {

// `, did you mean "..."?` if one of `known` is spelled much like `word`, else nothing.
inline std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string best = nearest(word, known);
  return best.empty() ? std::string() : ", did you mean \"" + best + "\"?";
}

// "a, b or c"
inline std::string one_of(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

// What stands in the file instead of what must: `, not "x"`.
inline std::string not_this(const ArgsValue& value) {
  constexpr size_t kLongest = 100;
  if (value.type == ArgsValue::Type::kList) return ", not a list";
  if (value.type == ArgsValue::Type::kObject) return ", not an object";
  if (value.written.size() > kLongest) return {};
  return ", not " + std::string(value.written);
}

}  // namespace detail

// Takes a warning: "args.PATH: text", or "args: text".
using ArgsWarn = std::function<void(std::string_view)>;

// What is wrong is noted and reading goes on.
class ArgsObject {
 public:
  using Type = ArgsValue::Type;

  // A field in full, for problems: "a.b[2].c". Of "": this object.
  [[nodiscard]] std::string path(std::string_view key) const {
    if (key.empty() || path_.empty()) return path_ + printable(key);
    return path_ + "." + printable(key);
  }
  // Notes that something else is wrong with a field; of "": with this object.
  void problem(std::string_view key, std::string_view text) { problem_at(path(key), text); }
  // The same for a path as each_name() gives it.
  void problem_at(const std::string& path, std::string_view text) {
    if (!errors_->empty()) *errors_ += '\n';
    if (!path.empty()) errors_->append(path).append(": ");
    *errors_ += printable(text);
  }
  void warn(std::string_view key, std::string_view text) {
    const std::string at = path(key);
    if (*warn_) (*warn_)((at.empty() ? "args" : "args." + at) + ": " + printable(text));
  }

  // From here on null is a value in this object and those inside it, and none that fits a field.
  void refuse_nulls() { refuses_nulls_ = true; }

  [[nodiscard]] bool has(std::string_view key) { return member(key) != nullptr; }
  // The names of all fields, for an object that is a table.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, value] : object_->fields) out.push_back(name);
    return out;
  }
  // The value as it is, or null if the field is absent.
  [[nodiscard]] const ArgsValue* member(std::string_view key) {
    asked_.emplace_back(key);
    const auto found = object_->fields.find(key);
    if (found == object_->fields.end()) return nullptr;
    return found->second.type == Type::kNull && !refuses_nulls_ ? nullptr : &found->second;
  }

  // A field that must be there.
  void require(std::string_view key) {
    if (!has(key)) problem(key, "must be given");
  }

 protected:
  ArgsObject(const ArgsValue& object, std::string path, std::string& errors, const ArgsWarn& warn)
      : object_(&object), path_(std::move(path)), errors_(&errors), warn_(&warn) {}
  // An object inside this one.
  ArgsObject(const ArgsObject& outer, const ArgsValue& object, std::string path)
      : ArgsObject(object, std::move(path), *outer.errors_, *outer.warn_) {
    refuses_nulls_ = outer.refuses_nulls_;
  }

  bool must_be(std::string_view key, std::string_view wanted, const ArgsValue& value,
               const std::string& hint = {}) {
    problem(key, "must be " + std::string(wanted) + detail::not_this(value) + hint);
    return false;
  }

  const ArgsValue* typed(std::string_view key, Type type, std::string_view wanted) {
    const ArgsValue* value = member(key);
    if (value == nullptr || value->type == type) return value;
    must_be(key, wanted, *value);
    return nullptr;
  }

  // Takes each text of a list; false: it is not what is wanted.
  template <typename Take>
  bool texts(std::string_view key, std::string_view wanted, const Take& take) {
    const ArgsValue* list = typed(key, Type::kList, "a list");
    const size_t before = errors_so_far();
    for (size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      const std::string at = path(key) + "[" + std::to_string(i) + "]";
      const ArgsValue& item = list->items[i];
      if (item.type != Type::kString || !take(at, item.text)) {
        problem_at(at, "must be " + std::string(wanted) + detail::not_this(item));
      }
    }
    return list != nullptr && errors_so_far() == before;
  }

  void check_kind(std::initializer_list<std::string_view> kinds) {
    asked_ = {"apiVersion", "kind"};
    if (kinds.size() == 0) return;
    typed("apiVersion", Type::kString, "a string");
    const ArgsValue* kind = typed("kind", Type::kString, "a string");
    if (kind == nullptr || std::find(kinds.begin(), kinds.end(), kind->text) != kinds.end()) return;
    must_be("kind", *kinds.begin(), *kind);
  }
  // Every field that nobody asked for.
  void refuse_others() {
    for (const std::string& name : names()) {
      if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
      problem(name, "unknown field" + detail::did_you_mean(name, asked_));
    }
  }

  // How much of errors there was at some time, to see whether more came.
  [[nodiscard]] size_t errors_so_far() const { return errors_->size(); }

  std::vector<std::string> asked_;

 private:
  // No line of an error ends within a name or a value.
  static std::string printable(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
      if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
    }
    return out;
  }

  const ArgsValue* object_;
  std::string path_;
  std::string* errors_;  // of all objects, a line each
  const ArgsWarn* warn_;
  bool refuses_nulls_ = false;
};

}  // namespace plimsoll::sdk
