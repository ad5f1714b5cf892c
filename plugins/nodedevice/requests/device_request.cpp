#include "plugins/nodedevice/requests/device_request.hpp"

#include <algorithm>
#include <bit>

#include "plugins/nodedevice/text/quantity_text.hpp"

namespace plimsoll::devices {
namespace {

constexpr std::string_view kPercentRule = "must be at most 100, or a multiple of 100";
constexpr size_t kMostSuggested = 4;

// The values that a pod asks for of one type, by name.
struct Asked {
  uint32_t names = 0;
  std::array<int64_t, 32> values{};

  [[nodiscard]] int64_t value(uint8_t name) const { return values[name]; }
};

using AskedByType = std::array<Asked, kMaxTypes>;

// The current spelling of a name wins over the deprecated one.
AskedByType collect(const DeviceTypes& types, std::span<const ResourceQuantity> requests) {
  AskedByType asked;
  for (const bool deprecated : {false, true}) {
    for (const ResourceQuantity& request : requests) {
      if (request.value <= 0) continue;
      const auto found = types.find_request(request.name);
      if (!found) continue;
      const auto [type, name] = *found;
      const bool is_old = types.type(type).names[static_cast<size_t>(name)].name != request.name;
      Asked& of_type = asked[static_cast<size_t>(type)];
      if (is_old != deprecated || (of_type.names >> name & 1U) != 0) continue;
      of_type.names |= 1U << name;
      of_type.values[static_cast<size_t>(name)] = std::min(request.value, kMaxAmount);
    }
  }
  return asked;
}

bool is_percent(int64_t value) {
  return value <= 100 || value % 100 == 0;
}

// What the request must be; empty: it is.
std::string broken(const DeviceType& type, const Check& check, const Asked& asked) {
  const int64_t value = asked.value(check.name);
  const std::string is = type.names[check.name].name + " is " + decimal_text(value) + ", ";
  switch (check.kind) {
    case Check::Kind::kPercent:
      return is_percent(value) ? "" : is + std::string(kPercentRule);
    case Check::Kind::kAtMost:
      return value <= check.limit ? "" : is + "must be at most " + decimal_text(check.limit);
    case Check::Kind::kMultipleOf: {
      const int64_t by = asked.value(check.by);
      if (by > 0 && value % by == 0 && value / by <= 100) return {};
      return is + "must be a multiple of " + type.names[check.by].name + " (" + decimal_text(by) +
             "), and at most 100 for each";
    }
  }
  return {};
}

std::string names_of(const DeviceType& type, uint32_t asked, std::string_view between) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < type.names.size(); ++i)
    if ((asked >> i & 1U) != 0) names.push_back(type.names[i].name);
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string_view name : names)
    text += (text.empty() ? "" : std::string(between)) + std::string(name);
  return text;
}

std::string invalid_requests(const DeviceType& type, const Asked& asked) {
  return "invalid resource device requests: [" + names_of(type, asked.names, " ") + "]";
}

// The combinations that are nearest to what is asked for.
std::string legal_instead(const DeviceType& type, const Asked& asked) {
  std::vector<uint32_t> near;
  for (const Combination& combination : type.combinations)
    if ((combination.names & asked.names) != 0) near.push_back(combination.names);
  std::stable_sort(near.begin(), near.end(), [&](uint32_t a, uint32_t b) {
    return std::popcount(a ^ asked.names) < std::popcount(b ^ asked.names);
  });
  if (near.size() > kMostSuggested) near.resize(kMostSuggested);
  std::string text;
  for (const uint32_t names : near)
    text += (text.empty() ? "" : ", or ") + names_of(type, names, " with ");
  return text.empty() ? "no combination has these" : "legal is " + text;
}

int64_t device_count(const Combination& combination, const Asked& asked) {
  const int64_t value = std::min(asked.value(combination.count_name), kMaxAmount);
  switch (combination.count) {
    case Combination::Count::kOne:
      return 1;
    case Combination::Count::kValue:
      return std::max<int64_t>(value, 1);
    case Combination::Count::kHundreds:
      return value > 100 ? value / 100 : 1;
  }
  return 1;
}

