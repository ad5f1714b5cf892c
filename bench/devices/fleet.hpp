#pragma once
// Nodes with eight GPUs and four NICs, and pods that ask for devices in every way that there is.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/api/decode.hpp"
#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll::bench {

// What a pod asks for; a row of the table.
enum class Ask : uint8_t {
  kPercent,       // a share of one GPU, in percent of its memory
  kBytes,         // a share, in bytes
  kOne,           // whole GPUs
  kTwo,           // ...
  kFour,          //
  kEight,         //
  kWithNic,       // a GPU and part of the NIC beside it (SamePCIe)
  kTwoWithNic,    // ...
  kFourWithNics,  //
  kPartition2,    // two GPUs that make a partition of the node's table
  kPartition4,    // ...
};
inline constexpr std::array kAsks = {Ask::kPercent,    Ask::kBytes,      Ask::kOne,
                                     Ask::kTwo,        Ask::kFour,       Ask::kEight,
                                     Ask::kWithNic,    Ask::kTwoWithNic, Ask::kFourWithNics,
                                     Ask::kPartition2, Ask::kPartition4};
[[nodiscard]] std::string_view name_of(Ask ask);

// How pods of one Ask differ from one another.
enum class Variety : uint8_t {
  kIdentical,  // not at all
  kDifferent,  // in CPU and memory, and in the size of shares
  kSelectors,  // besides, each has a selector on devices that no other pod has
};
[[nodiscard]] std::string_view name_of(Variety variety);

// xorshift64*: the same pods on every machine.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 2685821657736338717ULL + 1) {}
  // 0 .. below - 1
  int64_t roll(int64_t below) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<int64_t>((state_ * 2685821657736338717ULL >> 33) %
                                static_cast<uint64_t>(below));
  }

 private:
  uint64_t state_;
};

// Shares 45 %, whole GPUs 37 %, GPUs with NICs 10 %, partitions 8 %.
[[nodiscard]] Ask next_ask(Dice& dice);

[[nodiscard]] std::string node_name(int node);
[[nodiscard]] NodeRef make_node(int node, SymbolTable& symbols);
// Its Device object. Every second node has a partition table that must be honoured.
[[nodiscard]] std::string device_json(int node);
[[nodiscard]] PodRef make_pod(int number, Ask ask, Variety variety, Dice& dice,
                              SymbolTable& symbols);

}  // namespace plimsoll::bench
