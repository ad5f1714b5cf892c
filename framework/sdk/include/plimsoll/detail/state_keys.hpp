// Plimsoll plugin SDK, internal: the keys under which a plugin keeps state of a scheduling attempt.
#pragma once

#include <plimsoll/plugin_abi.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string_view>

namespace plimsoll::sdk::detail {

template <typename T>
constexpr std::string_view type_name() {
  return __PRETTY_FUNCTION__;
}

// Identifies a type by its address.
template <typename T>
inline constexpr char kTypeTag = 0;

// The state keys that this plugin has used. Calls on several threads find them without a lock.
class StateKeys {
 public:
  template <typename Make>
  plimsoll_symbol get(const void* tag, const Make& make) {
    for (Entry& entry : entries_) {
      const void* seen = entry.tag.load(std::memory_order_acquire);
      if (seen == tag) return entry.symbol;
      if (seen == nullptr) break;
    }
    std::lock_guard lock(mutex_);
    for (Entry& entry : entries_) {
      const void* seen = entry.tag.load(std::memory_order_relaxed);
      if (seen == tag) return entry.symbol;
      if (seen != nullptr) continue;
      entry.symbol = make();
      entry.tag.store(tag, std::memory_order_release);
      return entry.symbol;
    }
    return make();
  }

 private:
  struct Entry {
    std::atomic<const void*> tag{nullptr};
    plimsoll_symbol symbol = 0;
  };
  std::array<Entry, 16> entries_;
  std::mutex mutex_;
};

}  // namespace plimsoll::sdk::detail
