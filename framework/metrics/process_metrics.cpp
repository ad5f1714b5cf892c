#include "framework/metrics/process_metrics.hpp"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace plimsoll::metrics {
namespace {

struct ProcessMetrics {
  explicit ProcessMetrics(Registry& r)
      : cpu(r.counters({"process_cpu_seconds_total",
                        "User and system CPU time of the process in seconds.",
                        {}})
                .with({})),
        open_fds(r.gauges({"process_open_fds", "Open file descriptors.", {}}).with({})),
        max_fds(
            r.gauges({"process_max_fds", "Largest number of open file descriptors.", {}}).with({})),
        virtual_memory(
            r.gauges({"process_virtual_memory_bytes", "Virtual memory in bytes.", {}}).with({})),
        resident_memory(
            r.gauges({"process_resident_memory_bytes", "Resident memory in bytes.", {}}).with({})),
        start_time(r.gauges({"process_start_time_seconds",
                             "When the process was started, in seconds since the epoch.",
                             {}})
                       .with({})),
        threads(r.gauges({"plimsoll_process_threads", "Threads of the process.", {}}).with({})) {}

  void update() const {
    // proc(5): the second field is the program's name in parentheses and may contain anything.
    std::ifstream file("/proc/self/stat");
    std::string line;
    std::getline(file, line);
    const size_t end_of_name = line.rfind(')');
    if (end_of_name == std::string::npos) return;
    std::istringstream rest(line.substr(end_of_name + 1));
    std::vector<std::string> fields{"pid", "name"};  // fields[i] is field i + 1 of the manual
    for (std::string field; rest >> field;) fields.push_back(field);
    if (fields.size() < 24) return;
    const auto number = [&fields](size_t manual) { return std::stod(fields[manual - 1]); };
    const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    cpu.raise_to((number(14) + number(15)) / ticks);
    threads.set(number(20));
    virtual_memory.set(number(23));
    resident_memory.set(number(24) * static_cast<double>(sysconf(_SC_PAGESIZE)));
    start_time.set(boot_time() + number(22) / ticks);
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) max_fds.set(static_cast<double>(limit.rlim_cur));
    std::error_code error;
    double open = -1;  // the folder's own descriptor is not counted
    for (std::filesystem::directory_iterator fd("/proc/self/fd", error), end; !error && fd != end;
         fd.increment(error)) {
      ++open;
    }
    if (open >= 0) open_fds.set(open);
  }

  // Not from /proc/stat, which a service that sees processes only (ProcSubset=pid) has not.
  static double boot_time() {
    const auto seconds = [](clockid_t clock) {
      timespec now{};
      clock_gettime(clock, &now);
      return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
    };
    return std::round(seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME));
  }

  Counter cpu;
  Gauge open_fds, max_fds, virtual_memory, resident_memory, start_time, threads;
};

}  // namespace

Registry::Collector add_process_metrics(Registry& registry) {
  return registry.on_collect([metrics = ProcessMetrics(registry)] { metrics.update(); });
}

}  // namespace plimsoll::metrics
