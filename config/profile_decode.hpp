#pragma once
// The parts of load.cpp that read one profile. Internal to this folder.

#include <string>
#include <vector>

#include "config/fields.hpp"
#include "config/scheduler_config.hpp"

namespace plimsoll::config {

// One entry of profiles[]: decoded and checked by itself. Args of kube-scheduler's plugins are
// normalised.
[[nodiscard]] Profile decode_profile(const Value& value, const std::string& path, Problems& errors,
                                     Problems& warnings);

// What the profiles of a file must agree on: unique names, one and the same queue sort.
void check_profiles_together(const std::vector<Profile>& profiles, Problems& errors);

// percentageOfNodesToScore, here or of the whole file.
void check_percentage(Fields& fields, std::int32_t percentage, Problems& warnings);

}  // namespace plimsoll::config
