#pragma once
// Nodes with eight GPUs and four NICs, and pods that request devices in every supported way.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/api/decode/decode.hpp"
#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll::bench {

// What a pod requests; one row of the table.
enum class Ask : uint8_t {
  kPercent,       // a share of one GPU, in percent of its memory
  kBytes,         // a share, in bytes
  kOne,           // 1 whole GPU
  kTwo,           // 2 whole GPUs
  kFour,          // 4 whole GPUs
  kEight,         // 8 whole GPUs
  kWithNic,       // a GPU and part of the NIC at the same PCIe switch (SamePCIe)
  kTwoWithNic,    // the same with 2 GPUs
  kFourWithNics,  // the same with 4 GPUs
  kPartition2,    // two GPUs that form a partition of the node's table
  kPartition4,    // four such GPUs
};
inline constexpr std::array kAsks = {Ask::kPercent,    Ask::kBytes,      Ask::kOne,
                                     Ask::kTwo,        Ask::kFour,       Ask::kEight,
                                     Ask::kWithNic,    Ask::kTwoWithNic, Ask::kFourWithNics,
                                     Ask::kPartition2, Ask::kPartition4};
[[nodiscard]] std::string_view name_of(Ask ask);

// How pods of one Ask differ.
enum class Variety : uint8_t {
  kIdentical,  // they do not differ
  kDifferent,  // in CPU, memory, and the size of shares
  kSelectors,  // like kDifferent, and each pod has its own selector on devices
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
// The node's Device object. Every second node has a partition table that must be honoured.
[[nodiscard]] std::string device_json(int node);
[[nodiscard]] PodRef make_pod(int number, Ask ask, Variety variety, Dice& dice,
                              SymbolTable& symbols);

}  // namespace plimsoll::bench
