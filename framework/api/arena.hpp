#pragma once
// Memory of decoded objects.
//
// A decoder builds an object in an Arena: many small pieces, freed together. The finished object is
// then packed into a Block of exactly the right size, which is what a handle (objects.hpp) shares.
// One thread at a time; a Block is immutable once packed.

#include <plimsoll/objects.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace plimsoll {

// Scratch memory that only grows, until clear(). What it hands out is never destroyed: plain data
// only.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Aligned for any scalar. Not initialised. Never null.
  [[nodiscard]] void* allocate(size_t bytes);

  // A zeroed T.
  template <typename T>
  [[nodiscard]] T* make() {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T))) T{};
  }

  // A copy of the elements, as an ABI list.
  template <typename T>
  [[nodiscard]] plimsoll_list list(std::span<const T> elements) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (elements.empty()) return {nullptr, 0, sizeof(T)};
    void* copy = allocate(elements.size_bytes());
    std::memcpy(copy, elements.data(), elements.size_bytes());
    return {copy, static_cast<uint32_t>(elements.size()), sizeof(T)};
  }
  template <typename T>
  [[nodiscard]] plimsoll_list list(const std::vector<T>& elements) {
    return list(std::span<const T>(elements));
  }

  // Forgets everything and keeps the largest piece of memory for what comes next.
  void clear();

 private:
  static constexpr size_t kFirstChunk = size_t{16} << 10;
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    size_t size;
  };
  std::vector<Chunk> chunks_;
  size_t used_ = 0;  // of the last chunk
};

// Called with a block that nobody holds any more, and its size.
using BlockEnd = void (*)(std::byte* block, size_t bytes);

// `bytes` of shared memory, zeroed, aligned for any scalar; one allocation together with its
// reference count. `end`: what is in it holds something; on whatever thread lets go of it last.
[[nodiscard]] std::shared_ptr<std::byte> make_block(size_t bytes, BlockEnd end = nullptr);

}  // namespace plimsoll
