#pragma once
// Which nodes of a batch match an affinity, without asking each node where an index can answer. For
// one call of a plugin; not thread-safe.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/builtin/columns/label_index.hpp"
#include "plugins/storage/volume_affinity.hpp"

namespace plimsoll::volumes {

// Rows of a batch.
class RowSet {
 public:
  using Bits = builtin::LabelIndex::Bits;

  [[nodiscard]] static RowSet every() { return RowSet(Kind::kEvery); }
  [[nodiscard]] static RowSet none() { return RowSet(Kind::kOne); }
  [[nodiscard]] static RowSet one(uint32_t row) {
    RowSet set(Kind::kOne);
    set.row_ = row;
    return set;
  }
  [[nodiscard]] static RowSet of(Bits bits) {
    RowSet set(Kind::kBits);
    set.bits_ = std::move(bits);
    return set;
  }

  [[nodiscard]] bool has(size_t row) const {
    if (kind_ == Kind::kBits) return builtin::LabelIndex::has(bits_, row);
    return kind_ == Kind::kEvery || row == row_;
  }
  [[nodiscard]] bool is_every() const { return kind_ == Kind::kEvery; }
  // At most one row, kNoRow if there is none.
  [[nodiscard]] bool is_single() const { return kind_ == Kind::kOne; }
  [[nodiscard]] uint32_t single() const { return row_; }
  // Adds the rows of another set of the same batch of `count` rows.
  void add(const RowSet& other, size_t count);

  static constexpr uint32_t kNoRow = UINT32_MAX;

 private:
  enum class Kind : uint8_t { kEvery, kOne, kBits };
  explicit RowSet(Kind kind) : kind_(kind) {}

  Kind kind_;
  uint32_t row_ = kNoRow;
  Bits bits_;
};

// One node, as a batch.
class OneNode {
 public:
  explicit OneNode(sdk::Node node)
      : row_(&*node), nodes_{sizeof nodes_, 1, &row_, nullptr, nullptr} {}
  OneNode(const OneNode&) = delete;
  OneNode& operator=(const OneNode&) = delete;
  [[nodiscard]] sdk::Nodes nodes() const { return sdk::Nodes(&nodes_); }

 private:
  const plimsoll_node_info* row_;
  plimsoll_nodes nodes_;
};

class NodeSets {
 public:
  // Loop: tells of() where an affinity for one value is likely to be met, if nobody knows yet: on
  // the node that is called so.
  static void look_ahead(const sdk::Host& host, const VolumeAffinity* affinity);

  explicit NodeSets(sdk::Nodes nodes) : nodes_(nodes) {}
  NodeSets(const NodeSets&) = delete;
  NodeSets& operator=(const NodeSets&) = delete;

  // Null: every node. Valid as long as this; the affinity must live as long.
  const RowSet& of(const VolumeAffinity* affinity);
  [[nodiscard]] sdk::Nodes nodes() const { return nodes_; }

 private:
  // The values of one label on the rows of the batch.
  struct Column {
    const uint32_t* by_slot = nullptr;
    std::vector<uint32_t> rows_with;                        // by value
    std::unordered_map<std::string_view, uint32_t> row_of;  // by text, filled when it is asked for
  };

  [[nodiscard]] RowSet evaluate(const VolumeAffinity& affinity);
  [[nodiscard]] RowSet with_value(const VolumeAffinity& affinity, Column& column);
  Column* column_of(const plimsoll_str& key);
  [[nodiscard]] uint32_t find_value(const VolumeAffinity& affinity, Column& column);
  [[nodiscard]] bool has_value(uint32_t row, const plimsoll_requirement& wanted) const;
  [[nodiscard]] uint32_t row_at(uint32_t slot);

  sdk::Nodes nodes_;
  RowSet every_ = RowSet::every();
  std::unordered_map<const VolumeAffinity*, RowSet> known_;
  std::map<std::string_view, Column> columns_;
  std::vector<uint32_t> row_at_;  // by slot; empty until it is asked for
};

}  // namespace plimsoll::volumes
