#pragma once
// A scheduler in this process, asked as a running one is.

#include "cli/ask/asking.hpp"
#include "cli/run/wiring.hpp"

namespace plimsoll::cli {

// The session must outlive it and run.
[[nodiscard]] Ask ask_session(Session& session);

}  // namespace plimsoll::cli
