#include "plugins/nodedevice/device_type_args.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace plimsoll::devices {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxNames = 32;
constexpr int64_t kMaxFactor = int64_t{1} << 40;  // requests in TiB of what devices have in bytes

// Reads one entry into a type. Problems are noted and reading goes on, so that all are reported.
class TypeReader {
 public:
  TypeReader(DeviceType& type, ArgsProblems& problems) : type_(type), problems_(problems) {}

  void read(const Json& entry, const std::string& path) {
    problems_.object(entry, path,
                     {"name", "resource", "resources", "combinations", "memory", "topologyAware",
                      "sameHardware"});
    if (entry.contains("resource")) {
      if (entry.contains("resources") || entry.contains("combinations"))
        problem(path + ".resource", "cannot be given together with resources or combinations");
      read_short_form(entry["resource"], path + ".resource");
    }
    for (const auto& [at, name] : texts(entry, "resources", path)) add_resource(name, at);
    const Json* combinations = list(entry, "combinations", path);
    for (size_t i = 0; combinations != nullptr && i < combinations->size(); ++i)
      read_combination((*combinations)[i], path + ".combinations[" + std::to_string(i) + "]");
    if (const Json* memory = object(entry, "memory", path)) read_memory(*memory, path + ".memory");
    if (const auto it = entry.find("topologyAware"); it != entry.end()) {
      if (it->is_boolean())
        type_.is_topology_aware = it->get<bool>();
      else
        problem(path + ".topologyAware", "must be true or false");
    }
    if (const Json* same = object(entry, "sameHardware", path))
      read_same_hardware(*same, path + ".sameHardware");
    if (type_.dims.empty() || type_.combinations.empty())
      problem(path, "needs resource, or resources and combinations");
  }

 private:
  void problem(const std::string& path, const std::string& text) { problems_.add(path, text); }

  const Json* list(const Json& value, const char* key, const std::string& path) {
    const auto it = value.find(key);
    if (it == value.end()) return nullptr;
    if (it->is_array()) return &*it;
    problem(path + "." + key, "must be a list");
    return nullptr;
  }

  const Json* object(const Json& value, const char* key, const std::string& path) {
    const auto it = value.find(key);
    if (it == value.end()) return nullptr;
    if (it->is_object()) return &*it;
    problem(path + "." + key, "must be an object");
    return nullptr;
  }

