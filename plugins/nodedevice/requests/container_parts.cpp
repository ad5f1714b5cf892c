#include "plugins/nodedevice/requests/container_parts.hpp"

#include <tuple>

namespace plimsoll::devices {
namespace {

bool covers(const Amounts& amounts, const Amounts& least) {
  if ((least.present & ~amounts.present) != 0) return false;
  for (size_t dim = 0; dim < amounts.value.size(); ++dim)
    if (amounts.value[dim] < least.value[dim]) return false;
  return true;
}

// By position in the spec: while each init container runs, the sidecars before it run too.
void set_phases(std::vector<ContainerPart>& parts) {
  int phase = 0;
  for (ContainerPart& part : parts)
    part.phases = part.kind == ContainerKind::kInit ? uint64_t{1} << ++phase : 1;
  uint64_t later = 0;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->kind == ContainerKind::kInit) later |= part->phases;
    if (part->kind == ContainerKind::kSidecar) part->phases |= later;
  }
}

// The part at `index` is an init container that finds all it needs where `other` is: what runs
// beside the one runs beside the other too.
bool uses_what_other_has(const std::vector<ContainerPart>& parts, size_t index, size_t other) {
  const ContainerPart& init = parts[index];
  const ContainerPart& has = parts[other];
  if (other == index || (init.phases & has.phases) != 0) return false;
  if (!has.stays() && other < index) return false;  // sidecars may start between the two
  return has.count >= init.count && covers(has.per_device, init.per_device);
}

}  // namespace

void raise_to(Amounts& amounts, const Amounts& least) {
  amounts.present |= least.present;
  for (size_t dim = 0; dim < amounts.value.size(); ++dim)
    amounts.value[dim] = std::max(amounts.value[dim], least.value[dim]);
}

void arrange_parts(const DeviceType& type, std::vector<ContainerPart>& parts) {
  set_phases(parts);
  for (size_t i = 0; i < parts.size();) {
    bool covered = false;
    for (size_t other = 0; other < parts.size() && !parts[i].stays() && !covered; ++other)
      covered = uses_what_other_has(parts, i, other);
    if (covered)
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
  const auto order = [&type](const ContainerPart& part) {
    return std::tuple(!part.stays(), part.is_shared, -part.per_device.get(type.memory_dim),
                      -part.per_device.get(type.ratio_dim));
  };
  std::stable_sort(parts.begin(), parts.end(), [&](const auto& a, const auto& b) {
    const auto first = order(a);
    const auto second = order(b);
    if (first != second) return first < second;
    return a.per_device.value != b.per_device.value ? a.per_device.value > b.per_device.value
                                                    : a.count > b.count;
  });
}

PartLoad::PartLoad(const DeviceType& type, const std::vector<ContainerPart>& parts, size_t devices,
                   int64_t at_most, bool apart)
    : parts_(&parts),
      memory_((type.memory_dim < 0 ? 0U : 1U << type.memory_dim) |
              (type.ratio_dim < 0 ? 0U : 1U << type.ratio_dim)),
      left_(at_most),
      apart_(apart),
      devices_(devices) {}

uint32_t PartLoad::measure(const Amounts& amounts) const {
  return amounts.present & memory_;
}

Amounts PartLoad::sum(const Device& device, const ContainerPart* more) const {
  uint64_t left = more == nullptr ? 0 : more->phases;
  for (const size_t part : device.parts) left |= (*parts_)[part].phases;
  Amounts most;
  for (; left != 0; left &= left - 1) {
    const uint64_t phase = left & (~left + 1);
    Amounts sum;
    const auto add = [&](const ContainerPart& part) {
      if ((part.phases & phase) == 0) return;
      sum.present |= part.per_device.present;
      for (size_t dim = 0; dim < sum.value.size(); ++dim)
        sum.value[dim] = std::min(sum.value[dim] + part.per_device.value[dim], kMaxAmount);
    };
    for (const size_t part : device.parts) add((*parts_)[part]);
    if (more != nullptr) add(*more);
    raise_to(most, sum);
  }
  return most;
}

std::optional<Amounts> PartLoad::with(size_t device, size_t part) const {
  const Device& there = devices_[device];
  const ContainerPart& more = (*parts_)[part];
  if (there.parts.empty()) return left_ > 0 ? std::optional(more.per_device) : std::nullopt;
  if (apart_ || measure(there.held) != measure(more.per_device)) return std::nullopt;
  return sum(there, &more);
}

void PartLoad::add(size_t device, size_t part) {
  left_ -= empty(device) ? 1 : 0;
  devices_[device].parts.push_back(part);
  devices_[device].held = sum(devices_[device], nullptr);
}

void PartLoad::take_back(size_t device) {
  devices_[device].parts.pop_back();
  left_ += empty(device) ? 1 : 0;
  devices_[device].held = sum(devices_[device], nullptr);
}

struct PartLoad::Search {
  const Fits& fits;
  const std::function<bool()>& complete;
  int questions = 0;               // that may still be asked
  std::vector<size_t> first = {};  // by part: the first of its devices
};

// The devices of one part in ascending order; of parts that are alike, the first devices too.
bool PartLoad::lay(Search& search, size_t part, int64_t missing, size_t from) {
  if (missing == 0) {
    if (++part == parts_->size()) return !search.complete || search.complete();
    const auto alike = [](const ContainerPart& a, const ContainerPart& b) {
      return a.count == b.count && a.phases == b.phases && a.per_device == b.per_device;
    };
    missing = (*parts_)[part].count;
    from = alike((*parts_)[part], (*parts_)[part - 1]) ? search.first[part - 1] : 0;
  }
  const bool is_first = missing == (*parts_)[part].count;
  for (size_t device = from; device < devices_.size(); ++device) {
    if (static_cast<int64_t>(devices_.size() - device) < missing) return false;
    if (search.questions-- <= 0) return false;
    const auto held = with(device, part);
    if (!held || !search.fits(device, *held)) continue;
    add(device, part);
    if (is_first) search.first[part] = device;
    if (lay(search, part, missing - 1, device + 1)) return true;
    take_back(device);
  }
  return false;
}

bool PartLoad::lay_all(const Fits& fits, const std::function<bool()>& complete, int questions) {
  Search search{fits, complete, questions, std::vector<size_t>(parts_->size(), 0)};
  return lay(search, 0, (*parts_)[0].count, 0);
}

}  // namespace plimsoll::devices
