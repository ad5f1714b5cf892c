#include "framework/runtime/status.hpp"

#include <plimsoll/join.hpp>

#include <atomic>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace plimsoll {

namespace {

constexpr uint32_t kMaxLists = 1'000'000;
constexpr size_t kMostBytes = size_t{32} << 20;
constexpr size_t kLongest = size_t{2} << 10;  // twice the longest note of an event

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
  uint32_t add(std::span<const std::string_view> texts, std::string key) {
    lists.emplace_back(texts.begin(), texts.end());
    bytes += 2 * key.size();
    const auto id = static_cast<uint32_t>(lists.size() - 1);
    ids.emplace(std::move(key), id);
    last.store(id, std::memory_order_release);
    return id;
  }

  mutable std::shared_mutex mutex;
  std::deque<std::vector<std::string>> lists;  // a deque never moves its elements
  std::unordered_map<std::string, uint32_t> ids;
  std::atomic<uint32_t> last{0};
  uint32_t overflow = 0;
  size_t bytes = 0;
};

ReasonTable::ReasonTable() : impl_(std::make_unique<Impl>()) {
  impl_->lists.emplace_back();  // id 0: no reasons
  const std::string_view full = "too many different reasons";
  impl_->overflow = impl_->add(std::span(&full, 1), key_of(std::span(&full, 1)));
}

ReasonTable::~ReasonTable() = default;

uint32_t ReasonTable::intern(std::span<const std::string_view> all) {
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
    auto found = impl_->ids.find(key);
    if (found != impl_->ids.end()) return found->second;
  }
  std::unique_lock lock(impl_->mutex);
  auto found = impl_->ids.find(key);
  if (found != impl_->ids.end()) return found->second;
  if (impl_->lists.size() >= kMaxLists || impl_->bytes >= kMostBytes) return impl_->overflow;
  return impl_->add(texts, std::move(key));
}

const std::vector<std::string>& ReasonTable::texts(uint32_t id) const {
  std::shared_lock lock(impl_->mutex);
  return id < impl_->lists.size() ? impl_->lists[id] : impl_->lists[0];
}

std::string ReasonTable::message(uint32_t id) const {
  return sdk::join(texts(id));
}

bool ReasonTable::valid(uint32_t id) const {
  return id <= impl_->last.load(std::memory_order_acquire);
}

}  // namespace plimsoll
