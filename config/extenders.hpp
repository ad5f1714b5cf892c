#pragma once
// HTTP extenders of a profile file: parsed and checked.

#include <vector>

#include "config/text/fields.hpp"
#include "config/text/problem.hpp"
#include "framework/extenders/extender.hpp"

namespace plimsoll::config {

// Reads `extenders` of the file's root. Every field is checked like in kube-scheduler, so that all
// problems are shown. As there, those that are ignorable come last.
[[nodiscard]] std::vector<ExtenderSpec> read_extenders(Fields& root, Problems& errors);

// What NodeResourcesFit leaves to extenders: the args with the resources that they manage and that
// the scheduler ignores. The same args if there are none.
[[nodiscard]] std::string with_ignored_resources(const std::string& fit_args_json,
                                                 const std::vector<ExtenderSpec>& extenders);

}  // namespace plimsoll::config
