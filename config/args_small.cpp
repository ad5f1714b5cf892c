// DefaultPreemptionArgs, VolumeBindingArgs and DynamicResourcesArgs.
#include "config/args_readers.hpp"

namespace plimsoll::config {

Value read_default_preemption_args(Fields& args, ArgsProblems) {
  std::int32_t percentage = 10, absolute = 100;
  args.read("minCandidateNodesPercentage", percentage);
  args.read("minCandidateNodesAbsolute", absolute);
  if (percentage < 0 || percentage > 100) {
    args.problem("minCandidateNodesPercentage",
                 invalid_value(std::to_string(percentage), not_in_range(0, 100)));
  }
  if (absolute < 0) {
    args.problem("minCandidateNodesAbsolute",
                 invalid_value(std::to_string(absolute), "not in valid range [0, inf)"));
  }
  if (percentage == 0 && absolute == 0) {
    args.problem(
        "minCandidateNodesPercentage",
        invalid_value("0", "cannot be zero at the same time as minCandidateNodesAbsolute"));
    args.problem(
        "minCandidateNodesAbsolute",
        invalid_value("0", "cannot be zero at the same time as minCandidateNodesPercentage"));
  }
  Value out = Value::mapping();
  out.set("minCandidateNodesPercentage", Value::integer(percentage));
  out.set("minCandidateNodesAbsolute", Value::integer(absolute));
  return out;
}

Value read_volume_binding_args(Fields& args, ArgsProblems) {
  constexpr std::int64_t kDefaultTimeout = 600;
  std::int64_t timeout = kDefaultTimeout;
  args.read("bindTimeoutSeconds", timeout);
  if (timeout < 0) {
    args.problem("bindTimeoutSeconds",
                 invalid_value(std::to_string(timeout),
                               "invalid BindTimeoutSeconds, should not be a negative value"));
  }
  if (const Value* shape = args.get("shape")) {
    args.problem("shape",
                 invalid_value(to_json(*shape),
                               "unexpected field `shape`, remove it or turn on the feature "
                               "gate StorageCapacityScoring"));
  }
  Value out = Value::mapping();
  out.set("bindTimeoutSeconds", Value::integer(timeout));
  return out;
}

Value read_dynamic_resources_args(Fields& args, ArgsProblems) {
  using std::chrono::seconds;
  std::chrono::nanoseconds filter = seconds(10), binding = seconds(600);
  args.read("filterTimeout", filter);
  args.read("bindingTimeout", binding);
  if (filter.count() < 0) {
    args.problem("filterTimeout",
                 invalid_value(go_quoted(format_duration(filter)), "must be zero or positive"));
  }
  if (binding < seconds(1)) {
    args.problem("bindingTimeout",
                 invalid_value(go_quoted(format_duration(binding)), "must be at least 1 second"));
  }
  Value out = Value::mapping();
  out.set("filterTimeout", Value::string(format_duration(filter)));
  out.set("bindingTimeout", Value::string(format_duration(binding)));
  return out;
}

}  // namespace plimsoll::config
