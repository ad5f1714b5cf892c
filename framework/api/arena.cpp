#include "framework/api/arena.hpp"

#include <algorithm>
#include <new>

namespace plimsoll {
namespace {

constexpr size_t kAlign = alignof(std::max_align_t);

constexpr size_t aligned(size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// The start of a block; the bytes follow it.
struct alignas(kAlign) BlockHead {
  std::byte first[kAlign];
};

// Gives std::allocate_shared more memory than it asks for. The extra memory has the block's bytes.
template <typename T>
struct RoomyAllocator {
  using value_type = T;
  size_t extra;
  BlockEnd end;

  RoomyAllocator(size_t extra_bytes, BlockEnd end_of_block)
      : extra(extra_bytes), end(end_of_block) {}
  template <typename U>
  RoomyAllocator(const RoomyAllocator<U>& other)
      : extra(other.extra), end(other.end) {}  // NOLINT: allocators convert implicitly

  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T) + extra)); }
  void deallocate(T* memory, size_t) noexcept { ::operator delete(memory); }
  // The block consists of the head and the bytes after it.
  template <typename U>
  void destroy(U* head) noexcept {
    if (end != nullptr) end(reinterpret_cast<std::byte*>(head), sizeof(U) + extra);
    head->~U();
  }
  template <typename U>
  bool operator==(const RoomyAllocator<U>& other) const {
    return extra == other.extra && end == other.end;
  }
};

}  // namespace

void* Arena::allocate(size_t bytes) {
  bytes = aligned(std::max<size_t>(bytes, 1));
  if (chunks_.empty() || chunks_.back().size - used_ < bytes) {
    const size_t doubled = chunks_.empty() ? kFirstChunk : chunks_.back().size * 2;
    const size_t size = std::max(doubled, bytes);
    chunks_.push_back({std::make_unique<std::byte[]>(size), size});
    used_ = 0;
  }
  void* at = chunks_.back().memory.get() + used_;
  used_ += bytes;
  return at;
}

void Arena::clear() {
  if (chunks_.size() > 1) chunks_.erase(chunks_.begin(), chunks_.end() - 1);
  used_ = 0;
}

std::shared_ptr<std::byte> make_block(size_t bytes, BlockEnd end) {
  const size_t extra = bytes > sizeof(BlockHead) ? bytes - sizeof(BlockHead) : 0;
  auto head = std::allocate_shared<BlockHead>(RoomyAllocator<BlockHead>(extra, end));
  std::memset(reinterpret_cast<std::byte*>(head.get()), 0, sizeof(BlockHead) + extra);
  return {head, reinterpret_cast<std::byte*>(head.get())};
}

}  // namespace plimsoll
