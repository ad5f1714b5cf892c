#include "tests/plugins/dynamicresources/selector_stub.hpp"

#include <array>
#include <regex>
#include <stdexcept>

namespace plimsoll::dra::test {
namespace {

using Kind = Judgement::Kind;

struct RuntimeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct CompileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T>
const T* find(const std::map<std::string, T>& values, std::string_view driver,
              const std::string& domain, const std::string& id) {
  if (domain == driver) {
    if (const auto at = values.find(id); at != values.end()) return &at->second;
  }
  const auto at = values.find(domain + "/" + id);
  return at == values.end() ? nullptr : &at->second;
}

template <typename T>
const T& need(const T* value, const std::string& id) {
  if (value == nullptr) throw RuntimeError("no such key: " + id);
  return *value;
}

AttributeValue literal(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (text.starts_with('"')) return text.substr(1, text.size() - 2);
  return int64_t{std::stoll(text)};
}

bool includes(const AttributeValue& value, const AttributeValue& one) {
  if (value == one) return true;
  return std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::vector<int64_t>> ||
                      std::is_same_v<Held, std::vector<std::string>>) {
          const auto* wanted = std::get_if<typename Held::value_type>(&one);
          return wanted != nullptr && std::find(held.begin(), held.end(), *wanted) != held.end();
        } else {
          return false;
        }
      },
      value);
}

std::array<int, 3> version(const std::string& text) {
  std::array<int, 3> parts{};
  std::sscanf(text.c_str(), "%d.%d.%d", &parts[0], &parts[1], &parts[2]);
  return parts;
}

const std::regex& regex_of(const std::string& pattern) {
  static std::map<std::string, std::regex> known;
  const auto at = known.find(pattern);
  return at != known.end() ? at->second : known.emplace(pattern, pattern).first->second;
}

class Reader {
 public:
  Reader(std::string_view driver, const Device& device) : driver_(driver), device_(device) {}

  bool any_of(const std::string& text) const {
    for (size_t from = 0;;) {
      const size_t to = text.find(" || ", from);
      if (all_of(text.substr(from, to - from))) return true;
      if (to == std::string::npos) return false;
      from = to + 4;
    }
  }

 private:
  bool all_of(const std::string& text) const {
    for (size_t from = 0;;) {
      const size_t to = text.find(" && ", from);
      if (!term(text.substr(from, to - from))) return false;
      if (to == std::string::npos) return true;
      from = to + 4;
    }
  }

  bool matches(const std::string& text, const char* pattern) const {
    return std::regex_match(text, found_, regex_of(pattern));
  }
  const AttributeValue* attribute(size_t at) const {
    return find(device_.attributes, driver_, found_[at], found_[at + 1]);
  }
  bool truth(const AttributeValue& value) const {
    const bool* held = std::get_if<bool>(&value);
    if (held == nullptr) throw RuntimeError("no such overload");
    return *held;
  }

