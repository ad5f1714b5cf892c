#include "plugins/nodedevice/args/device_type_args.hpp"

#include <algorithm>
#include <optional>
#include <plimsoll/args.hpp>
#include <set>
#include <string>
#include <utility>

namespace plimsoll::devices {
namespace {

using sdk::Args;

constexpr size_t kMaxNames = 32;
constexpr int64_t kMaxFactor = int64_t{1} << 40;  // requests in TiB of what devices have in bytes

std::string name_in(Args& args, std::string_view key) {
  std::string name;
  if (!args.has(key) || (args.read(key, name) && name.empty())) args.problem(key, "must be a name");
  return current_resource_name(name);
}

// Each with its path.
std::vector<std::pair<std::string, std::string>> names_in(Args& args, std::string_view key) {
  std::vector<std::pair<std::string, std::string>> found;
  args.each_name(key, [&](const std::string& path, const std::string& name) {
    found.emplace_back(path, current_resource_name(name));
  });
  return found;
}

// Reads one entry into a type.
class TypeReader {
 public:
  TypeReader(DeviceType& type, Args& entry) : type_(type), entry_(entry) {}

  void read() {
    if (entry_.has("resource")) {
      if (entry_.has("resources") || entry_.has("combinations"))
        entry_.problem("resource", "cannot be given together with resources or combinations");
      read_short_form();
    }
    for (const auto& [at, name] : names_in(entry_, "resources")) add_resource(name, at);
    entry_.each_object("combinations", [this](Args& args) { read_combination(args); });
    entry_.object("memory", [this](Args& args) { read_memory(args); });
    entry_.read("topologyAware", type_.is_topology_aware);
    entry_.object("sameHardware", [this](Args& args) { read_same_hardware(args); });
    if (type_.dims.empty() || type_.combinations.empty())
      entry_.problem("", "needs resource, or resources and combinations");
  }

 private:
  // A name that pods ask with; they are told apart from cpu and memory by their domain.
  std::optional<uint8_t> add_request(const std::string& name, const std::string& path) {
    for (size_t i = 0; i < type_.names.size(); ++i)
      if (type_.names[i].name == name) return static_cast<uint8_t>(i);
    if (name.find('/') == std::string::npos)
      entry_.problem_at(path, "must have a domain, like example.com/" + name);
    else if (type_.names.size() == kMaxNames)
      entry_.problem_at(path,
                        "is one name more than the " + std::to_string(kMaxNames) + " of a type");
    else {
      type_.names.push_back({name});
      return static_cast<uint8_t>(type_.names.size() - 1);
    }
    return std::nullopt;
  }

  void add_resource(const std::string& name, const std::string& path) {
    if (std::find(type_.dims.begin(), type_.dims.end(), name) != type_.dims.end()) return;
    if (type_.dims.size() == static_cast<size_t>(kMaxDims))
      entry_.problem_at(path,
                        "is one resource more than the " + std::to_string(kMaxDims) + " of a type");
    else
      type_.dims.push_back(name);
  }

  int dim_of(const std::string& resource) const {
    const auto it = std::find(type_.dims.begin(), type_.dims.end(), resource);
    return it == type_.dims.end() ? -1 : static_cast<int>(it - type_.dims.begin());
  }