TypeRequest normalise(const DeviceType& type, int index, const Combination& combination,
                      const Asked& asked) {
  TypeRequest request;
  request.type = index;
  request.count = device_count(combination, asked);
  for (const Mapping& mapping : combination.mappings) {
    const int64_t value = asked.value(mapping.name);
    const int64_t scaled =
        value > kMaxAmount / mapping.factor ? kMaxAmount : value * mapping.factor;
    const bool each = mapping.per_device;
    const int64_t total =
        each ? scaled > kMaxAmount / request.count ? kMaxAmount : scaled * request.count : scaled;
    request.total.set(mapping.dim, total);
    request.per_device.set(mapping.dim, each ? scaled : scaled / request.count);
  }
  if (type.shared_name >= 0) request.shares = asked.value(static_cast<uint8_t>(type.shared_name));
  if (type.ratio_dim >= 0) {
    const bool part_of_ratio =
        request.per_device.has(type.ratio_dim) && request.per_device.get(type.ratio_dim) < 100;
    request.is_shared = part_of_ratio || request.per_device.has(type.memory_dim);
  }
  return request;
}

// What a pod, or one of its containers, asks for by itself.
Result<TypeRequest> parse_whole(const DeviceTypes& types, int index, const Asked& asked) {
  const DeviceType& type = types.type(index);
  for (size_t i = 0; i < type.names.size(); ++i) {
    if ((asked.names >> i & 1U) == 0 || !type.names[i].percent_with_own_text) continue;
    const int64_t value = asked.values[i];
    if (!is_percent(value))
      return fail("invalid resource unit " + type.names[i].name + ": " + decimal_text(value) +
                  ": " + std::string(kPercentRule));
  }
  for (const Combination& combination : type.combinations) {
    if (combination.names != asked.names) continue;
    for (const Check& check : combination.checks)
      if (const std::string rule = broken(type, check, asked); !rule.empty())
        return fail(invalid_requests(type, asked) + ": " + rule);
    TypeRequest request = normalise(type, index, combination, asked);
    for (size_t dim = 0; dim < type.dims.size(); ++dim)
      if (request.per_device.has(static_cast<int>(dim)) && request.per_device.value[dim] == 0)
        return fail(invalid_requests(type, asked) + ": less than one " + type.dims[dim] +
                    " for each of " + std::to_string(request.count) + " devices");
    return request;
  }
  return fail(invalid_requests(type, asked) + ": " + legal_instead(type, asked));
}

// An amount of each device is the container's: added up over containers it would mean nothing.
Result<TypeRequest> parse_type(const DeviceTypes& types, int index, const Asked& asked,
                               std::span<const ContainerRequests> containers) {
  if (containers.size() < 2 || (asked.names & types.per_device_names(index)) == 0)
    return parse_whole(types, index, asked);
  std::vector<std::pair<const ContainerRequests*, Asked>> asking;
  for (const ContainerRequests& container : containers) {
    const Asked own = collect(types, container.requests)[static_cast<size_t>(index)];
    if (own.names != 0) asking.emplace_back(&container, own);
  }
  if (asking.size() < 2) return parse_whole(types, index, asked);
  if (asking.size() > kMostParts)
    return fail(std::to_string(asking.size()) + " containers ask for devices of type " +
                types.type(index).name + ": must be at most " + std::to_string(kMostParts));
  std::vector<ContainerPart> parts;
  for (const auto& [container, own] : asking) {
    const auto request = parse_whole(types, index, own);
    if (!request) return fail("container " + std::string(container->name) + ": " + request.error());
    ContainerPart part;
    part.name = std::string(container->name);
    part.kind = container->kind;
    part.count = request->count;
    part.per_device = request->per_device;
    part.is_shared = request->is_shared;
    parts.push_back(std::move(part));
  }
  arrange_parts(types.type(index), parts);
  TypeRequest request;
  request.type = index;
  request.count = most_at_once(parts, [](const ContainerPart& part) { return part.count; });
  for (const ContainerPart& part : parts) {
    request.is_shared = request.is_shared || part.is_shared;
    raise_to(request.per_device, part.per_device);
  }
  for (int dim = 0; dim < kMaxDims; ++dim)
    if (request.per_device.has(dim))
      request.total.set(dim, most_at_once(parts, [dim](const ContainerPart& part) {
                          const int64_t each = part.per_device.get(dim);
                          return each > kMaxAmount / part.count ? kMaxAmount : each * part.count;
                        }));
  if (parts.size() > 1) request.parts = std::move(parts);
  return request;
}

}  // namespace