  bool term(const std::string& text) const {
    if (text == "true") return true;
    if (matches(text, R"re(device\.driver == "(.*)")re")) return driver_ == found_[1].str();
    if (matches(text, R"re(device\.allowMultipleAllocations( == (true|false))?)re")) {
      return device_.allow_multiple_allocations == (found_[2] != "false");
    }
    if (matches(text, R"re("(\w+)" in device\.capacity\["([^"]+)"\])re")) {
      return find(device_.capacity, driver_, found_[2], found_[1]) != nullptr;
    }
    if (matches(text, R"re("(\w+)" in device\.attributes\["([^"]+)"\])re")) {
      return find(device_.attributes, driver_, found_[2], found_[1]) != nullptr;
    }
    if (matches(text, R"re(has\(device\.attributes\["([^"]+)"\]\.(\w+)\))re")) {
      return attribute(1) != nullptr;
    }
    if (matches(
            text,
            R"re(device\.capacity\["([^"]+)"\]\.(\w+)\.(\w+)\(quantity\("(\w+)"\)\)( >=? 0)?)re")) {
      const Quantity& value =
          need(find(device_.capacity, driver_, found_[1], found_[2]), found_[2]).value;
      const Quantity than = *Quantity::parse(found_[4].str());
      if (found_[3] == "isLessThan") return value < than;
      return found_[5] == " >= 0" ? value >= than : value > than;
    }
    if (matches(text, R"re(device\.attributes\["([^"]+)"\]\.\?(\w+)\.orValue\((.+)\) == (.+))re")) {
      const AttributeValue* value = attribute(1);
      return (value != nullptr ? *value : literal(found_[3])) == literal(found_[4]);
    }
    if (matches(
            text,
            R"re(device\.attributes\["([^"]+)"\]\.\?(\w+)\.orValue\(\[\]\)\.includes\((.+)\))re")) {
      const AttributeValue* value = attribute(1);
      return value != nullptr && includes(*value, literal(found_[3]));
    }
    if (matches(text, R"re(device\.attributes\["([^"]+)"\](?:\.(\w+)|\["(\w+)"\])(.*))re")) {
      const std::string id = found_[2].matched ? found_[2] : found_[3];
      const AttributeValue& value = need(find(device_.attributes, driver_, found_[1], id), id);
      return of_value(value, found_[4]);
    }
    throw CompileError("not known here: " + text);
  }

  bool of_value(const AttributeValue& value, const std::string& rest) const {
    if (rest.empty()) return truth(value);
    if (matches(rest, " == (.+)")) return value == literal(found_[1]);
    if (matches(rest, " > (.+)")) {
      const int64_t* number = std::get_if<int64_t>(&value);
      if (number == nullptr) throw RuntimeError("no such overload");
      return *number > std::stoll(found_[1]);
    }
    if (matches(rest, R"re(\.includes\((.+)\))re")) return includes(value, literal(found_[1]));
    if (matches(rest, R"re(\.isGreaterThan\(semver\("(.+)"\)\))re")) {
      return version(std::get<Version>(value).text) > version(found_[1]);
    }
    const std::string* string = std::get_if<std::string>(&value);
    if (string == nullptr) throw RuntimeError("no such overload");
    if (matches(rest, R"re(\.matches\("(.+)"\))re")) {
      return std::regex_search(*string, regex_of(found_[1]));
    }
    if (matches(rest, R"re(\.startsWith\("(.+)"\))re")) return string->starts_with(found_[1].str());
    throw CompileError("not known here: " + rest);
  }

  std::string driver_;
  const Device& device_;
  mutable std::smatch found_;
};

}  // namespace

Judgement judge(const std::string& expression, std::string_view driver, const Device& device) {
  const Reader reader(driver, device);
  for (const auto& [name, value] : device.attributes) {
    if (value == AttributeValue(std::vector<int64_t>())) {
      return {Kind::kRuntimeError, "attribute " + name + ": unsupported attribute value"};
    }
  }
  try {
    std::smatch found;
    const auto is = [&](const char* pattern) {
      return std::regex_match(expression, found, regex_of(pattern));
    };
    bool result = false;
    if (is(R"re(cel\.bind\(a, device\.attributes\["(.+)"\], !has\(a\.slot\) \|\| a\.slot < (\d)\))re")) {
      const AttributeValue* slot = find(device.attributes, driver, found[1], "slot");
      result = slot == nullptr || std::get<int64_t>(*slot) < std::stoll(found[2]);
    } else if (is(R"re(device\.attributes\["([^"]+)"\]\.all\(k, k != "healthy" .*)re")) {
      const AttributeValue* healthy = find(device.attributes, driver, found[1], "healthy");
      result = healthy == nullptr || std::get<bool>(*healthy);
    } else {
      result = reader.any_of(expression);
    }
    return {result ? Kind::kTrue : Kind::kFalse, {}};
  } catch (const RuntimeError& error) {
    return {Kind::kRuntimeError, error.what()};
  } catch (const CompileError& error) {
    return {Kind::kCompileError, error.what()};
  }
}

}  // namespace plimsoll::dra::test
