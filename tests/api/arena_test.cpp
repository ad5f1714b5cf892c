#include "framework/api/arena.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <plimsoll/views.hpp>
#include <thread>

namespace plimsoll {
namespace {

TEST(Arena, HandsOutAlignedMemoryThatDoesNotOverlap) {
  Arena arena;
  std::vector<std::pair<std::byte*, size_t>> pieces;
  for (size_t size : {1u, 7u, 64u, 20'000u, 3u, 100'000u, 16u}) {
    auto* piece = static_cast<std::byte*>(arena.allocate(size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % alignof(std::max_align_t), 0u);
    std::memset(piece, static_cast<int>(pieces.size() + 1), size);
    pieces.emplace_back(piece, size);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (size_t at = 0; at < pieces[i].second; ++at) {
      ASSERT_EQ(pieces[i].first[at], static_cast<std::byte>(i + 1));
    }
  }
}

TEST(Arena, CopiesListsAndCanBeUsedAgainAfterClear) {
  Arena arena;
  for (int round = 0; round < 3; ++round) {
    std::vector<int64_t> numbers(5'000, round);
    const plimsoll_list list = arena.list(numbers);
    numbers.assign(numbers.size(), -1);
    const sdk::List<int64_t> copy = list;
    ASSERT_EQ(copy.size(), 5'000u);
    EXPECT_EQ(copy[0], round);
    EXPECT_EQ(copy[4'999], round);
    arena.clear();
  }
  EXPECT_EQ(arena.list(std::vector<int64_t>()).count, 0u);
}

TEST(Block, IsZeroedAndFreedByTheLastHandleOnAnyThread) {
  for (size_t size : {0u, 1u, 16u, 17u, 4'096u, 1'000'000u}) {
    auto block = make_block(size);
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(block.get()[i], std::byte{0});
    if (size != 0) std::memset(block.get(), 0xff, size);
    std::thread([kept = std::move(block)] { EXPECT_NE(kept, nullptr); }).join();
  }
}

}  // namespace
}  // namespace plimsoll
