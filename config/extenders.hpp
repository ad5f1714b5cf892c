#pragma once
// HTTP extenders of a profile file: parsed, checked and rejected.

#include "config/fields.hpp"
#include "config/problem.hpp"

namespace plimsoll::config {

// Reads `extenders` of the file's root. Every field is checked like in kube-scheduler, so that all
// problems are shown. Every extender is also an error of its own, since a profile that relies on
// one must not run without it.
void read_extenders(Fields& root, Problems& errors);

}  // namespace plimsoll::config
