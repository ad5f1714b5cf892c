#include "plugins/nodedevice/allocation/pcie_sets.hpp"

#include <algorithm>

namespace plimsoll::devices {
namespace {

class Search {
 public:
  Search(const std::vector<PcieSupply>& supply, const std::vector<int64_t>& needed,
         const std::function<bool(const std::vector<int>&)>& use)
      : supply_(supply), needed_(needed), use_(use), missing_(needed) {
    // The most that one more id can add, from each position on: sets without a chance are left out.
    most_.assign(supply.size() + 1, std::vector<int64_t>(needed.size(), 0));
    for (size_t i = supply.size(); i-- > 0;)
      for (size_t t = 0; t < needed.size(); ++t)
        most_[i][t] = std::max(most_[i + 1][t], supply[i].devices[t]);
  }

  bool with_size(size_t size, bool one_zone) {
    size_ = size;
    one_zone_ = one_zone;
    return extend(0);
  }

 private:
  bool extend(size_t from) {
    if (set_.size() == size_) return is_wanted() && use_(set_);
    for (size_t i = from; i + (size_ - set_.size()) <= supply_.size(); ++i) {
      if (left_-- <= 0 || !has_chance(i)) return false;
      if (one_zone_ && !set_.empty() && zone_of(set_.front()) != supply_[i].numa) continue;
      set_.push_back(static_cast<int>(i));
      for (size_t t = 0; t < needed_.size(); ++t) missing_[t] -= supply_[i].devices[t];
      const bool used = extend(i + 1);
      for (size_t t = 0; t < needed_.size(); ++t) missing_[t] += supply_[i].devices[t];
      set_.pop_back();
      if (used) return true;
    }
    return false;
  }

  [[nodiscard]] int zone_of(int position) const {
    return supply_[static_cast<size_t>(position)].numa;
  }

  [[nodiscard]] bool has_chance(size_t from) const {
    const auto more = static_cast<int64_t>(size_ - set_.size());
    for (size_t t = 0; t < needed_.size(); ++t)
      if (missing_[t] > more * most_[from][t]) return false;
    return true;
  }

  // Enough of everything; sets within one zone have had their turn before.
  [[nodiscard]] bool is_wanted() const {
    if (std::any_of(missing_.begin(), missing_.end(), [](int64_t count) { return count > 0; }))
      return false;
    return one_zone_ || std::any_of(set_.begin(), set_.end(), [&](int position) {
             return zone_of(position) != zone_of(set_.front());
           });
  }

  const std::vector<PcieSupply>& supply_;
  const std::vector<int64_t>& needed_;
  const std::function<bool(const std::vector<int>&)>& use_;
  std::vector<int64_t> missing_;
  std::vector<std::vector<int64_t>> most_;
  std::vector<int> set_;
  size_t size_ = 0;
  bool one_zone_ = false;
  int64_t left_ = kMaxPcieSets;
};

}  // namespace

bool for_each_pcie_set(const std::vector<PcieSupply>& supply, const std::vector<int64_t>& needed,
                       size_t largest, const std::function<bool(const std::vector<int>&)>& use) {
  Search search(supply, needed, use);
  for (size_t size = 1; size <= std::min(largest, supply.size()); ++size)
    for (const bool one_zone : {true, false})
      if (search.with_size(size, one_zone)) return true;
  return false;
}

}  // namespace plimsoll::devices
