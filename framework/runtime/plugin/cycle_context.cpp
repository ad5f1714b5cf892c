#include "framework/runtime/plugin/cycle_context.hpp"

#include <algorithm>

namespace {

std::shared_ptr<void> owned(void* value, void (*drop)(void*)) {
  if (drop == nullptr) return {value, [](void*) {}};
  return {value, drop};
}

}  // namespace

std::unique_lock<std::mutex> plimsoll_cycle::guard() const {
  if (!binding_.load(std::memory_order_acquire)) return {};
  return std::unique_lock(mutex_);
}

std::unique_ptr<plimsoll_cycle> plimsoll_cycle::clone() const {
  auto copy = std::make_unique<plimsoll_cycle>(framework);
  copy->skip_filter = skip_filter;
  copy->skip_score = skip_score;
  copy->skip_pre_bind = skip_pre_bind;
  copy->parallel_pre_bind = parallel_pre_bind;
  auto lock = guard();
  copy->annotations_ = annotations_;
  copy->entries_.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    const bool own = entry.clone != nullptr && entry.value != nullptr;
    copy->entries_.push_back({entry.key,
                              own ? owned(entry.clone(entry.value.get()), entry.drop) : entry.value,
                              entry.clone, entry.drop});
  }
  return copy;
}

void plimsoll_cycle::set_state(plimsoll_symbol key, void* value, void* (*clone)(const void*),
                               void (*drop)(void*)) {
  Entry entry{key, owned(value, drop), clone, drop};
  auto lock = guard();
  for (Entry& old : entries_) {
    if (old.key != key) continue;
    std::swap(old, entry);  // the old value is dropped after the lock is released
    return;
  }
  entries_.push_back(std::move(entry));
}

void* plimsoll_cycle::get_state(plimsoll_symbol key) const {
  auto lock = guard();
  for (const Entry& entry : entries_) {
    if (entry.key == key) return entry.value.get();
  }
  return nullptr;
}

void plimsoll_cycle::annotate(std::string_view key, std::string_view value) {
  auto lock = guard();
  for (auto& [known, text] : annotations_) {
    if (known == key) {
      text = value;
      return;
    }
  }
  annotations_.emplace_back(key, value);
}

plimsoll_cycle::Annotations plimsoll_cycle::annotations() const {
  auto lock = guard();
  return annotations_;
}