Result<DeviceRequest> parse_device_request(const DeviceTypes& types,
                                           std::span<const ResourceQuantity> requests,
                                           std::span<const ContainerRequests> containers) {
  const AskedByType asked = collect(types, requests);
  DeviceRequest parsed;
  for (int t = 0; t < types.count(); ++t) {
    const Asked& of_type = asked[static_cast<size_t>(t)];
    if (of_type.names == 0) continue;
    auto request = parse_type(types, t, of_type, containers);
    if (!request) return fail(request.error());
    parsed.types.push_back(*request);
  }
  return parsed;
}

std::array<AskedOfType, kMaxTypes> asked_by_type(const DeviceTypes& types,
                                                 std::span<const ResourceQuantity> requests,
                                                 std::span<const ContainerRequests> containers) {
  std::array<AskedOfType, kMaxTypes> all;
  if (requests.empty()) return all;
  const AskedByType asked = collect(types, requests);
  for (int t = 0; t < types.count(); ++t) {
    const Asked& of_type = asked[static_cast<size_t>(t)];
    if (of_type.names == 0) continue;
    AskedOfType& found = all[static_cast<size_t>(t)];
    if (auto request = parse_type(types, t, of_type, containers)) {
      found = {request->count, *request};
      continue;
    }
    // Not a combination that means anything: the largest number that one of its names could mean.
    found.count = 1;
    for (const Combination& combination : types.type(t).combinations)
      if ((combination.names & of_type.names) != 0)
        found.count = std::max(found.count, device_count(combination, of_type));
  }
  return all;
}

Elsewhere devices_elsewhere(const DeviceTypes& types, std::span<const ResourceQuantity> requests) {
  Elsewhere elsewhere{};
  uint32_t unbounded = 0;
  for (const ResourceQuantity& request : requests) {
    if (request.value <= 0 || types.find_request(request.name)) continue;
    const DeviceTypes::Uses uses = types.find_same_hardware(request.name);
    unbounded |= uses.amounts | uses.claims;
    for (int t = 0; t < types.count(); ++t) {
      if ((uses.devices >> t & 1U) == 0) continue;
      int64_t& count = elsewhere[static_cast<size_t>(t)];
      count = std::min(count + std::min(request.value, kMaxAmount), kMaxAmount);
    }
  }
  for (int t = 0; t < types.count(); ++t)
    if ((unbounded >> t & 1U) != 0) elsewhere[static_cast<size_t>(t)] = kAnyNumber;
  return elsewhere;
}

int64_t ratio_to_bytes(int64_t ratio, int64_t total_bytes) {
  const auto wide = static_cast<__int128>(ratio) * total_bytes / 100;
  return wide > kMaxAmount ? kMaxAmount : static_cast<int64_t>(wide);
}

int64_t bytes_to_ratio(int64_t bytes, int64_t total_bytes) {
  if (total_bytes <= 0) return bytes > 0 ? kMaxAmount : 0;
  const auto wide = (static_cast<__int128>(bytes) * 100 + total_bytes - 1) / total_bytes;
  return wide > kMaxAmount ? kMaxAmount : static_cast<int64_t>(wide);
}

std::string amount_text(const DeviceType& type, int dim, int64_t amount) {
  return dim == type.memory_dim ? binary_text(amount) : decimal_text(amount);
}

Amounts amounts_on_device(const DeviceType& type, const Amounts& per_device, const Amounts& total) {
  Amounts amounts = per_device;
  if (type.memory_dim < 0 || type.ratio_dim < 0) return amounts;
  const bool has_memory = per_device.has(type.memory_dim);
  const bool has_ratio = per_device.has(type.ratio_dim);
  const int64_t total_bytes = total.get(type.memory_dim);
  if (total_bytes <= 0) return amounts;
  // Not "has_memory == has_ratio": g++ 12.2 with -fsanitize=shift gets that comparison wrong.
  if (has_ratio && !has_memory)
    amounts.set(type.memory_dim, ratio_to_bytes(per_device.get(type.ratio_dim), total_bytes));
  if (has_memory && !has_ratio && total.has(type.ratio_dim))
    amounts.set(type.ratio_dim, bytes_to_ratio(per_device.get(type.memory_dim), total_bytes));
  return amounts;
}

}  // namespace plimsoll::devices
