#include "tests/support/allocation_count.hpp"

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t t_allocations = 0;
std::atomic<int64_t> s_live_bytes{0};

void* counted(size_t bytes, size_t alignment) noexcept {
  ++t_allocations;
  if (bytes == 0) bytes = 1;
  void* memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory != nullptr) {
    s_live_bytes.fetch_add(static_cast<int64_t>(malloc_usable_size(memory)),
                           std::memory_order_relaxed);
  }
  return memory;
}

void give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  s_live_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)),
                         std::memory_order_relaxed);
  std::free(memory);
}

void* counted_or_throw(size_t bytes, size_t alignment) {
  void* memory = counted(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

namespace plimsoll::test {

uint64_t allocations_of_this_thread() {
  return t_allocations;
}

int64_t live_bytes() {
  return s_live_bytes.load(std::memory_order_relaxed);
}

}  // namespace plimsoll::test

using Align = std::align_val_t;

void* operator new(size_t bytes) {
  return counted_or_throw(bytes, 1);
}
void* operator new[](size_t bytes) {
  return counted_or_throw(bytes, 1);
}
void* operator new(size_t bytes, Align alignment) {
  return counted_or_throw(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, Align alignment) {
  return counted_or_throw(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, 1);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, 1);
}
void* operator new(size_t bytes, Align alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, Align alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  give_back(memory);
}
void operator delete[](void* memory) noexcept {
  give_back(memory);
}
void operator delete(void* memory, size_t) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, Align) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, Align) noexcept {
  give_back(memory);
}
void operator delete(void* memory, size_t, Align) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, size_t, Align) noexcept {
  give_back(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  give_back(memory);
}
void operator delete(void* memory, Align, const std::nothrow_t&) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, Align, const std::nothrow_t&) noexcept {
  give_back(memory);
}
