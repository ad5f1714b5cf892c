#include "plugins/dynamicresources/allocator/known_slice.hpp"

#include <utility>

namespace plimsoll::dra {

KnownSlice::KnownSlice(Slice from, DeviceNumbers& numbers)
    : spec(std::move(from)), numbers_(numbers) {
  devices.reserve(spec.devices.size());
  for (const Device& device : spec.devices) {
    KnownDevice& known = devices.emplace_back();
    known.device = &device;
    known.slice = this;
    known.index = static_cast<uint32_t>(devices.size() - 1);
    known.number = numbers.take_device(spec.driver, spec.pool, device.name);
    known.whole = consumption(device, {});
    for (const CounterUse& use : device.consumes) {
      uses_groups = uses_groups || use.has_compatibility_groups;
    }
  }
}

KnownSlice::~KnownSlice() {
  for (const KnownDevice& device : devices) numbers_.give_back_device(device.number);
}

std::shared_ptr<CounterTable> CounterTable::of(const std::vector<KnownSlice*>& slices) {
  auto table = std::make_shared<CounterTable>();
  std::map<std::string_view, std::map<std::string_view, uint32_t>> sets;
  for (const KnownSlice* slice : slices) {
    for (const CounterSet& set : slice->spec.counters) {
      const auto [at, is_new] = sets.try_emplace(set.name);
      if (!is_new) return nullptr;
      for (const auto& [name, amount] : set.counters) {
        at->second[name] = static_cast<uint32_t>(table->declared_.size());
        table->declared_.push_back(countable(amount));
      }
    }
  }
  for (const KnownSlice* slice : slices) {
    if (!slice->spec.counters.empty()) continue;
    for (const KnownDevice& device : slice->devices) {
      if (device.device->consumes.empty()) continue;
      std::map<uint32_t, Quantity::Nanos> sums;
      for (const CounterUse& use : device.device->consumes) {
        const auto set = sets.find(use.set);
        if (set == sets.end()) return nullptr;
        for (const auto& [name, amount] : use.counters) {
          const auto counter = set->second.find(name);
          if (counter == set->second.end()) return nullptr;
          sums[counter->second] += countable(amount);
        }
      }
      Draws& draws = table->draws_[&device];
      for (const auto& [counter, amount] : sums) draws.push_back({counter, amount});
    }
  }
  return table;
}

const CounterTable::Draws* CounterTable::draws(const KnownDevice& device) const {
  if (device.device->consumes.empty()) return nullptr;
  const auto found = draws_.find(&device);
  return found == draws_.end() ? nullptr : &found->second;
}

const CounterTable::Left& CounterTable::left(const Allocated& allocated, uint32_t pool) const {
  const uint64_t version = allocated.version_of(pool);
  if (counted_ == &allocated && version_ == version) return left_;
  counted_ = &allocated;
  version_ = version;
  left_ = {declared_, false};
  for (const auto& [device, draws] : draws_) {
    if (allocated.use_of(device->number) == nullptr) continue;
    for (const Draw& draw : draws) left_.amounts[draw.counter] -= draw.amount;
  }
  for (const Quantity::Nanos amount : left_.amounts) {
    left_.overdrawn = left_.overdrawn || amount < 0;
  }
  return left_;
}

}  // namespace plimsoll::dra
