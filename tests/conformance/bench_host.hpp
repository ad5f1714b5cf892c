#pragma once
// A host for one plugin at a time: reasons, names, cycle state. What a single scheduling attempt
// has no use for (services, watches, binding) answers with an error or does nothing.

#include <plimsoll/plugin_abi.h>

#include <string>
#include <vector>

#include "framework/api/symbols.hpp"
#include "framework/objects/object_store.hpp"

namespace plimsoll::conformance {

// Plugins get these two as the opaque plimsoll_cycle and plimsoll_host_ctx. They have names of
// their own, because the runtime defines the others.
struct BenchCycle {
  struct Entry {
    plimsoll_symbol key;
    void* value;
    void* (*clone)(const void*);
    void (*drop)(void*);
  };
  std::vector<Entry> entries;

  BenchCycle() = default;
  BenchCycle(const BenchCycle&) = delete;
  BenchCycle& operator=(const BenchCycle&) = delete;
  ~BenchCycle();

  [[nodiscard]] plimsoll_cycle& abi() { return *reinterpret_cast<plimsoll_cycle*>(this); }
};

struct BenchContext {
  SymbolTable& symbols;
  const std::vector<const plimsoll_node_info*>& nodes;  // by slot
  std::string error;
  std::vector<std::vector<std::string>> reasons{{}};  // by id; 0 is none
  std::vector<std::string> warnings;                  // that plugins logged
  ObjectStore objects = {};
};

[[nodiscard]] plimsoll_host bench_host(BenchContext& context);

}  // namespace plimsoll::conformance
