#include "framework/api/symbols.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <random>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace plimsoll {
namespace {

// Stores names in blocks that never move, so that views of them stay valid.
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

// Tenants choose these texts. So that they cannot predict the buckets and cause collisions, each
// process draws its own random factors.
class SecretHash {
 public:
  SecretHash() {
    std::random_device source;
    for (uint64_t* factor : {&first_, &second_}) {
      *factor = (uint64_t{source()} << 32 | source()) | 1;
    }
  }
  size_t operator()(std::string_view text) const {
    uint64_t hash = first_ ^ text.size();
    for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
      hash = fold(hash ^ word, second_);
    }
    return fold(hash, first_);
  }

 private:
  static uint64_t fold(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  uint64_t first_ = 0;
  uint64_t second_ = 0;
};

}  // namespace

struct SymbolTable::Impl {
  // A shared text. Its bytes follow this head, so release() can find the head from the text.
  struct Shared {
    Impl* owner;
    std::atomic<uint32_t> holders;  // 0: the thread that set it to 0 is about to remove the text
    uint32_t length;

    [[nodiscard]] char* bytes() { return reinterpret_cast<char*>(this + 1); }
    [[nodiscard]] std::string_view text() { return {bytes(), length}; }
    static Shared* of(const char* bytes) {
      return reinterpret_cast<Shared*>(const_cast<char*>(bytes)) - 1;
    }
  };
  struct SharedHash {
    using is_transparent = void;
    SecretHash hash;
    size_t operator()(std::string_view text) const { return hash(text); }
    size_t operator()(Shared* shared) const { return hash(shared->text()); }
  };
  struct SharedEqual {
    using is_transparent = void;
    static std::string_view text(std::string_view text) { return text; }
    static std::string_view text(Shared* shared) { return shared->text(); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return text(a) == text(b);
    }
  };

  mutable std::shared_mutex mutex;
  TextStore texts;
  std::unordered_map<std::string_view, plimsoll_symbol> ids;
  std::vector<std::string_view> by_id{std::string_view()};  // id 0 means none
  std::unordered_map<std::string_view, uint32_t> resource_ids;
  std::vector<std::string_view> resources;
  std::atomic<uint32_t> resource_count{0};
  uint32_t most_of_pods;
  std::unordered_set<Shared*, SharedHash, SharedEqual> shared;
  bool orphan = false;  // the table is destroyed; the last shared text frees this object

  explicit Impl(uint32_t of_pods) : most_of_pods(of_pods) {}

  // The caller holds the mutex exclusively.
  plimsoll_symbol add(std::string_view text) {
    if (auto at = ids.find(text); at != ids.end()) return at->second;
    const std::string_view kept = texts.keep(text);
    const auto id = static_cast<plimsoll_symbol>(by_id.size());
    by_id.push_back(kept);
    ids.emplace(kept, id);
    return id;
  }
  uint32_t add_resource(std::string_view name) {
    const std::string_view kept = by_id[add(name)];
    const auto index = static_cast<uint32_t>(resources.size());
    resources.push_back(kept);
    resource_ids.emplace(kept, index);
    resource_count.store(index + 1, std::memory_order_release);
    return index;
  }
  void remove(Shared* text) {
    shared.erase(text);
    text->~Shared();
    ::operator delete(text);
    // Shrinks the table once most of its places are empty.
    constexpr size_t kFewPlaces = 4096;
    if (shared.bucket_count() > kFewPlaces && shared.size() < shared.bucket_count() / 8) {
      shared.rehash(2 * shared.size());
    }
  }

  [[nodiscard]] plimsoll_str name(plimsoll_symbol id) const {
    const std::string_view text = by_id[id];
    return {text.data(), static_cast<uint32_t>(text.size()), id};
  }
};

SymbolTable::SymbolTable(uint32_t most_of_pods) : impl_(new Impl(most_of_pods)) {
  for (std::string_view name : kFirst) (void)resource_index(name);
}

SymbolTable::~SymbolTable() {
  {
    const std::unique_lock lock(impl_->mutex);
    impl_->orphan = true;
    if (!impl_->shared.empty()) return;
  }
  delete impl_;
}

plimsoll_str SymbolTable::intern(std::string_view text) {
  if (plimsoll_str found = find(text); found.symbol != PLIMSOLL_SYMBOL_NONE) return found;
  const std::unique_lock lock(impl_->mutex);
  return impl_->name(impl_->add(text));
}

