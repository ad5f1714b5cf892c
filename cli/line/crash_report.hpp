#pragma once

namespace plimsoll::cli {

// From now on a process that crashes says so on standard error before it ends, in the log's format:
// the signal, the plugin that ran on that thread with its call, pod, version and file, and the
// stack. So does one that a plugin ends by calling exit. Call this once, before other threads are
// started; threads that run plugins call add_signal_stack().
void report_crashes();

}  // namespace plimsoll::cli
