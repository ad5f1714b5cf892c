// Plimsoll plugin SDK: a strict reader of a plugin's args.
//
//   Seats(Host host, std::string_view args_json) {
//     read_args(host, args_json, {"SeatsArgs"}, [this](Args& args) {
//       args.read("label", label_);
//       args.read("most", most_, 1, 100);
//       args.choice("mode", mode_, {{"Strict", Mode::kStrict}, {"Loose", Mode::kLoose}});
//       args.each_object("rows", [this](Args& row) { row.read("name", names_.emplace_back()); });
//     });
//   }
//
// What is absent or null keeps the value that it has, so a member's initializer is its default. All
// that is wrong is found, fields that nobody asks for included, and thrown as one text: "path:
// problem", a line each. `plimsoll validate` shows each at its line of the profile file, and so
// each warning.
#pragma once

#include <plimsoll/args_object.hpp>
#include <plimsoll/host.hpp>
#include <plimsoll/quantity.hpp>

#include <algorithm>
#include <concepts>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::sdk {

class Args;

// Reads args with read(Args&); "" and "null" are args without fields. Throws std::runtime_error
// with all that is wrong. `kinds`: what the field kind may say, the usual one first; none:
// anything.
template <typename Read>
void read_args(std::string_view json, std::initializer_list<std::string_view> kinds,
               const Read& read, const ArgsWarn& warn = {});

// One object of the args: the args themselves, or what is inside them. What is wrong is noted and
// reading goes on. Functions that read say whether they found the field and nothing wrong with it.
class Args : public ArgsObject {
 public:
  bool read(std::string_view key, std::string& out) {
    const ArgsValue* value = typed(key, Type::kString, "a string");
    if (value != nullptr) out = value->text;
    return value != nullptr;
  }
  bool read(std::string_view key, bool& out) {
    const ArgsValue* value = typed(key, Type::kBool, "true or false");
    if (value != nullptr) out = value->written == "true";
    return value != nullptr;
  }
  // A number from `least` to `most`.
  template <std::integral T>
  requires(!std::same_as<T, bool>) bool read(std::string_view key, T& out,
                                             int64_t least = std::numeric_limits<T>::min(),
                                             int64_t most = kMost<T>) {
    const ArgsValue* value = member(key);
    if (value == nullptr) return false;
    int64_t number = 0;
    if (value->whole(number) && number >= least && number <= most) {
      out = static_cast<T>(number);
      return true;
    }
    std::string wanted = "a number from " + std::to_string(least);
    wanted += most == kMost<T> ? " on" : " to " + std::to_string(most);
    const bool any = least == std::numeric_limits<T>::min() && most == kMost<T>;
    if (std::signed_integral<T> && any) wanted = "a whole number";
    return must_be(key, wanted, *value);
  }
  // A list of texts.
  bool read(std::string_view key, std::vector<std::string>& out) {
    return texts(key, "a string", [&](const std::string&, const std::string& text) {
      out.push_back(text);
      return true;
    });
  }
  // One of a few words. Of those that are empty, an error says nothing.
  template <typename T>
  bool choice(std::string_view key, T& out,
              const std::vector<std::pair<std::string_view, T>>& words) {
    const ArgsValue* value = member(key);
    if (value == nullptr) return false;
    std::vector<std::string> names;
    for (const auto& [word, meaning] : words) {
      if (value->is_text(word)) {
        out = meaning;
        return true;
      }
      if (!word.empty()) names.emplace_back(word);
    }
    return must_be(key, detail::one_of(names), *value, detail::did_you_mean(value->text, names));
  }
  // A Kubernetes quantity, not negative, as text or number. `wanted` is for the error.
  bool quantity(std::string_view key, QuantityUnit unit, int64_t& out, std::string_view wanted) {
    const ArgsValue* value = member(key);
    if (value == nullptr) return false;
    const bool number = value->type == Type::kNumber;
    const auto amount = parse_quantity(number ? value->written : value->text, unit);
    if (!amount || *amount < 0) return must_be(key, wanted, *value);
    out = *amount;
    return true;
  }
  // A list of texts that are not empty: each(path, text).
  template <typename Each>
  bool each_name(std::string_view key, const Each& each) {
    return texts(key, "a name", [&](const std::string& path, const std::string& text) {
      if (!text.empty()) each(path, text);
      return !text.empty();
    });
  }
  // read(Args&) of the object.
  template <typename Read>
  bool object(std::string_view key, const Read& read) {
    const ArgsValue* value = typed(key, Type::kObject, "an object");
    return value != nullptr && inside(*value, path(key), read);
  }
  // The same of each object of a list.
  template <typename Each>
  bool each_object(std::string_view key, const Each& each) {
    const ArgsValue* list = typed(key, Type::kList, "a list");
    for (size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      inside(list->items[i], path(key) + "[" + std::to_string(i) + "]", each);
    }
    return list != nullptr;
  }

  // A field that is accepted and ignored: a warning if it says anything but what is usual.
  template <typename T>
  void idle(std::string_view key, const T& usual, std::string_view why) {
    T given = usual;
    if (read(key, given) && given != usual) warn(key, "has no effect: " + std::string(why));
  }

 private:
  template <typename Read>
  friend void read_args(std::string_view, std::initializer_list<std::string_view>, const Read&,
                        const ArgsWarn&);
  template <typename T>
  static constexpr int64_t kMost = static_cast<int64_t>(std::min<uint64_t>(
      std::numeric_limits<T>::max(), uint64_t{std::numeric_limits<int64_t>::max()}));

  using ArgsObject::ArgsObject;

  template <typename Read>
  bool inside(const ArgsValue& value, const std::string& path, const Read& read) {
    if (value.type != Type::kObject) {
      problem_at(path, "must be an object" + detail::not_this(value));
      return false;
    }
    const size_t before = errors_so_far();
    Args inner(*this, value, path);
    read(inner);
    inner.refuse_others();
    return errors_so_far() == before;
  }
};

template <typename Read>
void read_args(std::string_view json, std::initializer_list<std::string_view> kinds,
               const Read& read, const ArgsWarn& warn) {
  ArgsValue value;
  if (!json.empty() && !detail::ArgsReader(json).read(value)) {
    throw std::runtime_error("args are not JSON");
  }
  if (value.type != ArgsValue::Type::kNull && value.type != ArgsValue::Type::kObject) {
    throw std::runtime_error("args must be an object" + detail::not_this(value));
  }
  std::string errors;
  Args args(value, {}, errors, warn);
  args.check_kind(kinds);
  read(args);
  args.refuse_others();
  if (!errors.empty()) throw std::runtime_error(errors);
}

// The same for a plugin's constructor: warnings go to the host.
template <typename Read>
void read_args(const Host& host, std::string_view json,
               std::initializer_list<std::string_view> kinds, const Read& read) {
  read_args(json, kinds, read, [&host](std::string_view text) { host.warn(text); });
}

}  // namespace plimsoll::sdk
