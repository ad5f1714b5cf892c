#pragma once
// The resource use of a process.

#include <sys/types.h>

#include <string>

namespace plimsoll::bench {

// CPU seconds of all its threads in user and kernel mode. 0 if there is no such process.
[[nodiscard]] double cpu_seconds(pid_t pid);
// Its resident memory (VmRSS) in MiB; 0 if there is no such process.
[[nodiscard]] double resident_mib(pid_t pid);
// Its peak resident memory (VmHWM) in MiB; 0 if there is no such process.
[[nodiscard]] double peak_mib(pid_t pid);
// The youngest child of this process with this name; -1 if there is none.
[[nodiscard]] pid_t child_named(const std::string& name);

}  // namespace plimsoll::bench