plimsoll_str SymbolTable::find(std::string_view text) const {
  const std::shared_lock lock(impl_->mutex);
  const auto at = impl_->ids.find(text);
  return at == impl_->ids.end() ? plimsoll_str{text.data(), static_cast<uint32_t>(text.size()), 0}
                                : impl_->name(at->second);
}

std::string_view SymbolTable::text(plimsoll_symbol symbol) const {
  const std::shared_lock lock(impl_->mutex);
  return symbol < impl_->by_id.size() ? impl_->by_id[symbol] : std::string_view();
}

plimsoll_str SymbolTable::share(std::string_view text) {
  const auto held = [](Impl::Shared* shared) {
    shared->holders.fetch_add(1, std::memory_order_relaxed);
    return plimsoll_str{shared->bytes(), shared->length, PLIMSOLL_SYMBOL_NONE};
  };
  {
    const std::shared_lock lock(impl_->mutex);
    if (const auto name = impl_->ids.find(text); name != impl_->ids.end()) {
      return impl_->name(name->second);
    }
    if (const auto at = impl_->shared.find(text); at != impl_->shared.end()) return held(*at);
  }
  const std::unique_lock lock(impl_->mutex);
  if (const auto name = impl_->ids.find(text); name != impl_->ids.end()) {
    return impl_->name(name->second);
  }
  if (const auto at = impl_->shared.find(text); at != impl_->shared.end()) return held(*at);
  auto* made = new (::operator new(sizeof(Impl::Shared) + text.size()))
      Impl::Shared{impl_, 0, static_cast<uint32_t>(text.size())};
  if (!text.empty()) std::memcpy(made->bytes(), text.data(), text.size());
  impl_->shared.insert(made);
  return held(made);
}

void SymbolTable::release(const plimsoll_str& shared) noexcept {
  Impl::Shared* const text = Impl::Shared::of(shared.data);
  // If this is not the last holder, decrementing is enough. The last holder releases under the
  // lock, so that no other thread can find the text meanwhile.
  uint32_t holders = text->holders.load(std::memory_order_relaxed);
  while (holders > 1) {
    if (text->holders.compare_exchange_weak(holders, holders - 1, std::memory_order_release,
                                            std::memory_order_relaxed)) {
      return;
    }
  }
  Impl* const impl = text->owner;
  {
    const std::unique_lock lock(impl->mutex);
    if (text->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    impl->remove(text);
    if (!impl->orphan || !impl->shared.empty()) return;
  }
  delete impl;
}

size_t SymbolTable::shared_count() const {
  const std::shared_lock lock(impl_->mutex);
  return impl_->shared.size();
}

SymbolTable::Resource SymbolTable::resource(std::string_view name) {
  {
    const std::shared_lock lock(impl_->mutex);
    if (const auto at = impl_->resource_ids.find(name); at != impl_->resource_ids.end()) {
      return {impl_->name(impl_->ids.find(name)->second), at->second};
    }
  }
  const std::unique_lock lock(impl_->mutex);
  auto at = impl_->resource_ids.find(name);
  if (at == impl_->resource_ids.end() && impl_->resources.size() < PLIMSOLL_RESOURCE_OF_NO_NODE) {
    (void)impl_->add_resource(name);
    at = impl_->resource_ids.find(name);
  }
  if (at == impl_->resource_ids.end()) {
    return {{name.data(), static_cast<uint32_t>(name.size()), PLIMSOLL_SYMBOL_NONE},
            PLIMSOLL_RESOURCE_OF_NO_NODE};
  }
  return {impl_->name(impl_->ids.find(name)->second), at->second};
}

bool SymbolTable::resource_known(std::string_view name) const {
  const std::shared_lock lock(impl_->mutex);
  return impl_->resource_ids.contains(name);
}

SymbolTable::Resource SymbolTable::resource_of_pod(std::string_view name) {
  if (resource_count() < impl_->most_of_pods || resource_known(name)) return resource(name);
  return {{name.data(), static_cast<uint32_t>(name.size()), PLIMSOLL_SYMBOL_NONE},
          PLIMSOLL_RESOURCE_OF_NO_NODE};
}

std::string_view SymbolTable::resource_name(uint32_t index) const {
  const std::shared_lock lock(impl_->mutex);
  return index < impl_->resources.size() ? impl_->resources[index] : std::string_view();
}

uint32_t SymbolTable::resource_count() const {
  return impl_->resource_count.load(std::memory_order_acquire);
}

}  // namespace plimsoll
