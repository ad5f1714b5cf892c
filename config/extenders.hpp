#pragma once
// HTTP extenders of a profile file: understood, checked and refused.

#include "config/fields.hpp"
#include "config/problem.hpp"

namespace plimsoll::config {

// Reads `extenders` of the file's root. Every field is checked as kube-scheduler does, so that all
// problems are shown; and every extender is an error of its own, since a profile that counts on one
// must not run without it.
void read_extenders(Fields& root, Problems& errors);

}  // namespace plimsoll::config
