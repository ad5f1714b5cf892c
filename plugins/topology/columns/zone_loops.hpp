#pragma once
// The inner loops over the zones of many nodes at once, compiled for several kinds of processor.
// Amounts are integers held in doubles. Quotients round as integer division does, so results equal
// those of the code that looks at one node.
//
// Nodes lie in blocks of kBlock: [block][cell][node of the block], where cell = row * zones +
// column as in plimsoll_numa_node. Places of the last block that no node has hold kNobody.

#include <cstddef>
#include <cstdint>

#include "plugins/topology/abi/ledger_types.hpp"

namespace plimsoll::topology {

inline constexpr size_t kBlock = PLIMSOLL_NUMA_BLOCK;
inline constexpr uint8_t kNoColumn = PLIMSOLL_NUMA_NO_COLUMN;
inline constexpr double kNobody = -1;
// Below it a hundred times an amount is a whole number of a double, and a quotient of 0 to 100 that
// is not whole stays further from the next whole one than doubles are apart: see percent_of.
inline constexpr int64_t kExactAmount = int64_t{1} << 46;

struct ZoneCells {
  size_t blocks;
  uint32_t zones;
  uint32_t cells;      // of a node
  const double* free;  // below kExactAmount
  // By block: of all its nodes, further columns have what the one before them has, so that they
  // need no look of their own. Null: nothing is known of that.
  const uint8_t* distinct;

  [[nodiscard]] uint32_t columns(size_t block) const {
    return distinct == nullptr ? zones : distinct[block];
  }
};

// Of one block with all rows: see ZoneCells::distinct. `zones`: at least 1.
[[nodiscard]] uint8_t distinct_columns(const double* block, uint32_t zones, uint32_t cells);

// A row of which a pod takes something. `need` is above 0.
struct RowNeed {
  uint32_t row;
  double need;
};

// columns[node]: the lowest column in which every row has what is needed; or kNoColumn.
void find_columns(const ZoneCells& nodes, const RowNeed* rows, size_t row_count, uint8_t* columns);

// One term of a weighted mean of percentages in the column where a pod lands.
struct LandingTerm {
  uint32_t row;
  double take;
  double weight;
};
// The mean, rounded down, of what is left (`most`: in use) there of max(size, free), once `take` is
// taken. `sizes`: of all nodes, by cell; or, if `own`, laid out as the free amounts. Of nodes that
// land nowhere anything is said. Weights add up to less than 2^40.
struct LandingSizes {
  const double* sizes;
  bool own;
};
void score_landings(const ZoneCells& nodes, const LandingSizes& sizes, const LandingTerm* terms,
                    size_t term_count, bool most, const uint8_t* columns, uint8_t* scores);

// One term of a weighted mean of percentages in each zone: `need` of `have`, which are in whole
// units: of CPUs as many as `free` is begun. Nothing where less than `amount` is free.
struct WorstTerm {
  uint32_t row;
  bool cpu;
  double amount;
  double need;
  double weight;
};
// The lowest mean of a node's zones that is not 0; 0 if all are. `weights`: the sum of all weights,
// of terms without a row too; above 0, below 2^40.
void score_worst_zones(const ZoneCells& nodes, const WorstTerm* terms, size_t term_count,
                       double weights, bool most, uint8_t* scores);

// Whether each number is one more than the one before.
[[nodiscard]] bool are_consecutive(const uint32_t* numbers, size_t count);
// The same numbers, wider.
void widen(const uint8_t* numbers, size_t count, int64_t* wide);
// The highest of at least one number.
[[nodiscard]] uint32_t highest(const uint32_t* numbers, size_t count);

}  // namespace plimsoll::topology
