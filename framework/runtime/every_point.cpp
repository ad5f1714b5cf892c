#include "framework/runtime/every_point.hpp"

namespace plimsoll {

Result<void> enable_at_every_point(ProfileSpec& profile, const Modules& modules,
                                   const std::string& plugin) {
  const auto points = modules.extension_points(plugin);
  if (!points) return fail(points.error());
  for (const ExtensionPoint point : *points) profile.at(point).push_back({plugin});
  return {};
}

}  // namespace plimsoll
