#include "plugins/dynamicresources/cel/functions/functions.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace plimsoll::dra::cel {
namespace {

constexpr std::string_view kUnsupportedNames[] = {"timestamp",
                                                  "duration",
                                                  "getFullYear",
                                                  "getMonth",
                                                  "getDayOfYear",
                                                  "getDayOfMonth",
                                                  "getDate",
                                                  "getDayOfWeek",
                                                  "getHours",
                                                  "getMinutes",
                                                  "getSeconds",
                                                  "getMilliseconds",
                                                  "url",
                                                  "isURL",
                                                  "getScheme",
                                                  "getHost",
                                                  "getHostname",
                                                  "getPort",
                                                  "getEscapedPath",
                                                  "getQuery",
                                                  "ip",
                                                  "isIP",
                                                  "ip.isCanonical",
                                                  "family",
                                                  "isUnspecified",
                                                  "isLoopback",
                                                  "isLinkLocalMulticast",
                                                  "isLinkLocalUnicast",
                                                  "isGlobalUnicast",
                                                  "cidr",
                                                  "isCIDR",
                                                  "containsIP",
                                                  "containsCIDR",
                                                  "masked",
                                                  "prefixLength",
                                                  "format",
                                                  "validate",
                                                  "net.IP",
                                                  "net.CIDR",
                                                  "kubernetes.URL",
                                                  "kubernetes.NamedFormat"};

class Table {
 public:
  Table() {
    for (const auto functions :
         {operators(), conversions(), string_functions(), pattern_functions(), list_functions(),
          optional_functions(), quantity_functions(), version_functions()})
      for (const Function& function : functions) add(function);
  }

  [[nodiscard]] const std::vector<Overload>* find(std::string_view name) const {
    const auto found = overloads_.find(name);
    return found == overloads_.end() ? nullptr : &found->second;
  }

 private:
  void add(const Function& function) {
    std::string_view rest = function.signatures;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('|'), rest.size());
      add_all(function, std::string(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  // One for each type of the class that the signature names.
  void add_all(const Function& function, const std::string& signature) {
    constexpr std::string_view kSummed[] = {"int", "uint", "double", "duration"};
    constexpr std::string_view kOrdered[] = {"int",      "uint",      "double", "bool",
                                             "duration", "timestamp", "string", "bytes"};
    const bool ordered = signature.find('C') != std::string::npos;
    if (!ordered && signature.find('S') == std::string::npos) return add_one(function, signature);
    const auto types = ordered ? std::span<const std::string_view>(kOrdered)
                               : std::span<const std::string_view>(kSummed);
    for (std::string_view type : types) {
      std::string one;
      for (char c : signature) c == 'C' || c == 'S' ? one.append(type) : one.append(1, c);
      add_one(function, one);
    }
  }

  void add_one(const Function& function, std::string_view signature) {
    Overload overload;
    overload.compute = function.compute;
    overload.member = !signature.starts_with('(');
    if (overload.member) overload.parameters.push_back(types_.read(&signature));
    signature.remove_prefix(overload.member ? 2 : 1);
    while (!signature.starts_with(')')) {
      overload.parameters.push_back(types_.read(&signature));
      if (signature.starts_with(", ")) signature.remove_prefix(2);
    }
    signature.remove_prefix(2);
    overload.result = types_.read(&signature);
    overloads_[function.name].push_back(std::move(overload));
  }

  Types types_;
  std::unordered_map<std::string_view, std::vector<Overload>> overloads_;
};

bool fits_type(const Type& type, const Value& value) {
  if (type.kind == Kind::kDyn || type.kind == Kind::kParam) return true;
  if (type.kind != value.kind) return false;
  // As in the reference the first element speaks for all, and flatten takes any list.
  if (type.kind == Kind::kList)
    return type.first->kind == Kind::kList || value.list->items.empty() ||
           fits_type(*type.first, value.list->items[0]);
  return true;
}

}  // namespace

bool Overload::fits(Arguments arguments) const {
  if (arguments.size() != parameters.size()) return false;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!fits_type(*parameters[i], arguments[i])) return false;
  return true;
}

const std::vector<Overload>* find_function(std::string_view name) {
  static const Table table;
  return table.find(name);
}

bool is_unsupported(std::string_view name) {
  return name.starts_with("google.protobuf.") ||
         std::find(std::begin(kUnsupportedNames), std::end(kUnsupportedNames), name) !=
             std::end(kUnsupportedNames);
}

bool is_conversion(std::string_view name) {
  const auto all = conversions();
  return std::any_of(all.begin(), all.end(), [&](const Function& f) { return f.name == name; });
}

}  // namespace plimsoll::dra::cel
