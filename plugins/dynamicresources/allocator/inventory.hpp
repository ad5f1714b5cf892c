#pragma once
// All devices of the cluster, and which of them a node reaches (structured/internal/incubating,
// pools_incubating.go). Kept up to date slice by slice. What does not depend on a pod or node is
// found out once per slice and shared: numbers of devices, counters, what expressions say, values
// of attributes. For one thread.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/dynamicresources/allocator/known_slice.hpp"
#include "plugins/dynamicresources/values/node_selector.hpp"

namespace plimsoll::dra {

// What a node sees of a pool.
struct PoolView {
  enum class State : uint8_t { kUsable, kIncomplete, kInvalid };
  State state = State::kUsable;
  std::string driver, pool;
  uint32_t number = 0;
  bool binds_conditionally = false;  // a device has binding conditions
  // In the order in which they are tried; none unless the pool is usable.
  std::vector<const KnownDevice*> devices;
  std::vector<const CounterTable::Draws*> draws;  // by device; empty: none draws on counters
  std::shared_ptr<const CounterTable> counters;
};

struct NodePools {
  struct Entry {
    std::shared_ptr<const PoolView> view;
    std::vector<bool> here;  // by device, where devices have nodes of their own; empty: all
  };
  std::vector<Entry> pools;  // in the order in which they are tried
  bool any_invalid = false;
  std::string error;  // a node selector that cannot be read: nothing may be given away here
};

class Inventory {
 public:
  struct Gates {
    bool list_attributes =
        false;  // DRAListTypeAttributes (alpha); brings the rules of its allocator
  };

  Inventory(DeviceNumbers& numbers, Judge judge, Gates gates);
  ~Inventory();

  void set(Slice slice);  // new or changed, by name
  void remove(std::string_view slice);
  // Calls `change` for each slice, in any order. It may change taints, and nothing else.
  void each_slice(const std::function<void(Slice&)>& change);
  // The node's labels changed, or it is gone.
  void forget(std::string_view node);

  // Nullptr: no slice has it; there is no such slice.
  [[nodiscard]] const KnownDevice* find(std::string_view driver, std::string_view pool,
                                        std::string_view device) const;
  [[nodiscard]] const KnownSlice* slice(const std::string& name) const;
  [[nodiscard]] static bool reaches(const Node& node, const KnownDevice& device);
  // Calls `use` for each device of a slice that is of this node alone.
  void each_of(std::string_view node, const std::function<void(const KnownDevice&)>& use) const;

  // The nodes that have such slices.
  [[nodiscard]] std::vector<std::string> nodes() const;

  // Good until a slice changes or the node is forgotten.
  [[nodiscard]] const NodePools& on(const Node& node);

  // A question is kept while somebody holds it, and the last few beyond: the answers of all devices
  // lie in memory, and anybody may ask.
  [[nodiscard]] std::shared_ptr<const Question> expression(const std::string& text);
  [[nodiscard]] std::shared_ptr<AttributeQuestion> attribute(const std::string& full_name);

  [[nodiscard]] Judgement::Kind verdict(const Question& expression,
                                        const KnownDevice& device) const;
  [[nodiscard]] Judgement judge(const Question& expression, const KnownDevice& device) const;
  // How many steps expressions took so far.
  [[nodiscard]] uint64_t judged() const { return judged_; }
  // A number, kNoValue, kUnreadValue, or kFirstListValue + position among the page's lists.
  [[nodiscard]] uint32_t value(AttributeQuestion& attribute, const KnownDevice& device) const;
  [[nodiscard]] static const std::vector<uint32_t>& list(const AttributeQuestion& attribute,
                                                         const KnownDevice& device,
                                                         uint32_t value) {
    return device.slice->attributes[attribute.slot].lists[value - kFirstListValue];
  }

  [[nodiscard]] bool any_allocatable() const { return allocatable_ != 0; }
  [[nodiscard]] const Gates& gates() const { return gates_; }

 private:
  using PoolName = std::pair<std::string, std::string>;  // driver, pool
  using Slices = std::map<std::string, KnownSlice*, std::less<>>;
  struct Pool;
  struct View;
  template <typename T>
  class Questions;
  struct TextHash {  // names are looked up without building a string
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  void drop(KnownSlice& slice);
  [[nodiscard]] std::unique_ptr<View> view(const Node& node);
  void add_pool(const Node& node, const std::shared_ptr<Pool>& pool, View& view);
  [[nodiscard]] std::shared_ptr<const PoolView> pool_view(Pool& pool,
                                                          std::vector<KnownSlice*> relevant);
  void read_attributes(AttributeQuestion& attribute, KnownSlice& slice, AttributePage& page) const;

  DeviceNumbers& numbers_;
  Judge judge_;
  Gates gates_;
  std::unordered_map<std::string, std::unique_ptr<KnownSlice>> slices_;  // by name
  std::map<PoolName, std::shared_ptr<Pool>> pools_;
  std::unordered_map<std::string, std::set<PoolName>> local_;  // by node: pools with its slices
  std::set<PoolName> shared_;                                  // pools with slices of no one node
  std::unordered_map<std::string, std::unique_ptr<View>, TextHash, std::equal_to<>>
      views_;                              // by node
  std::vector<const KnownDevice*> known_;  // by device number
  uint64_t clock_ = 0;
  uint64_t shared_changed_ = 0;
  uint64_t devices_ = 0;
  uint64_t allocatable_ = 0;  // slices with a device that has a footprint on its node
  mutable uint64_t judged_ = 0;
  std::unique_ptr<Questions<Question>> expressions_;
  std::unique_ptr<Questions<AttributeQuestion>> attributes_;
};

}  // namespace plimsoll::dra
