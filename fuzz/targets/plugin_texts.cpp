// Small texts that plugins read: their arguments, and annotations of pods about groups and zones.

#include <plimsoll/duration.hpp>
#include <plimsoll/fake_host.hpp>
#include <plimsoll/fake_objects.hpp>

#include <stdexcept>

#include "framework/objects/gang_terms.hpp"
#include "fuzz/target.hpp"
#include "plugins/builtin/builtin.hpp"
#include "plugins/nodedevice/args/device_args.hpp"
#include "plugins/nodedevice/requests/numa_spec.hpp"
#include "plugins/noderesourcetopologymatch/match_args.hpp"
#include "plugins/topologyscore/score_args.hpp"

namespace plimsoll::fuzz {
namespace {

// These parsers report errors by throwing; in a plugin the SDK's trampoline catches them.
template <typename Parse>
void or_says_why(const Parse& parse) {
  try {
    (void)parse();
  } catch (const std::runtime_error& error) {
    require(*error.what() != '\0', "an error says something");
  }
}

// Each plugin of the default profile is made, or says why not.
void builtin_args(std::string_view input) {
  sdk::FakeHost host;
  for (const StaticModule& module : builtin_modules()) {
    plimsoll_plugin plugin{};
    plugin.size = sizeof plugin;
    host.error.clear();
    if (module.create(host.table(), sdk::str(input), &plugin) == PLIMSOLL_SUCCESS) {
      plugin.destroy(plugin.self);
    } else {
      require(!host.error.empty(), module.name, " says why it cannot be made");
    }
  }
}

}  // namespace

void plugin_args(std::string_view input) {
  builtin_args(input);
  const auto devices = devices::parse_device_args(input);
  if (!devices) require(!devices.error().empty(), "an error says something");
  if (devices) (void)devices::DeviceTypes(devices->types);
  or_says_why([&] { return topology::parse_match_args(input); });
  or_says_why([&] { return topology::parse_score_args(input); });
}

void pod_texts(std::string_view input) {
  for (const char* what :
       {"groups", "match-policy", "min-available", "mode", "total-number", "waiting-time"}) {
    sdk::FakePod pod("ns/a");
    pod.annotation("gang.scheduling.koordinator.sh/name", "g");
    pod.annotation(std::string("gang.scheduling.koordinator.sh/") + what, std::string(input));
    (void)gang_terms(pod.get());
  }
  const auto spec = devices::parse_numa_spec(input);
  if (!spec) require(!spec.error().empty(), "an error says something");
  if (const auto duration = sdk::parse_duration(input)) {
    require(sdk::parse_duration(sdk::format_duration(*duration)).has_value(),
            "a printed duration can be read");
  }
}

}  // namespace plimsoll::fuzz
