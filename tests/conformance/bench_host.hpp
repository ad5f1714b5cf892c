#pragma once
// A host for one plugin at a time: reasons, names, cycle state. What a single scheduling attempt
// has no use for (services, watches, binding) answers with an error or does nothing.

#include <plimsoll/plugin_abi.h>

#include <string>
#include <vector>

#include "framework/api/symbols.hpp"

struct plimsoll_cycle {
  struct Entry {
    plimsoll_symbol key;
    void* value;
    void* (*clone)(const void*);
    void (*drop)(void*);
  };
  std::vector<Entry> entries;

  plimsoll_cycle() = default;
  plimsoll_cycle(const plimsoll_cycle&) = delete;
  plimsoll_cycle& operator=(const plimsoll_cycle&) = delete;
  ~plimsoll_cycle();
};

struct plimsoll_host_ctx {
  plimsoll::SymbolTable& symbols;
  const std::vector<const plimsoll_node_info*>& nodes;  // by slot
  std::string error;
  std::vector<std::vector<std::string>> reasons{{}};  // by id; 0 is none
};

namespace plimsoll::conformance {

[[nodiscard]] plimsoll_host bench_host(plimsoll_host_ctx& context);

}  // namespace plimsoll::conformance
