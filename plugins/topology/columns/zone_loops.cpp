#include "plugins/topology/columns/zone_loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

// One version for each kind of processor, chosen when the module is loaded. ThreadSanitizer is not
// ready by then, and what it looks for is not here.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PLIMSOLL_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define PLIMSOLL_EACH_PROCESSOR
#endif

namespace plimsoll::topology {

uint8_t distinct_columns(const double* block, uint32_t zones, uint32_t cells) {
  const auto repeats = [&](uint32_t column) {
    for (uint32_t row = 0; row < cells; row += zones) {
      const double* here = block + size_t{row + column} * kBlock;
      if (!std::equal(here, here + kBlock, here - kBlock)) return false;
    }
    return true;
  };
  uint32_t columns = zones;
  while (columns > 1 && repeats(columns - 1)) --columns;
  return static_cast<uint8_t>(columns);
}

PLIMSOLL_EACH_PROCESSOR
void find_columns(const ZoneCells& nodes, const RowNeed* rows, size_t row_count,
                  uint8_t* __restrict columns) {
  for (size_t block = 0; block < nodes.blocks; ++block) {
    const double* free = nodes.free + block * nodes.cells * kBlock;
    // Masks, all bits or none: whatever has a branch is not vectorised.
    int64_t found[kBlock];
    int64_t open[kBlock];
    for (size_t i = 0; i < kBlock; ++i) found[i] = kNoColumn;
    for (size_t i = 0; i < kBlock; ++i) open[i] = -1;
    // Mostly one of the first zones has room: then the others are not read.
    const uint32_t zones = nodes.columns(block);
    for (uint32_t column = 0; column < zones; ++column) {
      int64_t lands[kBlock];
      for (size_t i = 0; i < kBlock; ++i) lands[i] = open[i];
      for (size_t row = 0; row < row_count; ++row) {
        const double* here = free + (size_t{rows[row].row} * nodes.zones + column) * kBlock;
        const double need = rows[row].need;
        for (size_t i = 0; i < kBlock; ++i) lands[i] = here[i] >= need ? lands[i] : 0;
      }
      const int64_t number = column;
      int64_t any_open = 0;
      for (size_t i = 0; i < kBlock; ++i) {
        found[i] = (found[i] & ~lands[i]) | (number & lands[i]);
        open[i] &= ~lands[i];
        any_open |= open[i];
      }
      if (any_open == 0) break;
    }
    for (size_t i = 0; i < kBlock; ++i)
      columns[block * kBlock + i] = static_cast<uint8_t>(found[i]);
  }
}

namespace {

// Of a row of a block, each node's cell in its column; `together`: all have the same.
inline void pick(const double* row, const int64_t* column, bool together, double* cells) {
  if (together) {
    std::copy_n(row + column[0] * int64_t{kBlock}, kBlock, cells);
    return;
  }
  for (size_t i = 0; i < kBlock; ++i) {
    cells[i] = row[column[i] * int64_t{kBlock} + static_cast<int64_t>(i)];
  }
}

}  // namespace

PLIMSOLL_EACH_PROCESSOR
void score_landings(const ZoneCells& nodes, const LandingSizes& sizes, const LandingTerm* terms,
                    size_t term_count, bool most, const uint8_t* columns,
                    uint8_t* __restrict scores) {
  double weights = 0;
  for (size_t k = 0; k < term_count; ++k) weights += terms[k].weight;
  for (size_t block = 0; block < nodes.blocks; ++block) {
    const double* free = nodes.free + block * nodes.cells * kBlock;
    const double* own = sizes.own ? sizes.sizes + block * nodes.cells * kBlock : nullptr;
    const uint8_t* landing = columns + block * kBlock;
    int64_t column[kBlock];
    double sum[kBlock] = {};
    for (size_t i = 0; i < kBlock; ++i) column[i] = landing[i] == kNoColumn ? 0 : landing[i];
    // Mostly all land in the same zone: then what there is lies side by side.
    int64_t apart = 0;
    for (size_t i = 0; i < kBlock; ++i) apart |= column[i] ^ column[0];
    for (size_t k = 0; k < term_count; ++k) {
      const size_t first = size_t{terms[k].row} * nodes.zones;
      const double take = terms[k].take;
      const double weight = terms[k].weight;
      const double* free_row = free + first * kBlock;
      double there[kBlock];
      double size[kBlock];
      pick(free_row, column, apart == 0, there);
      if (own != nullptr) {
        pick(own + first * kBlock, column, apart == 0, size);
      } else if (apart == 0) {
        std::fill_n(size, kBlock, sizes.sizes[first + column[0]]);
      } else {
        for (size_t i = 0; i < kBlock; ++i) size[i] = sizes.sizes[first + column[i]];
      }
      for (size_t i = 0; i < kBlock; ++i) {
        const double whole = size[i] > there[i] ? size[i] : there[i];
        const double part = most ? whole - (there[i] - take) : there[i] - take;
        sum[i] += weight * std::floor(part * 100 / whole);
      }
    }
    for (size_t i = 0; i < kBlock; ++i) {
      const double mean = std::floor(sum[i] / weights);
      const bool lands = (mean >= 0) & (mean <= 100);
      scores[block * kBlock + i] = static_cast<uint8_t>(static_cast<int32_t>(lands ? mean : 0));
    }
  }
}

namespace {

// Whole units of thousandths, begun ones included; without a division.
inline double whole_units(double thousandths) {
  const double near = std::nearbyint(thousandths * 0.001);
  return near * 1000 < thousandths ? near + 1 : near;
}

}  // namespace

PLIMSOLL_EACH_PROCESSOR
void score_worst_zones(const ZoneCells& nodes, const WorstTerm* terms, size_t term_count,
                       double weights, bool most, uint8_t* __restrict scores) {
  constexpr double kNone = std::numeric_limits<double>::max();
  for (size_t block = 0; block < nodes.blocks; ++block) {
    const double* free = nodes.free + block * nodes.cells * kBlock;
    double lowest[kBlock];
    for (size_t i = 0; i < kBlock; ++i) lowest[i] = kNone;
    const uint32_t zones = nodes.columns(block);
    for (uint32_t column = 0; column < zones; ++column) {
      double sum[kBlock] = {};
      for (size_t k = 0; k < term_count; ++k) {
        const double* here = free + (size_t{terms[k].row} * nodes.zones + column) * kBlock;
        const double amount = terms[k].amount;
        const double need = terms[k].need;
        const double weight = terms[k].weight;
        const double unit = terms[k].cpu ? 1 : 0;
        for (size_t i = 0; i < kBlock; ++i) {
          const double units = whole_units(here[i]);
          const double have = unit != 0 ? units : here[i];
          const double part = most ? need : have - need;
          const double percent = std::floor(part * 100 / have);
          const bool fits = (here[i] > 0) & (here[i] >= amount);
          sum[i] += fits ? weight * percent : 0;
        }
      }
      for (size_t i = 0; i < kBlock; ++i) {
        const double counts = sum[i] >= weights ? sum[i] : kNone;
        lowest[i] = counts < lowest[i] ? counts : lowest[i];
      }
    }
    for (size_t i = 0; i < kBlock; ++i) {
      const double mean = lowest[i] == kNone ? 0 : std::floor(lowest[i] / weights);
      scores[block * kBlock + i] = static_cast<uint8_t>(static_cast<int32_t>(mean));
    }
  }
}

PLIMSOLL_EACH_PROCESSOR
bool are_consecutive(const uint32_t* numbers, size_t count) {
  constexpr size_t kPiece = 256;
  for (size_t begin = 0; begin < count; begin += kPiece) {
    const size_t end = begin + kPiece < count ? begin + kPiece : count;
    uint32_t apart = 0;
    for (size_t i = begin; i < end; ++i) {
      apart |= numbers[i] ^ (numbers[0] + static_cast<uint32_t>(i));
    }
    if (apart != 0) return false;
  }
  return true;
}

PLIMSOLL_EACH_PROCESSOR
void widen(const uint8_t* __restrict numbers, size_t count, int64_t* __restrict wide) {
  for (size_t i = 0; i < count; ++i) wide[i] = numbers[i];
}

PLIMSOLL_EACH_PROCESSOR
uint32_t highest(const uint32_t* numbers, size_t count) {
  uint32_t most = 0;
  for (size_t i = 0; i < count; ++i) most = numbers[i] > most ? numbers[i] : most;
  return most;
}

}  // namespace plimsoll::topology
