#pragma once
// The parts of load.cpp that read one profile. Internal to this folder.

#include <string>
#include <vector>

#include "config/profile/scheduler_config.hpp"
#include "config/text/fields.hpp"

namespace plimsoll::config {

// Decodes one entry of profiles[] and checks it on its own, but for the plugins' args.
[[nodiscard]] Profile decode_profile(const Value& value, const std::string& path, Problems& errors,
                                     Problems& warnings);

// Checks across the profiles of a file: unique names, the same queue sort plugin.
void check_profiles_together(const std::vector<Profile>& profiles, Problems& errors);

// percentageOfNodesToScore, of a profile or of the whole file.
void check_percentage(Fields& fields, std::int32_t percentage, Problems& warnings);

}  // namespace plimsoll::config
