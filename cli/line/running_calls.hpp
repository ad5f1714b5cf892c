#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace plimsoll::cli {

// What plugins are doing just now on all threads of this process: `plugin "X" in Filter of pod
// default/a`, joined by "; "; empty: nothing. Plugins pay nothing for it: each thread is
// interrupted by a signal and says it itself. For whoever has found that something hangs. Any
// thread.
[[nodiscard]] std::string running_calls();

// The same as the end of a sentence: ": plugin ..."; empty: nothing.
[[nodiscard]] std::string running_calls_after_colon();

// The calls that the loop does not wait for (PreBind, Bind, PostBind, Create, the answer to an API
// request) and that have not returned for `after`, a sentence each: once, and then each time that
// it has lasted twice as long. Any thread.
[[nodiscard]] std::vector<std::string> hanging_calls(std::chrono::nanoseconds after);

}  // namespace plimsoll::cli
