#pragma once
// The readers behind plugin_args.hpp: one per type of args of kube-scheduler's own plugins.
//
// Each takes the args' fields (of no mapping: everything is absent), checks them as
// validation_pluginargs.go does, and gives the args with all defaults filled in. What
// kube-scheduler takes without a word and yet cannot mean anything is a warning. The caller
// reports unknown fields. Pure functions, any thread.

#include <string>
#include <string_view>

#include "config/fields.hpp"
#include "config/problem.hpp"
#include "config/value.hpp"

namespace plimsoll::config {

struct ArgsProblems {
  Problems& errors;
  Problems& warnings;
};

using ArgsReader = Value (*)(Fields& args, ArgsProblems problems);

// args_resources.cpp
[[nodiscard]] Value read_fit_args(Fields& args, ArgsProblems problems);
[[nodiscard]] Value read_balanced_allocation_args(Fields& args, ArgsProblems problems);

// args_affinity.cpp
[[nodiscard]] Value read_node_affinity_args(Fields& args, ArgsProblems problems);
[[nodiscard]] Value read_inter_pod_affinity_args(Fields& args, ArgsProblems problems);

// args_spread.cpp
[[nodiscard]] Value read_topology_spread_args(Fields& args, ArgsProblems problems);

// args_small.cpp: types of two or three numbers
[[nodiscard]] Value read_default_preemption_args(Fields& args, ArgsProblems problems);
[[nodiscard]] Value read_volume_binding_args(Fields& args, ArgsProblems problems);
[[nodiscard]] Value read_dynamic_resources_args(Fields& args, ArgsProblems problems);

// "not in valid range [0, 100]"
[[nodiscard]] std::string not_in_range(std::int64_t low, std::int64_t high);

// ValidateLabelName: one error per broken rule of a qualified name.
void check_qualified_name(const std::string& name, const std::string& path, Position at,
                          Problems& errors);

[[nodiscard]] Value string_list(const std::vector<std::string>& texts);

}  // namespace plimsoll::config
