// The functions that the host offers to plugins for what-ifs and nominated pods.

#include <vector>

#include "framework/api/objects.hpp"
#include "framework/runtime/plugin_instance.hpp"
#include "framework/runtime/what_if.hpp"

namespace plimsoll {

namespace {

// Returns Success, or Error after it has set the plugin's error text.
int32_t tell(plimsoll_host_ctx* ctx, const Status& status) {
  if (status.is_error()) set_plugin_error(status.message(ctx->env->reasons));
  return static_cast<int32_t>(status.code);
}

int32_t host_what_if_filter(plimsoll_host_ctx* ctx, plimsoll_what_if* what_if, uint32_t* reason) {
  const Status status = what_if->filter();
  *reason = status.reason;
  return tell(ctx, status);
}

plimsoll_list host_nominated_pods(plimsoll_host_ctx* ctx, plimsoll_str node_name) {
  thread_local std::vector<const plimsoll_pod*> pods;
  pods = ctx->env->backend().nominated_pods(view(node_name));
  return {pods.data(), static_cast<uint32_t>(pods.size()), sizeof pods[0]};
}

}  // namespace

void add_what_if_functions(plimsoll_host& table) {
  table.what_if_begin = [](plimsoll_host_ctx* c, const plimsoll_cycle* cycle,
                           const plimsoll_pod* pod, uint32_t slot) {
    return c->env->backend().what_if(*cycle, *pod, slot).release();
  };
  table.what_if_add_pod = [](plimsoll_host_ctx* c, plimsoll_what_if* what_if,
                             const plimsoll_pod* pod) { return tell(c, what_if->add_pod(*pod)); };
  table.what_if_remove_pod = [](plimsoll_host_ctx* c, plimsoll_what_if* what_if,
                                const plimsoll_pod* pod) {
    return tell(c, what_if->remove_pod(*pod));
  };
  table.what_if_filter = host_what_if_filter;
  table.what_if_node = [](plimsoll_host_ctx*, const plimsoll_what_if* what_if) {
    return &what_if->node();
  };
  table.what_if_end = [](plimsoll_host_ctx*, plimsoll_what_if* what_if) { delete what_if; };
  table.nominate = [](plimsoll_host_ctx* c, const plimsoll_pod* pod, plimsoll_str node_name) {
    c->env->backend().nominate(*pod, view(node_name));
  };
  table.nominated_pods = host_nominated_pods;
}

}  // namespace plimsoll
