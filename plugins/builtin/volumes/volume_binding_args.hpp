#pragma once
// VolumeBindingArgs. Any thread.

#include <plimsoll/host.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/builtin/node_resources.hpp"

namespace plimsoll::volumes {

struct VolumeBindingArgs {
  static constexpr const char* kDefaults = R"({"bindTimeoutSeconds":600})";
  int64_t bind_timeout_s = 0;
  // Feature gate StorageCapacityScoring, on since 1.37: nodes are scored by the storage that is
  // used there, along `shape`.
  bool scores_capacity = true;
  std::vector<builtin::ShapePoint> shape{{0, 100}, {100, 0}};
};

// Throws with all that is wrong.
[[nodiscard]] VolumeBindingArgs read_volume_binding_args(const sdk::Host& host,
                                                         std::string_view json);

}  // namespace plimsoll::volumes
