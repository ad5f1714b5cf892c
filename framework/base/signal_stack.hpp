#pragma once

namespace plimsoll {

// Gives the calling thread a stack for signal handlers, so that a function which calls itself
// without end can still be told of. A thread that runs plugins calls it when it starts.
void add_signal_stack();

}  // namespace plimsoll