  // Each with its path.
  std::vector<std::pair<std::string, std::string>> texts(const Json& value, const char* key,
                                                         const std::string& path) {
    std::vector<std::pair<std::string, std::string>> found;
    const Json* items = list(value, key, path);
    for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
      const std::string at = path + "." + key + "[" + std::to_string(i) + "]";
      if ((*items)[i].is_string() && !(*items)[i].get<std::string>().empty())
        found.emplace_back(at, current_resource_name((*items)[i].get<std::string>()));
      else
        problem(at, "must be a name");
    }
    return found;
  }

  std::string text(const Json& value, const char* key, const std::string& path) {
    const auto it = value.find(key);
    if (it != value.end() && it->is_string()) return it->get<std::string>();
    problem(path + "." + key, "must be a name");
    return {};
  }

  // A name that pods ask with; they are told apart from cpu and memory by their domain.
  std::optional<uint8_t> add_request(const std::string& name, const std::string& path) {
    for (size_t i = 0; i < type_.names.size(); ++i)
      if (type_.names[i].name == name) return static_cast<uint8_t>(i);
    if (name.find('/') == std::string::npos)
      problem(path, "must have a domain, like example.com/" + name);
    else if (type_.names.size() == kMaxNames)
      problem(path, "is one name more than the " + std::to_string(kMaxNames) + " of a type");
    else {
      type_.names.push_back({name});
      return static_cast<uint8_t>(type_.names.size() - 1);
    }
    return std::nullopt;
  }

  void add_resource(const std::string& name, const std::string& path) {
    if (std::find(type_.dims.begin(), type_.dims.end(), name) != type_.dims.end()) return;
    if (type_.dims.size() == static_cast<size_t>(kMaxDims))
      problem(path, "is one resource more than the " + std::to_string(kMaxDims) + " of a type");
    else
      type_.dims.push_back(name);
  }

  int dim_of(const std::string& resource) const {
    const auto it = std::find(type_.dims.begin(), type_.dims.end(), resource);
    return it == type_.dims.end() ? -1 : static_cast<int>(it - type_.dims.begin());
  }

  void read_short_form(const Json& value, const std::string& path) {
    if (!value.is_string() || value.get<std::string>().empty())
      return problem(path, "must be a name");
    const std::string name = current_resource_name(value.get<std::string>());
    add_resource(name, path);
    const auto request = add_request(name, path);
    const int dim = dim_of(name);
    if (!request || dim < 0) return;
    type_.names[*request].percent_with_own_text = true;
    type_.combinations.push_back({1U << *request,
                                  {{*request, static_cast<uint8_t>(dim)}},
                                  {},
                                  Combination::Count::kHundreds,
                                  *request});
  }

  // The request that `of` names, which the combination must have.
  std::optional<uint8_t> request_of(const Json& value, const char* key, const std::string& path,
                                    const Combination& combination) {
    const std::string name = current_resource_name(text(value, key, path));
    if (name.empty()) return std::nullopt;
    for (size_t i = 0; i < type_.names.size(); ++i)
      if (type_.names[i].name == name && (combination.names >> i & 1U) != 0)
        return static_cast<uint8_t>(i);
    problem(path + "." + key, "is not one of the combination's requests");
    return std::nullopt;
  }

  void read_count(const Json& count, const std::string& path, Combination& combination) {
    problems_.object(count, path, {"kind", "of"});
    const std::string kind = text(count, "kind", path);
    if (kind == "One") return;
    if (kind == "Value")
      combination.count = Combination::Count::kValue;
    else if (kind == "Hundreds")
      combination.count = Combination::Count::kHundreds;
    else
      return problem(path + ".kind", "must be One, Value or Hundreds");
    if (const auto of = request_of(count, "of", path, combination)) combination.count_name = *of;
  }

  void read_amount(const Json& amount, const std::string& path, Combination& combination) {
    if (!problems_.object(amount, path, {"resource", "of", "factor", "perDevice"})) return;
    const int dim = dim_of(current_resource_name(text(amount, "resource", path)));
    if (dim < 0) problem(path + ".resource", "is not one of the type's resources");
    const auto of = request_of(amount, "of", path, combination);
    int64_t factor = 1;
    if (const auto it = amount.find("factor"); it != amount.end()) {
      factor = it->is_number_integer() ? it->get<int64_t>() : 0;
      if (factor < 1 || factor > kMaxFactor)
        problem(path + ".factor", "must be a number from 1 to " + std::to_string(kMaxFactor));
    }
    const auto each = amount.find("perDevice");
    if (each != amount.end() && !each->is_boolean())
      problem(path + ".perDevice", "must be true or false");
    const bool per_device = each != amount.end() && *each == true;
    if (dim >= 0 && of)
      combination.mappings.push_back({*of, static_cast<uint8_t>(dim), factor, per_device});
  }

  void read_check(const Json& check, const std::string& path, Combination& combination) {
    if (!problems_.object(check, path, {"of", "percent", "atMost", "multipleOf"})) return;
    const auto of = request_of(check, "of", path, combination);
    const int kinds = static_cast<int>(check.contains("percent")) +
                      static_cast<int>(check.contains("atMost")) +
                      static_cast<int>(check.contains("multipleOf"));
    if (kinds != 1) return problem(path, "needs one of percent, atMost and multipleOf");
    Check read;
    read.name = of.value_or(0);
    if (check.contains("percent")) {
      if (check["percent"] != true) problem(path + ".percent", "must be true, or left out");
    } else if (check.contains("atMost")) {
      read.kind = Check::Kind::kAtMost;
      const bool is_number = check["atMost"].is_number_integer();
      read.limit = is_number ? check["atMost"].get<int64_t>() : 0;
      if (read.limit < 1) problem(path + ".atMost", "must be a number from 1 on");
    } else {
      read.kind = Check::Kind::kMultipleOf;
      read.by = request_of(check, "multipleOf", path, combination).value_or(0);
    }
    combination.checks.push_back(read);
  }

  void read_combination(const Json& value, const std::string& path) {
    if (!problems_.object(value, path, {"requests", "count", "amounts", "checks"})) return;
    Combination combination;
    const auto requests = texts(value, "requests", path);
    for (const auto& [at, name] : requests)
      if (const auto index = add_request(name, at)) combination.names |= 1U << *index;
    if (requests.empty()) problem(path + ".requests", "must be given");
    const bool known =
        std::any_of(type_.combinations.begin(), type_.combinations.end(),
                    [&](const Combination& other) { return other.names == combination.names; });
    if (known) problem(path + ".requests", "there is a combination of these already");
    if (const Json* count = object(value, "count", path))
      read_count(*count, path + ".count", combination);
    const Json* amounts = list(value, "amounts", path);
    for (size_t i = 0; amounts != nullptr && i < amounts->size(); ++i)
      read_amount((*amounts)[i], path + ".amounts[" + std::to_string(i) + "]", combination);
    if (amounts == nullptr)
      for (const auto& [at, name] : requests)
        if (const int dim = dim_of(name); dim >= 0)
          if (const auto index = add_request(name, at))
            combination.mappings.push_back({*index, static_cast<uint8_t>(dim)});
    if (combination.mappings.empty())
      problem(path, "says nothing about what a device gives: amounts must be given");
    const Json* checks = list(value, "checks", path);
    for (size_t i = 0; checks != nullptr && i < checks->size(); ++i)
      read_check((*checks)[i], path + ".checks[" + std::to_string(i) + "]", combination);
    type_.combinations.push_back(std::move(combination));
  }

  void read_memory(const Json& memory, const std::string& path) {
    problems_.object(memory, path, {"bytes", "percent"});
    const int bytes = dim_of(current_resource_name(text(memory, "bytes", path)));
    const int percent = dim_of(current_resource_name(text(memory, "percent", path)));
    if (bytes < 0 || percent < 0 || bytes == percent)
      return problem(path, "bytes and percent must be two of the type's resources");
    if (type_.memory_dim >= 0 && (type_.memory_dim != bytes || type_.ratio_dim != percent))
      return problem(path, "is known of this type already, and cannot be changed");
    type_.memory_dim = bytes;
    type_.ratio_dim = percent;
  }

  // Takes the place of what the type has.
  void read_same_hardware(const Json& same, const std::string& path) {
    if (!problems_.object(same, path, {"devices", "amounts", "claims"})) return;
    type_.same_hardware = {};
    for (auto& [at, name] : texts(same, "devices", path))
      type_.same_hardware.devices.push_back(std::move(name));
    for (auto& [at, name] : texts(same, "amounts", path))
      type_.same_hardware.amounts.push_back(std::move(name));
    const auto claims = same.find("claims");
    if (claims == same.end()) return;
    if (claims->is_boolean())
      type_.same_hardware.claims = claims->get<bool>();
    else
      problem(path + ".claims", "must be true or false");
  }

  DeviceType& type_;
  ArgsProblems& problems_;
};

