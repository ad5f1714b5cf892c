#include "plugins/builtin/volumes/volume_binding_args.hpp"

#include <limits>

#include "plugins/builtin/default_args.hpp"

namespace plimsoll::volumes {

VolumeBindingArgs read_volume_binding_args(const sdk::Host& host, std::string_view json) {
  constexpr int64_t kMostSeconds = std::numeric_limits<int64_t>::max() / 1000;
  VolumeBindingArgs made;
  const auto read = [&](sdk::Args& args) {
    args.read("bindTimeoutSeconds", made.bind_timeout_s, 0, kMostSeconds);
    args.object("featureGates", [&](sdk::Args& gates) {
      gates.read("StorageCapacityScoring", made.scores_capacity);
    });
    if (!args.has("shape")) return;
    if (!made.scores_capacity) {
      return args.problem("shape", "needs the feature gate StorageCapacityScoring, which is off");
    }
    builtin::read_shape(args, made.shape);
  };
  builtin::read_over(VolumeBindingArgs::kDefaults, host, json, {"VolumeBindingArgs"}, read);
  return made;
}

}  // namespace plimsoll::volumes
