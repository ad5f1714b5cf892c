// Plimsoll plugin SDK, internal: creates a plugin and its table of functions.
#pragma once

#include <plimsoll/detail/trampolines.hpp>
#include <plimsoll/note.hpp>

namespace plimsoll::sdk::detail {

// Creates the plugin and fills in its table. The table of an older host may be smaller than this
// SDK's; then the remaining slots are left out.
template <typename P>
int32_t create(const plimsoll_host* host, plimsoll_str args_json, plimsoll_plugin* out,
               std::string_view name) noexcept {
  try {
    auto instance = std::make_unique<Instance<P>>(host, view(args_json), name);
    plimsoll_plugin table{};
    fill_queue<P>(table);
    fill_pre_filter<P>(table);
    fill_filter<P>(table);
    fill_post_filter<P>(table);
    fill_score<P>(table);
    fill_reserve<P>(table);
    fill_bind<P>(table);
    fill_state<P>(table);
    fill_events<P>(table);
    if constexpr (has_filter_aspects<P>) table.filter_aspects = instance->plugin.filter_aspects;
    if constexpr (has_score_aspects<P>) table.score_aspects = instance->plugin.score_aspects;
    if constexpr (has_normalizes_by_extremes<P>) {
      if (instance->plugin.normalizes_by_extremes)
        table.flags |= PLIMSOLL_FLAG_NORMALIZES_BY_EXTREMES;
    }
    if constexpr (has_counts_assumed_pods<P>) {
      if (instance->plugin.counts_assumed_pods) table.flags |= PLIMSOLL_FLAG_COUNTS_ASSUMED_PODS;
    }
    if constexpr (has_wakes_whom_it_gates<P>) {
      if (instance->plugin.wakes_whom_it_gates) table.flags |= PLIMSOLL_FLAG_WAKES_WHOM_IT_GATES;
    }
    table.destroy = [](void* self) noexcept { delete static_cast<Instance<P>*>(self); };
    table.size = std::min<uint32_t>(out->size, sizeof table);
    table.self = instance.get();
    std::copy_n(reinterpret_cast<const std::byte*>(&table), table.size,
                reinterpret_cast<std::byte*>(out));
    static_cast<void>(instance.release());
    return PLIMSOLL_SUCCESS;
  } catch (const std::exception& e) {
    host->set_error(host->ctx, str(e.what()));
  } catch (...) {
    host->set_error(host->ctx, str("an exception that is no std::exception"));
  }
  return PLIMSOLL_ERROR;
}

}  // namespace plimsoll::sdk::detail
