#include "lab/sandbox/apiserver/traffic.hpp"

#include <algorithm>

namespace plimsoll::sandbox {

void Traffic::record(const RequestRecord& record) {
  std::function<void(const RequestRecord&)> hook;
  {
    const std::lock_guard lock(mutex_);
    RequestCount& count = counts_[{record.resource, record.verb}];
    count.verb = record.verb;
    count.resource = record.resource;
    ++count.requests;
    if (record.code >= 200 && record.code < 300) ++count.succeeded;
    hook = hook_;
  }
  if (hook) hook(record);
}

void Traffic::set_hook(std::function<void(const RequestRecord&)> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

bool Traffic::has_hook() const {
  const std::lock_guard lock(mutex_);
  return hook_ != nullptr;
}

std::vector<RequestCount> Traffic::counts() const {
  const std::lock_guard lock(mutex_);
  std::vector<RequestCount> counts;
  for (const auto& [key, count] : counts_) counts.push_back(count);
  return counts;
}

std::uint64_t Traffic::writes(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [key, count] : counts_) {
    const bool reads = count.verb == "get" || count.verb == "list" || count.verb == "watch";
    if (!reads && (resource.empty() || resource == count.resource)) sum += count.succeeded;
  }
  return sum;
}

void Traffic::reset() {
  const std::lock_guard lock(mutex_);
  counts_.clear();
}

void Traffic::inject(Fault fault) {
  const std::lock_guard lock(mutex_);
  dice_.seed(fault.seed);
  faults_.push_back(std::move(fault));
}

void Traffic::clear_faults() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

std::optional<Fault> Traffic::take_fault(const Route& route) {
  const std::lock_guard lock(mutex_);
  const std::string resource = route.resource_and_subresource();
  const auto found = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return (fault.verb.empty() || fault.verb == route.verb) &&
           (fault.resource.empty() || fault.resource == resource) &&
           (fault.share >= 1 || static_cast<double>(dice_() >> 11) * 0x1p-53 < fault.share);
  });
  if (found == faults_.end()) return std::nullopt;
  Fault fault = *found;
  if (--found->count <= 0) faults_.erase(found);
  return fault;
}

}  // namespace plimsoll::sandbox
