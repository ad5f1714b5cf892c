#pragma once
// In which domain of a topology key each node is: values of node labels, interned as small numbers.
//
// A key is kept up to date as long as somebody holds it; of the others, the last few are kept for
// whoever asks next. Scheduler loop only, but for domain() and bound().

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plimsoll::builtin {

class TopologyKey {
 public:
  static constexpr uint32_t kNone = 0;  // the node lacks the label

  explicit TopologyKey(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  // The domain of the node of this slot. A domain's number is used again when it has no node.
  [[nodiscard]] uint32_t domain(uint32_t slot) const {
    return slot < domains_.size() ? domains_[slot] : kNone;
  }
  // The same for many: by slot; those beyond its end have none. Until the next event.
  [[nodiscard]] std::span<const uint32_t> domains() const { return domains_; }
  // Every domain is less.
  [[nodiscard]] uint32_t bound() const { return static_cast<uint32_t>(nodes_.size()); }
  [[nodiscard]] size_t domains_in_use() const { return values_.size(); }
  [[nodiscard]] size_t nodes_with_it() const { return nodes_with_it_; }

 private:
  friend class Topology;
  void put(uint32_t slot, std::string_view value);
  void remove(uint32_t slot);

  std::string name_;
  std::vector<uint32_t> domains_;   // by slot; empty while no node has the label
  std::vector<uint32_t> nodes_{0};  // by domain
  std::vector<uint32_t> free_;      // domains without a node
  std::unordered_map<std::string, uint32_t> values_;
  std::vector<const std::string*> texts_{nullptr};  // by domain: the key in values_
  size_t nodes_with_it_ = 0;
};

using TopologyKeyRef = std::shared_ptr<const TopologyKey>;

class Topology {
 public:
  // A key by which every node is a domain of its own, whatever its labels say. It is no label's
  // name.
  static constexpr std::string_view kEachNode = "each node";

  explicit Topology(sdk::Host host) : host_(std::move(host)) {}

  // The key of this name, with all nodes.
  [[nodiscard]] TopologyKeyRef key(std::string_view name);
  // The same for many names, at the cost of one walk over the labels of all nodes. Hold the result
  // while the keys are asked for one by one.
  [[nodiscard]] std::vector<TopologyKeyRef> keys(std::span<const std::string_view> names);

  [[nodiscard]] size_t node_count() const { return node_count_; }

  void put(uint32_t slot, const plimsoll_node& node);
  void remove(uint32_t slot);
  // Forgets keys that nobody holds.
  void drop_unused();

 private:
  // So many keys are kept although nobody holds them.
  static constexpr size_t kKeptKeys = 64;

  void fill(std::span<const std::shared_ptr<TopologyKey>> keys);

  sdk::Host host_;
  std::map<std::string, std::shared_ptr<TopologyKey>, std::less<>> keys_;
  size_t drop_at_ = kKeptKeys;  // so many keys are a reason to look for those that nobody holds
  std::vector<uint8_t> known_;  // by slot
  size_t node_count_ = 0;
};

}  // namespace plimsoll::builtin
