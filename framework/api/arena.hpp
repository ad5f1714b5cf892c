#pragma once
// Memory of decoded objects.
//
// A decoder builds an object in an Arena: many small pieces that are freed together. The finished
// object is then packed into one block of exactly the right size. Handles (objects.hpp) share the
// block. One thread at a time; a packed block is immutable.

#include <plimsoll/objects.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace plimsoll {

// Scratch memory that only grows, until clear(). It runs no destructors, so it holds plain data
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

  // Frees everything except the largest chunk, which is reused.
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

// Called with a block and its size when the last handle is gone.
using BlockEnd = void (*)(std::byte* block, size_t bytes);

// `bytes` of shared memory, zeroed and aligned for any scalar, in one allocation with the reference
// count. `end`: releases what the content holds; it runs on the thread that drops the last handle.
[[nodiscard]] std::shared_ptr<std::byte> make_block(size_t bytes, BlockEnd end = nullptr);

}  // namespace plimsoll
