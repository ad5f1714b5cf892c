#include "framework/placement/class_cache.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll {

ClassTable* ClassCache::find(Framework& framework, const plimsoll_pod& pod) {
  if (!options_.enabled) return nullptr;
  signature_.clear();
  const Framework* profile = &framework;
  signature_.append(reinterpret_cast<const char*>(&profile), sizeof profile);
  PluginMask fresh = framework.run_sign(pod, signature_);
  if (signature_.size() > kLongestSignature) {
    signature_ = std::string();
    ++stats_.misses;
    return nullptr;
  }
  if (const auto found = by_signature_.find(signature_); found != by_signature_.end()) {
    const auto entry = found->second;
    entries_.splice(entries_.begin(), entries_, entry);
    measure(*entry);
    ++stats_.hits;
    return &entry->table;
  }
  ++stats_.misses;
  if (!seen_before(std::hash<std::string_view>()(signature_))) return nullptr;
  if (const auto distrusted = distrusted_.find(profile); distrusted != distrusted_.end()) {
    fresh |= distrusted->second;
  }
  entries_.push_front({signature_, profile, ClassTable(framework, fresh, room_)});
  by_signature_.emplace(entries_.front().signature, entries_.begin());
  ++stats_.tables;
  measure(entries_.front());
  return &entries_.front().table;
}

// Tables grow when they are filled and with the cluster: what one needs is known the next time.
void ClassCache::measure(Entry& entry) {
  table_bytes_ -= entry.bytes;
  entry.bytes = entry.signature.size() + entry.table.bytes();
  table_bytes_ += entry.bytes;
  while (table_bytes_ > options_.most_bytes && entries_.size() > 1) drop_last();
  stats_.bytes = table_bytes_ + room_.bytes();
}

void ClassCache::drop_last() {
  Entry& last = entries_.back();
  table_bytes_ -= last.bytes;
  --stats_.tables;
  ++stats_.dropped;
  by_signature_.erase(last.signature);
  entries_.pop_back();
}

bool ClassCache::seen_before(size_t hash) {
  return std::exchange(seen_[hash % seen_.size()], hash) == hash;
}

bool ClassCache::check_now() {
  if (options_.check_every == 0 || ++decisions_ < options_.check_every) return false;
  decisions_ = 0;
  ++stats_.checked;
  return true;
}

ClassCache::Part ClassCache::one_by_one(size_t rows) const {
  if (rows == 0) return {0, 0};
  const size_t count = (rows + kParts - 1) / kParts;
  const size_t parts = (rows + count - 1) / count;
  const size_t begin = stats_.checked % parts * count;
  return {begin, std::min(count, rows - begin)};
}

void ClassCache::distrust(const Framework& framework, PluginIndex plugin) {
  if (plugin != kNoPlugin) distrusted_[&framework].set(plugin);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->framework != &framework) {
      ++entry;
      continue;
    }
    table_bytes_ -= entry->bytes;
    --stats_.tables;
    by_signature_.erase(entry->signature);
    entry = entries_.erase(entry);
  }
  stats_.bytes = table_bytes_ + room_.bytes();
}

}  // namespace plimsoll
