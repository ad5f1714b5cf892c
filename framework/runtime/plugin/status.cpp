#include "framework/runtime/plugin/status.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace plimsoll {

namespace {

constexpr size_t kMostBytes = size_t{32} << 20;  // of one step
constexpr size_t kLongest = size_t{2} << 10;     // twice the longest note of an event

// Shortens a list, in case a plugin puts thousands of names into a reason.
std::vector<std::string_view> cut(std::span<const std::string_view> texts) {
  std::vector<std::string_view> kept;
  size_t bytes = 0;
  for (std::string_view text : texts) {
    if (bytes + text.size() > kLongest) {
      if (const size_t room = kLongest - bytes; room > 0 && kept.empty()) {
        kept.push_back(text.substr(0, room));
      }
      kept.emplace_back("...");
      break;
    }
    bytes += text.size();
    kept.push_back(text);
  }
  return kept;
}

std::string key_of(std::span<const std::string_view> texts) {
  std::string key;
  for (std::string_view text : texts) {
    key += std::to_string(text.size());
    key += ':';
    key += text;
  }
  return key;
}

}  // namespace

std::string code_name(int32_t code) {
  switch (code) {
    case PLIMSOLL_SUCCESS:
      return "Success";
    case PLIMSOLL_ERROR:
      return "Error";
    case PLIMSOLL_UNSCHEDULABLE:
      return "Unschedulable";
    case PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE:
      return "UnschedulableAndUnresolvable";
    case PLIMSOLL_WAIT:
      return "Wait";
    case PLIMSOLL_SKIP:
      return "Skip";
    case PLIMSOLL_PENDING:
      return "Pending";
    default:
      return "code " + std::to_string(code);
  }
}

std::string Status::message(const ReasonTable& reasons) const {
  std::string text = error;
  if (reason == 0) return text;
  if (!text.empty()) text += ", ";
  return text + reasons.message(reason);
}

struct ReasonTable::Impl {
  struct Entry {
    std::vector<std::string> texts;
    const std::string* key = nullptr;  // in ids
    size_t holders = 0;
    bool stays = false;
    bool passing = false;  // in `passing`

    // With what the containers take.
    [[nodiscard]] size_t bytes() const { return 2 * key->size() + 128; }
  };

  uint32_t next_id() {
    do {
      ++newest;
    } while (newest == 0 || entries.contains(newest));
    if (newest > last.load(std::memory_order_relaxed)) {
      last.store(newest, std::memory_order_release);
    }
    return newest;
  }
  void pass(uint32_t id, Entry& entry) {
    if (entry.stays || entry.holders != 0 || std::exchange(entry.passing, true)) return;
    passing.push_back(id);
    any_passing.store(true, std::memory_order_relaxed);
    passing_bytes += entry.bytes();
  }
  // False: there is no room for it.
  bool place(Entry& entry, ReasonQuota* quota) {
    const size_t size = entry.bytes();
    entry.stays = quota == nullptr || (quota->lists > 0 && quota->bytes >= size);
    if (entry.stays && quota != nullptr) {
      --quota->lists;
      quota->bytes -= size;
    }
    return entry.stays || passing_bytes + size <= kMostBytes;
  }
  uint32_t add(std::span<const std::string_view> texts, std::string key, ReasonQuota* quota) {
    const auto place_of = ids.emplace(std::move(key), 0).first;
    Entry entry;
    entry.key = &place_of->first;
    if (!place(entry, quota)) {
      ids.erase(place_of);
      return overflow;
    }
    entry.texts.assign(texts.begin(), texts.end());
    const uint32_t id = place_of->second = next_id();
    bytes += entry.bytes();
    pass(id, entries.emplace(id, std::move(entry)).first->second);
    return id;
  }
  void end_step() {
    for (const uint32_t id : passing) {
      const auto found = entries.find(id);
      Entry& entry = found->second;
      entry.passing = false;
      if (entry.holders != 0 || entry.stays) continue;
      bytes -= entry.bytes();
      ids.erase(*entry.key);
      entries.erase(found);
    }
    passing.clear();
    any_passing.store(false, std::memory_order_relaxed);
    if (passing.capacity() > 1024) passing.shrink_to_fit();
    passing_bytes = 0;
  }

