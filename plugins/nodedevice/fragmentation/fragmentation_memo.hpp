#pragma once
// What Fragmentation said, kept as long as it holds: for a node until its devices, its free CPU or
// its model change, for a request until many others have come. Most pods are copies of one another
// and each changes one node, so that few nodes are looked at afresh; and nodes that have the same
// left are measured once.
//
// On the scheduler loop only. Memory is bounded, whatever pods come.

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "plugins/nodedevice/fragmentation/fragmentation.hpp"

namespace plimsoll::devices {

class FragmentationMemo {
 public:
  FragmentationMemo(const DeviceTypes& types, int gpu_type) : types_(types), gpu_type_(gpu_type) {}

  // Forgets everything that was said by another.
  void use(std::shared_ptr<const Fragmentation> fragmentation);
  [[nodiscard]] const Fragmentation* fragmentation() const { return fragmentation_.get(); }

  // A node as it is now. `devices` null: nothing is known of them.
  struct Node {
    uint32_t slot = 0;
    const NodeState* devices = nullptr;
    uint64_t model_version = 0;  // changes when `model` does
    std::string_view model;
    int64_t free_cpu = 0;
  };
  // What a pod asks for; `gpus` may be null.
  struct Request {
    const TypeRequest* gpus = nullptr;
    int64_t cpu_milli = 0;
  };

  // To be begun anew for each pod.
  class Ranks;
  [[nodiscard]] Ranks begin(const Request& request, size_t slots);

  // Fragmentation::of, remembered.
  [[nodiscard]] int64_t of(const FreeGpus& node);

 private:
  struct Entry {
    uint64_t version = 0;  // 0: empty
    uint64_t model_version = 0;
    int64_t free_cpu = 0;
    int64_t rank = 0;
  };
  struct Column {
    TypeRequest gpus;
    int64_t cpu_milli = 0;
    std::vector<Entry> by_slot;
  };
  struct Before {
    uint64_t version = 0;
    uint64_t model_version = 0;
    FreeGpus free;
    int64_t value = 0;
  };
  struct Hash {
    size_t operator()(const FreeGpus& node) const { return node.hash(); }
  };

  int64_t rank(Column& column, const Request& request, const Node& node);
  const Before& before(const Node& node);

  const DeviceTypes& types_;
  int gpu_type_;
  std::shared_ptr<const Fragmentation> fragmentation_;
  std::list<Column> columns_;  // the one that was used last first
  std::vector<Before> before_;
  std::unordered_map<FreeGpus, int64_t, Hash> values_;
};

class FragmentationMemo::Ranks {
 public:
  Ranks(FragmentationMemo& memo, Column& column, const Request& request)
      : memo_(memo), column_(column), request_(request) {}
  [[nodiscard]] int64_t of(const Node& node) { return memo_.rank(column_, request_, node); }

 private:
  FragmentationMemo& memo_;
  Column& column_;
  Request request_;
};

// The rank of a node, straight: what the memo remembers. Any thread.
[[nodiscard]] int64_t rank_of(const Fragmentation& fragmentation, const DeviceTypes& types,
                              int gpu_type, const FragmentationMemo::Node& node,
                              const FragmentationMemo::Request& request);

}  // namespace plimsoll::devices
