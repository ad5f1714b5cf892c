#pragma once
// The args of kube-scheduler's own plugins: strict decoding, defaults, validation.
//
// NodeResourcesFit, NodeResourcesBalancedAllocation, NodeAffinity, PodTopologySpread,
// InterPodAffinity, DefaultPreemption, VolumeBinding and DynamicResources have args of a known type
// (<Plugin>Args of kubescheduler.config.k8s.io/v1). They are checked here, whether or not the
// plugin exists in this build, so that the plugin can take its JSON as it is. All other plugins
// check their own. Pure functions, any thread.

#include <string>
#include <string_view>

#include "config/problem.hpp"
#include "config/value.hpp"

namespace plimsoll::config {

// True for the plugins named above.
[[nodiscard]] bool has_known_args(std::string_view plugin);

// The args as compact JSON text in which every defaulted field is present and apiVersion and kind
// are not. `args` may be null: the defaults. Problems have paths below `path`; with errors, the
// text is not valid args. Durations are text in Go's form ("10s").
[[nodiscard]] std::string normalise_args(std::string_view plugin, const Value* args,
                                         const std::string& path, Problems& errors,
                                         Problems& warnings);

// The args of a plugin for which the file gives none: the defaults, or "{}" for a plugin of unknown
// args.
[[nodiscard]] std::string default_args(std::string_view plugin);

// Args of any other plugin as JSON text. apiVersion and kind are left out if they are of the usual
// form (kind is <name>Args for one of the two names).
[[nodiscard]] std::string passed_on_args(std::string_view plugin, std::string_view written_name,
                                         const Value* args);

}  // namespace plimsoll::config
