// Plimsoll plugin SDK: what the filters would say if other pods were on a node.
#pragma once

#include <plimsoll/status.hpp>
#include <plimsoll/views.hpp>

#include <memory>

namespace plimsoll::sdk {

// A simulated copy of one node, for the pod of one attempt (Host::what_if). Loop only. It must not
// outlive the plugin call that made it. Added pods must outlive it.
class WhatIf {
 public:
  WhatIf(const plimsoll_host* table, plimsoll_what_if* raw) : raw_(raw, End{table}) {}

  // False if there is no such node.
  explicit operator bool() const { return raw_ != nullptr; }

  // Adds the pod to the copy, or removes it. Return an error unchanged: the host already has its
  // text.
  Status add_pod(Pod pod) const { return {table().what_if_add_pod(ctx(), raw_.get(), &*pod), 0}; }
  Status remove_pod(Pod pod) const {
    return {table().what_if_remove_pod(ctx(), raw_.get(), &*pod), 0};
  }
  // The verdict of all filters on the copy in its present state. The filters run with the nominated
  // pods that this pod yields to, and without them; both runs must pass.
  Status filter() const {
    uint32_t reason = 0;
    const int32_t code = table().what_if_filter(ctx(), raw_.get(), &reason);
    return {code, reason};
  }
  [[nodiscard]] Node node() const { return Node(table().what_if_node(ctx(), raw_.get())); }

 private:
  struct End {
    const plimsoll_host* table;
    void operator()(plimsoll_what_if* raw) const { table->what_if_end(table->ctx, raw); }
  };
  [[nodiscard]] const plimsoll_host& table() const { return *raw_.get_deleter().table; }
  [[nodiscard]] plimsoll_host_ctx* ctx() const { return table().ctx; }

  std::unique_ptr<plimsoll_what_if, End> raw_;
};

}  // namespace plimsoll::sdk
