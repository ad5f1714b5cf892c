#pragma once
// The nodes of a batch call. This is a view: rows, slots and columns must outlive it.

#include <plimsoll/plugin_abi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace plimsoll {

class NodeRows {
 public:
  using Row = const plimsoll_node_info*;

  NodeRows() = default;
  NodeRows(std::span<const Row> rows) : rows_(rows) {}     // NOLINT: a view of the same
  NodeRows(const std::vector<Row>& rows) : rows_(rows) {}  // NOLINT: a view of the same
  NodeRows(const Row* rows, size_t count) : rows_(rows, count) {}
  // Nodes of the cluster in their real state, with the slot of each row and the columns of all
  // nodes. Without slots and columns, plugins read row by row, with the same result.
  NodeRows(std::span<const Row> rows, std::span<const uint32_t> slots,
           const plimsoll_columns* columns)
      : rows_(rows), slots_(slots), columns_(columns) {}

  [[nodiscard]] size_t size() const { return rows_.size(); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] Row operator[](size_t i) const { return rows_[i]; }
  [[nodiscard]] Row front() const { return rows_.front(); }
  [[nodiscard]] auto begin() const { return rows_.begin(); }
  [[nodiscard]] auto end() const { return rows_.end(); }

  [[nodiscard]] std::span<const Row> rows() const { return rows_; }
  [[nodiscard]] const plimsoll_columns* columns() const { return columns_; }
  [[nodiscard]] uint32_t slot(size_t i) const {
    return columns_ != nullptr ? slots_[i] : rows_[i]->slot;
  }
  // `count` rows, starting at `begin`.
  [[nodiscard]] NodeRows part(size_t begin, size_t count) const {
    if (columns_ == nullptr) return {rows_.subspan(begin, count)};
    return {rows_.subspan(begin, count), slots_.subspan(begin, count), columns_};
  }
  // The same nodes without columns: plugins read row by row.
  [[nodiscard]] NodeRows without_columns() const { return {rows_}; }

  [[nodiscard]] plimsoll_nodes abi() const {
    return {sizeof(plimsoll_nodes), static_cast<uint32_t>(rows_.size()), rows_.data(),
            columns_ != nullptr ? slots_.data() : nullptr, columns_};
  }

 private:
  std::span<const Row> rows_;
  std::span<const uint32_t> slots_;
  const plimsoll_columns* columns_ = nullptr;
};

// Whether no node is rejected. memcmp makes this fast, since it is the usual case.
[[nodiscard]] inline bool all_passed(std::span<const uint8_t> codes) {
  static_assert(PLIMSOLL_SUCCESS == 0);
  return codes.empty() ||
         (codes[0] == 0 && std::memcmp(codes.data(), codes.data() + 1, codes.size() - 1) == 0);
}

}  // namespace plimsoll
