#include "framework/api/symbols.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "framework/api/objects.hpp"

namespace plimsoll {
namespace {

TEST(SymbolTable, KnowsTheFixedSymbolsAndResources) {
  SymbolTable symbols;
  EXPECT_EQ(symbols.find("cpu").symbol, plimsoll_symbol{PLIMSOLL_SYMBOL_CPU});
  EXPECT_EQ(symbols.find("memory").symbol, plimsoll_symbol{PLIMSOLL_SYMBOL_MEMORY});
  EXPECT_EQ(symbols.find("ephemeral-storage").symbol,
            plimsoll_symbol{PLIMSOLL_SYMBOL_EPHEMERAL_STORAGE});
  EXPECT_EQ(symbols.find("pods").symbol, plimsoll_symbol{PLIMSOLL_SYMBOL_PODS});
  EXPECT_EQ(symbols.resource_index("cpu"), uint32_t{PLIMSOLL_RESOURCE_CPU});
  EXPECT_EQ(symbols.resource_index("pods"), uint32_t{PLIMSOLL_RESOURCE_PODS});
  EXPECT_EQ(symbols.resource_index("nvidia.com/gpu"), 4u);
  EXPECT_EQ(symbols.resource_index("nvidia.com/gpu"), 4u);
  EXPECT_EQ(symbols.resource_name(4), "nvidia.com/gpu");
  EXPECT_EQ(symbols.resource_count(), 5u);
  EXPECT_EQ(symbols.resource_name(99), "");
}

TEST(SymbolTable, InternsOnceAndFindsWithoutAdding) {
  SymbolTable symbols;
  std::string text = "zone";
  EXPECT_EQ(symbols.find(text).symbol, 0u);
  EXPECT_EQ(symbols.find(text).data, text.data());
  const plimsoll_str interned = symbols.intern(text);
  EXPECT_NE(interned.symbol, 0u);
  EXPECT_NE(interned.data, text.data());
  text = "gone";
  EXPECT_EQ(view(interned), "zone");
  EXPECT_EQ(symbols.find("zone").symbol, interned.symbol);
  EXPECT_EQ(symbols.text(interned.symbol), "zone");
  EXPECT_EQ(symbols.text(0), "");
  EXPECT_EQ(symbols.text(12345), "");
}

TEST(SymbolTable, KeepsTextsInPlaceAsItGrows) {
  SymbolTable symbols;
  const plimsoll_str first = symbols.intern("first");
  const std::string large(200'000, 'x');
  EXPECT_EQ(view(symbols.intern(large)), large);
  for (int i = 0; i < 20'000; ++i) (void)symbols.intern("name-" + std::to_string(i));
  EXPECT_EQ(symbols.intern("first").data, first.data);
  EXPECT_EQ(view(first), "first");
}

TEST(SymbolTable, GivesThreadsThatRaceTheSameSymbol) {
  constexpr int kThreads = 8;
  constexpr int kNames = 500;
  SymbolTable symbols;
  std::vector<std::vector<plimsoll_symbol>> seen(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kNames; ++i) {
        const std::string name = "r" + std::to_string(i);
        seen[t].push_back(symbols.intern(name).symbol);
        EXPECT_EQ(symbols.text(seen[t].back()), name);
        EXPECT_EQ(symbols.resource_name(symbols.resource_index(name)), name);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(seen[t], seen[0]);
  EXPECT_EQ(symbols.resource_count(), 4u + kNames);
}

}  // namespace
}  // namespace plimsoll
