#pragma once
// The resource use of a process, from /proc.

#include <sys/types.h>

#include <string>

namespace plimsoll::bench {

// CPU seconds of all its threads in user and kernel mode, with a resolution of one kernel clock
// tick (10 ms). 0 if there is no such process.
[[nodiscard]] double cpu_seconds(pid_t pid);
// Its peak resident memory (VmHWM) in MiB; 0 if there is no such process.
[[nodiscard]] double peak_mib(pid_t pid);
// The youngest child of this process with this name; -1 if there is none.
[[nodiscard]] pid_t child_named(const std::string& name);

}  // namespace plimsoll::bench
