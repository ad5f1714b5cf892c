#include "framework/api/symbols.hpp"

#include <gtest/gtest.h>

#include <memory>
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

TEST(SymbolTable, KeepsASharedTextAsLongAsSomebodyHoldsIt) {
  SymbolTable symbols;
  std::string text = "app.kubernetes.io/name";
  const plimsoll_str first = symbols.share(text);
  EXPECT_EQ(first.symbol, 0u);
  EXPECT_NE(first.data, text.data());
  const plimsoll_str second = symbols.share(text);
  EXPECT_EQ(second.data, first.data) << "it is there once";
  text = "gone";
  SymbolTable::release(first);
  EXPECT_EQ(view(second), "app.kubernetes.io/name");
  EXPECT_EQ(symbols.shared_count(), 1u);
  SymbolTable::release(second);
  EXPECT_EQ(symbols.shared_count(), 0u);
}

TEST(SymbolTable, SharesNoTextThatIsAName) {
  SymbolTable symbols;
  const plimsoll_str before = symbols.share("zone");
  const plimsoll_str name = symbols.intern("zone");
  const plimsoll_str after = symbols.share("zone");
  EXPECT_EQ(after.symbol, name.symbol);
  EXPECT_EQ(before.symbol, 0u) << "what is held stays as it was";
  EXPECT_TRUE(equal(before, after));
  SymbolTable::release(before);
  EXPECT_EQ(symbols.shared_count(), 0u);
}

TEST(SymbolTable, SharedTextsMayOutliveIt) {
  auto symbols = std::make_unique<SymbolTable>();
  const plimsoll_str text = symbols->share("a text");
  symbols.reset();
  EXPECT_EQ(view(text), "a text");
  SymbolTable::release(text);
}

TEST(SymbolTable, ThreadsShareAndReleaseTheSameTexts) {
  SymbolTable symbols;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const std::string text = "text-" + std::to_string(i % 7);
        const plimsoll_str held = symbols.share(text);
        EXPECT_EQ(view(held), text);
        SymbolTable::release(held);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(symbols.shared_count(), 0u);
}

TEST(SymbolTable, PodsTakeFewPositionsAndNodesThoseThatThereAre) {
  SymbolTable symbols(6);
  EXPECT_EQ(symbols.resource_of_pod("example.com/a").index, 4u);
  EXPECT_EQ(symbols.resource_of_pod("example.com/b").index, 5u);
  EXPECT_EQ(symbols.resource_of_pod("example.com/c").index, uint32_t{PLIMSOLL_RESOURCE_OF_NO_NODE});
  EXPECT_EQ(symbols.resource_of_pod("example.com/a").index, 4u);
  EXPECT_EQ(symbols.resource("example.com/c").index, 6u);
  EXPECT_EQ(symbols.resource_of_pod("example.com/c").index, 6u);
  for (int i = 0; i < 2'000; ++i) (void)symbols.resource("example.com/n" + std::to_string(i));
  EXPECT_EQ(symbols.resource_count(), uint32_t{PLIMSOLL_RESOURCE_OF_NO_NODE});
  const SymbolTable::Resource late = symbols.resource("example.com/late");
  EXPECT_EQ(late.index, uint32_t{PLIMSOLL_RESOURCE_OF_NO_NODE});
  EXPECT_EQ(view(late.name), "example.com/late");
}

}  // namespace
}  // namespace plimsoll
