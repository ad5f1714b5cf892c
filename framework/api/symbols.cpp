#include "framework/api/symbols.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace plimsoll {
namespace {

// Texts are kept in blocks that never move, so that views of them stay valid.
class TextStore {
 public:
  std::string_view keep(std::string_view text) {
    if (text.size() > kBlock - used_) {
      const size_t size = std::max(kBlock, text.size());
      blocks_.push_back(std::make_unique<char[]>(size));
      used_ = text.size() > kBlock ? kBlock : 0;
      if (text.size() > kBlock) {
        std::memcpy(blocks_.back().get(), text.data(), text.size());
        return {blocks_.back().get(), text.size()};
      }
    }
    char* at = blocks_.back().get() + used_;
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    used_ += text.size();
    return {at, text.size()};
  }

 private:
  static constexpr size_t kBlock = size_t{64} << 10;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t used_ = kBlock;
};

constexpr std::array<std::string_view, 4> kFirst = {"cpu", "memory", "ephemeral-storage", "pods"};

}  // namespace

struct SymbolTable::Impl {
  mutable std::shared_mutex mutex;
  TextStore texts;
  std::unordered_map<std::string_view, plimsoll_symbol> ids;
  std::vector<std::string_view> by_id{std::string_view()};  // 0 is "none"
  std::unordered_map<std::string_view, uint32_t> resource_ids;
  std::vector<std::string_view> resources;

  // The caller holds the mutex exclusively.
  plimsoll_symbol add(std::string_view text) {
    if (auto at = ids.find(text); at != ids.end()) return at->second;
    const std::string_view kept = texts.keep(text);
    const auto id = static_cast<plimsoll_symbol>(by_id.size());
    by_id.push_back(kept);
    ids.emplace(kept, id);
    return id;
  }
};

SymbolTable::SymbolTable() : impl_(std::make_unique<Impl>()) {
  for (std::string_view name : kFirst) (void)resource_index(name);
}

SymbolTable::~SymbolTable() = default;

plimsoll_str SymbolTable::intern(std::string_view text) {
  if (plimsoll_str found = find(text); found.symbol != PLIMSOLL_SYMBOL_NONE) return found;
  std::unique_lock lock(impl_->mutex);
  const plimsoll_symbol id = impl_->add(text);
  const std::string_view kept = impl_->by_id[id];
  return {kept.data(), static_cast<uint32_t>(kept.size()), id};
}

plimsoll_str SymbolTable::find(std::string_view text) const {
  std::shared_lock lock(impl_->mutex);
  auto at = impl_->ids.find(text);
  if (at == impl_->ids.end()) {
    return {text.data(), static_cast<uint32_t>(text.size()), PLIMSOLL_SYMBOL_NONE};
  }
  return {at->first.data(), static_cast<uint32_t>(at->first.size()), at->second};
}

std::string_view SymbolTable::text(plimsoll_symbol symbol) const {
  std::shared_lock lock(impl_->mutex);
  return symbol < impl_->by_id.size() ? impl_->by_id[symbol] : std::string_view();
}

uint32_t SymbolTable::resource_index(std::string_view name) {
  {
    std::shared_lock lock(impl_->mutex);
    if (auto at = impl_->resource_ids.find(name); at != impl_->resource_ids.end())
      return at->second;
  }
  std::unique_lock lock(impl_->mutex);
  if (auto at = impl_->resource_ids.find(name); at != impl_->resource_ids.end()) return at->second;
  const std::string_view kept = impl_->by_id[impl_->add(name)];
  const auto index = static_cast<uint32_t>(impl_->resources.size());
  impl_->resources.push_back(kept);
  impl_->resource_ids.emplace(kept, index);
  return index;
}

std::string_view SymbolTable::resource_name(uint32_t index) const {
  std::shared_lock lock(impl_->mutex);
  return index < impl_->resources.size() ? impl_->resources[index] : std::string_view();
}

uint32_t SymbolTable::resource_count() const {
  std::shared_lock lock(impl_->mutex);
  return static_cast<uint32_t>(impl_->resources.size());
}

}  // namespace plimsoll
