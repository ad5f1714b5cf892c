#pragma once
// A simulated copy of one node: the C++ side of `plimsoll_what_if`. The cycle implements it;
// plugins use it through the host table (host_table.cpp).

#include <plimsoll/plugin_abi.h>

#include "framework/runtime/plugin/status.hpp"

// A copy of a node and a clone of the cycle's state, for one pod that is to be placed. Loop only.
// It lives within one call of a plugin. It does not copy added pods: they must outlive it.
struct plimsoll_what_if {
 public:
  plimsoll_what_if() = default;
  plimsoll_what_if(const plimsoll_what_if&) = delete;
  plimsoll_what_if& operator=(const plimsoll_what_if&) = delete;
  virtual ~plimsoll_what_if() = default;

  // Adds the pod to the copy, or removes it. Success or Error.
  virtual plimsoll::Status add_pod(const plimsoll_pod& pod) = 0;
  virtual plimsoll::Status remove_pod(const plimsoll_pod& pod) = 0;
  // All filters, with and without the node's nominated pods (RunFilterPluginsWithNominatedPods).
  virtual plimsoll::Status filter() = 0;
  [[nodiscard]] virtual const plimsoll_node_info& node() const = 0;
};

namespace plimsoll {
using WhatIf = plimsoll_what_if;
}  // namespace plimsoll
