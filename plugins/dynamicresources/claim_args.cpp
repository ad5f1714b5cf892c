#include "plugins/dynamicresources/claim_args.hpp"

#include <chrono>
#include <plimsoll/args.hpp>
#include <plimsoll/duration.hpp>
#include <string>

namespace plimsoll::dra {

ClaimArgs parse_claim_args(const sdk::Host& host, std::string_view args_json) {
  ClaimArgs made;
  sdk::read_args(host, args_json, {"DynamicResourcesArgs"}, [&](sdk::Args& args) {
    const auto duration = [&args](const char* key, int64_t least_ms, int64_t& out) {
      std::string text;
      args.read(key, text);
      if (text.empty()) return;
      const auto read = sdk::parse_duration(text);
      if (!read) return args.problem(key, "must be a duration such as 10s, not \"" + text + "\"");
      const int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(*read).count();
      if (ms < least_ms) {
        return args.problem(key, "must be at least " + std::to_string(least_ms / 1000) + "s");
      }
      out = ms;
    };
    duration("filterTimeout", 0, made.filter_timeout_ms);
    duration("bindingTimeout", 1000, made.binding_timeout_ms);
    args.choice("deviceOrder", made.order,
                {{"reference", ClaimArgs::Order::kReference},
                 {"topology", ClaimArgs::Order::kTopology},
                 {"require", ClaimArgs::Order::kRequire}});
    args.object("featureGates", [&made](sdk::Args& gates) {
      gates.read("DRAListTypeAttributes", made.list_attributes);
      gates.read("DRANodeAllocatableResources", made.node_allocatable);
    });
  });
  return made;
}

}  // namespace plimsoll::dra
