// Plimsoll plugin SDK: the argument and return types of plugin functions, besides Pod, Node and
// Status.
#pragma once

#include <plimsoll/host.hpp>

#include <bit>

namespace plimsoll::sdk {

// The candidate nodes of a call. codes[i] and scores[i] belong to row i.
class Nodes {
 public:
  explicit Nodes(const plimsoll_nodes* nodes) : nodes_(nodes) {}
  [[nodiscard]] size_t size() const { return nodes_->count; }
  [[nodiscard]] Node operator[](size_t i) const { return Node(nodes_->rows[i]); }
  // Since 1.2. columns(): the state of the nodes as arrays indexed by slot; slots(): the slot of
  // each row. They are null and empty in what-ifs and if the scheduler is older.
  [[nodiscard]] const plimsoll_columns* columns() const {
    return PLIMSOLL_HAS(nodes_, columns) ? nodes_->columns : nullptr;
  }
  [[nodiscard]] std::span<const uint32_t> slots() const {
    if (columns() == nullptr) return {};
    return {nodes_->slots, nodes_->count};
  }
  const plimsoll_nodes& operator*() const { return *nodes_; }

 private:
  const plimsoll_nodes* nodes_;
};

// The results of a batch filter. Leave rows that are already rejected as they are.
class Verdicts {
 public:
  Verdicts(uint8_t* codes, uint32_t* reasons, size_t count)
      : codes_(codes), reasons_(reasons), count_(count) {}
  [[nodiscard]] size_t size() const { return count_; }
  // Whether row i is still a candidate.
  [[nodiscard]] bool open(size_t i) const { return codes_[i] == PLIMSOLL_SUCCESS; }
  void set(size_t i, Status status) {
    codes_[i] = static_cast<uint8_t>(status.code);
    reasons_[i] = status.reason;
  }

 private:
  uint8_t* codes_;
  uint32_t* reasons_;
  size_t count_;
};

// 24 bytes that order the queue, lowest first. Each call fills the next 8 bytes, the most
// significant ones first.
class SortKey {
 public:
  SortKey& ascending(int64_t value) {
    return put(std::bit_cast<uint64_t>(value) ^ (uint64_t{1} << 63));
  }
  SortKey& descending(int64_t value) {
    return put(~(std::bit_cast<uint64_t>(value) ^ (uint64_t{1} << 63)));
  }
  [[nodiscard]] const std::array<uint8_t, 24>& bytes() const { return bytes_; }

 private:
  SortKey& put(uint64_t value) {
    for (int shift = 56; shift >= 0 && used_ < bytes_.size(); shift -= 8) {
      bytes_[used_++] = static_cast<uint8_t>(value >> shift);
    }
    return *this;
  }
  std::array<uint8_t, 24> bytes_{};
  size_t used_ = 0;
};

// Narrows an attempt to the named nodes. only() without any add() leaves no node at all.
class NodeNames {
 public:
  void only() { narrowed_ = true; }
  void add(std::string_view name) {
    narrowed_ = true;
    texts_.emplace_back(name);
  }
  [[nodiscard]] bool narrowed() const { return narrowed_; }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  bool narrowed_ = false;
};

// How post_filter changes the pod's nominatedNodeName. Without a call it stays the same.
class Nomination {
 public:
  void nominate(std::string_view node_name) { set(node_name); }
  void clear() { set({}); }
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] const std::string& node_name() const { return node_name_; }

 private:
  void set(std::string_view name) {
    changed_ = true;
    node_name_ = name;
  }
  bool changed_ = false;
  std::string node_name_;
};

enum class Hint : int32_t { kSkip = PLIMSOLL_HINT_SKIP, kQueue = PLIMSOLL_HINT_QUEUE };
enum class NodeEvent : uint32_t {
  kAdded = PLIMSOLL_NODE_ADDED,
  kChanged = PLIMSOLL_NODE_CHANGED,
  kRemoved = PLIMSOLL_NODE_REMOVED
};
enum class PodEvent : uint32_t {
  kAssigned = PLIMSOLL_POD_ASSIGNED,
  kRemoved = PLIMSOLL_POD_REMOVED
};

struct ObjectEvent {
  enum Type : uint32_t {
    kUpsert = PLIMSOLL_OBJECT_UPSERT,
    kDelete = PLIMSOLL_OBJECT_DELETE,
    kSynced = PLIMSOLL_OBJECT_SYNCED  // the first list is complete; `name` is empty
  };
  Type type;
  std::string_view resource;  // "<plural>.<version>.<group>"
  std::string_view name;
  std::string_view ns;
  std::string_view json;
};

// Receives bytes: fragments of a signature, or the text of an explanation.
class Sink {
 public:
  using Put = void (*)(void* sink, const void* bytes, size_t len);
  Sink(Put put, void* sink) : put_(put), sink_(sink) {}
  void put(const void* bytes, size_t len) { put_(sink_, bytes, len); }
  void put(std::string_view text) { put_(sink_, text.data(), text.size()); }
  // Writes a text with its length in front, so that the signatures of "a","bc" and "ab","c" differ.
  void put_field(std::string_view text) {
    put_value(static_cast<uint64_t>(text.size()));
    put(text);
  }
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void put_value(T value) {
    put_(sink_, &value, sizeof value);
  }

 private:
  Put put_;
  void* sink_;
};

}  // namespace plimsoll::sdk
