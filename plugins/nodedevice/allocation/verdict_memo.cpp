#include "plugins/nodedevice/allocation/verdict_memo.hpp"

namespace plimsoll::devices {

std::optional<Verdict> VerdictMemo::find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = verdicts_.find(key);
  if (found == verdicts_.end()) return std::nullopt;
  return found->second;
}

void VerdictMemo::put(const Key& key, Verdict verdict) {
  const std::lock_guard lock(mutex_);
  if (verdicts_.size() >= kMostKept) verdicts_.clear();
  verdicts_.emplace(key, verdict);
}

void VerdictMemo::clear() {
  const std::lock_guard lock(mutex_);
  verdicts_.clear();
}

}  // namespace plimsoll::devices
