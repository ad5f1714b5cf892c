#pragma once
// What a process has used so far, out of /proc.

#include <sys/types.h>

#include <string>

namespace plimsoll::bench {

// CPU seconds of all its threads, in user and kernel mode; in steps of the kernel's clock tick
// (10 ms). 0 if there is no such process.
[[nodiscard]] double cpu_seconds(pid_t pid);
// The most memory that it had resident (VmHWM), in MiB; 0 if there is no such process.
[[nodiscard]] double peak_mib(pid_t pid);
// Our own child of this name; -1 if there is none. Of several: the youngest.
[[nodiscard]] pid_t child_named(const std::string& name);

}  // namespace plimsoll::bench