  void read_short_form() {
    const std::string name = name_in(entry_, "resource");
    if (name.empty()) return;
    const std::string path = entry_.path("resource");
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

  // The request that the field names, which the combination must have.
  std::optional<uint8_t> request_of(Args& args, std::string_view key,
                                    const Combination& combination) {
    const std::string name = name_in(args, key);
    if (name.empty()) return std::nullopt;
    for (size_t i = 0; i < type_.names.size(); ++i)
      if (type_.names[i].name == name && (combination.names >> i & 1U) != 0)
        return static_cast<uint8_t>(i);
    args.problem(key, "is not one of the combination's requests");
    return std::nullopt;
  }

  void read_count(Args& args, Combination& combination) {
    args.require("kind");
    args.choice("kind", combination.count,
                {{"One", Combination::Count::kOne},
                 {"Value", Combination::Count::kValue},
                 {"Hundreds", Combination::Count::kHundreds}});
    if (combination.count == Combination::Count::kOne)
      static_cast<void>(args.has("of"));  // means nothing
    else if (const auto of = request_of(args, "of", combination))
      combination.count_name = *of;
  }

  void read_amount(Args& args, Combination& combination) {
    const int dim = dim_of(name_in(args, "resource"));
    if (dim < 0) args.problem("resource", "is not one of the type's resources");
    const auto of = request_of(args, "of", combination);
    int64_t factor = 1;
    args.read("factor", factor, 1, kMaxFactor);
    bool per_device = false;
    args.read("perDevice", per_device);
    if (dim >= 0 && of)
      combination.mappings.push_back({*of, static_cast<uint8_t>(dim), factor, per_device});
  }

  void read_check(Args& args, Combination& combination) {
    Check read;
    read.name = request_of(args, "of", combination).value_or(0);
    const bool percent = args.has("percent");
    const bool at_most = args.has("atMost");
    const bool multiple_of = args.has("multipleOf");
    if (int{percent} + int{at_most} + int{multiple_of} != 1)
      return args.problem("", "needs one of percent, atMost and multipleOf");
    if (percent) {
      bool is_one = false;
      if (args.read("percent", is_one) && !is_one)
        args.problem("percent", "must be true, or left out");
    } else if (at_most) {
      read.kind = Check::Kind::kAtMost;
      args.read("atMost", read.limit, 1);
    } else {
      read.kind = Check::Kind::kMultipleOf;
      read.by = request_of(args, "multipleOf", combination).value_or(0);
    }
    combination.checks.push_back(read);
  }

  void read_combination(Args& args) {
    Combination combination;
    const auto requests = names_in(args, "requests");
    for (const auto& [at, name] : requests)
      if (const auto index = add_request(name, at)) combination.names |= 1U << *index;
    if (requests.empty()) args.problem("requests", "must be given");
    const bool known =
        std::any_of(type_.combinations.begin(), type_.combinations.end(),
                    [&](const Combination& other) { return other.names == combination.names; });
    if (known) args.problem("requests", "there is a combination of these already");
    args.object("count", [&](Args& count) { read_count(count, combination); });
    const bool any_amounts =
        args.each_object("amounts", [&](Args& amount) { read_amount(amount, combination); });
    if (!any_amounts)
      for (const auto& [at, name] : requests)
        if (const int dim = dim_of(name); dim >= 0)
          if (const auto index = add_request(name, at))
            combination.mappings.push_back({*index, static_cast<uint8_t>(dim)});
    if (combination.mappings.empty())
      args.problem("", "says nothing about what a device gives: amounts must be given");
    args.each_object("checks", [&](Args& check) { read_check(check, combination); });
    type_.combinations.push_back(std::move(combination));
  }

  void read_memory(Args& args) {
    const int bytes = dim_of(name_in(args, "bytes"));
    const int percent = dim_of(name_in(args, "percent"));
    if (bytes < 0 || percent < 0 || bytes == percent)
      return args.problem("", "bytes and percent must be two of the type's resources");
    if (type_.memory_dim >= 0 && (type_.memory_dim != bytes || type_.ratio_dim != percent))
      return args.problem("", "is known of this type already, and cannot be changed");
    type_.memory_dim = bytes;
    type_.ratio_dim = percent;
  }

  // Takes the place of what the type has.
  void read_same_hardware(Args& args) {
    type_.same_hardware = {};
    for (auto& [at, name] : names_in(args, "devices"))
      type_.same_hardware.devices.push_back(std::move(name));
    for (auto& [at, name] : names_in(args, "amounts"))
      type_.same_hardware.amounts.push_back(std::move(name));
    args.read("claims", type_.same_hardware.claims);
  }

  DeviceType& type_;
  Args& entry_;
};

// A name that two types take would ask for both.
void check_names(const std::vector<DeviceType>& types, Args& entry) {
  std::set<std::string> taken;
  for (const DeviceType& type : types)
    for (const RequestName& name : type.names)
      if (!taken.insert(name.name).second)
        entry.problem("", name.name + " asks for another type already");
}

// The type that an entry is about; what cannot be one is told, and read all the same.
DeviceType& type_of(Args& entry, std::vector<DeviceType>& types, DeviceType& none) {
  std::string name;
  if (!entry.has("name") || (entry.read("name", name) && name.empty()))
    entry.problem("name", "must be given");
  if (name.empty()) return none;
  const auto known = std::find_if(types.begin(), types.end(),
                                  [&](const DeviceType& each) { return each.name == name; });
  if (known != types.end()) return *known;
  if (types.size() == static_cast<size_t>(kMaxTypes)) {
    entry.problem("", "is one type more than " + std::to_string(kMaxTypes));
    return none;
  }
  types.emplace_back().name = name;
  return types.back();
}

}  // namespace

void read_device_types(Args& args, std::vector<DeviceType>& types) {
  args.each_object("deviceTypes", [&](Args& entry) {
    entry.refuse_nulls();
    DeviceType none;
    TypeReader(type_of(entry, types, none), entry).read();
    check_names(types, entry);
  });
}

}  // namespace plimsoll::devices