  mutable std::shared_mutex mutex;
  std::unordered_map<uint32_t, Entry> entries;
  std::unordered_map<std::string, uint32_t> ids;
  std::atomic<bool> any_passing{false};  // most steps bring nothing: then no lock is taken
  std::vector<uint32_t> passing;  // that go at the end of the step, unless they are held then
  std::atomic<uint32_t> last{0};  // the highest that was given
  uint32_t newest = 0;
  uint32_t overflow = 0;
  size_t bytes = 0;
  size_t passing_bytes = 0;
};

ReasonTable::ReasonTable() : impl_(std::make_unique<Impl>()) {
  const std::string_view full = "too many different reasons";
  impl_->overflow = intern(full);
}

ReasonTable::~ReasonTable() = default;

uint32_t ReasonTable::intern(std::span<const std::string_view> all, ReasonQuota* quota) {
  std::string key = key_of(all);
  std::vector<std::string_view> shorter;
  std::span<const std::string_view> texts = all;
  if (key.size() > kLongest) {
    shorter = cut(all);
    texts = shorter;
    key = key_of(texts);
  }
  {
    std::shared_lock lock(impl_->mutex);
    const auto found = impl_->ids.find(key);
    if (found != impl_->ids.end() && impl_->entries.at(found->second).stays) return found->second;
  }
  std::unique_lock lock(impl_->mutex);
  const auto found = impl_->ids.find(key);
  if (found == impl_->ids.end()) return impl_->add(texts, std::move(key), quota);
  // What somebody else brought may stay from here on.
  Impl::Entry& entry = impl_->entries.at(found->second);
  if (!entry.stays) impl_->place(entry, quota);
  return found->second;
}

std::vector<std::string> ReasonTable::texts(uint32_t id) const {
  std::shared_lock lock(impl_->mutex);
  const auto found = impl_->entries.find(id);
  if (found != impl_->entries.end()) return found->second.texts;
  if (id == 0 || !valid(id)) return {};
  return {"a reason that is no longer known: its plugin gives too many different ones"};
}

const std::vector<std::string>* ReasonTable::lasting_texts(uint32_t id) const {
  std::shared_lock lock(impl_->mutex);
  const auto found = impl_->entries.find(id);
  return found != impl_->entries.end() && found->second.stays ? &found->second.texts : nullptr;
}

std::string ReasonTable::message(uint32_t id) const {
  return sdk::join(texts(id));
}

bool ReasonTable::valid(uint32_t id) const {
  return id <= impl_->last.load(std::memory_order_acquire);
}

void ReasonTable::end_step() {
  if (!impl_->any_passing.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(impl_->mutex);
  impl_->end_step();
}

size_t ReasonTable::bytes() const {
  const std::shared_lock lock(impl_->mutex);
  return impl_->bytes;
}

size_t ReasonTable::hold(uint32_t id) {
  const std::unique_lock lock(impl_->mutex);
  const auto found = impl_->entries.find(id);
  if (found == impl_->entries.end() || found->second.stays) return 0;
  ++found->second.holders;
  return found->second.bytes();
}

void ReasonTable::release(std::span<const uint32_t> ids) {
  const std::unique_lock lock(impl_->mutex);
  for (const uint32_t id : ids) {
    Impl::Entry& entry = impl_->entries.at(id);
    --entry.holders;
    impl_->pass(id, entry);
  }
}

void HeldReasons::add(uint32_t id) {
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (id == 0 || (at != ids_.end() && *at == id)) return;
  const size_t size = table_->hold(id);
  if (size == 0) return;
  ids_.insert(at, id);
  bytes_ += size;
}

void HeldReasons::clear() {
  if (ids_.empty()) return;
  table_->release(ids_);
  ids_ = {};
  bytes_ = 0;
}

}  // namespace plimsoll