// A name that two types take would ask for both.
void check_names(const std::vector<DeviceType>& types, const std::string& path,
                 ArgsProblems& problems) {
  std::set<std::string> taken;
  for (const DeviceType& type : types)
    for (const RequestName& name : type.names)
      if (!taken.insert(name.name).second)
        problems.add(path, name.name + " asks for another type already");
}

}  // namespace

std::vector<DeviceType> read_device_types(const Json& list, std::vector<DeviceType> types,
                                          ArgsProblems& problems) {
  const size_t before = problems.size();
  std::vector<DeviceType> read = types;
  const std::string field = "deviceTypes";
  if (!list.is_array()) {
    problems.add(field, "must be a list");
    return types;
  }
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string path = field + "[" + std::to_string(i) + "]";
    const Json& entry = list[i];
    const auto name = entry.is_object() ? entry.find("name") : entry.end();
    if (!entry.is_object() || name == entry.end() || !name->is_string() ||
        name->get<std::string>().empty()) {
      problems.add(path + ".name", "must be given");
      continue;
    }
    auto type = std::find_if(read.begin(), read.end(),
                             [&](const DeviceType& each) { return each.name == *name; });
    if (type == read.end()) {
      if (read.size() == static_cast<size_t>(kMaxTypes)) {
        problems.add(path, "is one type more than " + std::to_string(kMaxTypes));
        continue;
      }
      type = read.emplace(read.end());
      type->name = name->get<std::string>();
    }
    TypeReader(*type, problems).read(entry, path);
    check_names(read, path, problems);
  }
  return problems.size() == before ? read : types;
}

}  // namespace plimsoll::devices
