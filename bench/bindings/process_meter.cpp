#include "bench/bindings/process_meter.hpp"

#include <time.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace plimsoll::bench {
namespace {

// The fields after the name in /proc/<pid>/stat: state, parent, ...; empty if there is no such
// process.
std::vector<std::string> stat_fields(pid_t pid, std::string& name) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text, '\0');  // throws nothing if the process ends now
  const std::size_t begin = text.find('(');
  const std::size_t end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos) return {};
  name = text.substr(begin + 1, end - begin - 1);
  std::istringstream rest(text.substr(end + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}

constexpr std::size_t kParent = 1;

// What /proc/<pid>/status says in KiB.
double status_mib(pid_t pid, const std::string& key) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::stod(line.substr(key.size())) / 1024;
  }
  return 0;
}

}  // namespace

double cpu_seconds(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double resident_mib(pid_t pid) {
  return status_mib(pid, "VmRSS:");
}

double peak_mib(pid_t pid) {
  return status_mib(pid, "VmHWM:");
}

pid_t child_named(const std::string& name) {
  pid_t found = -1;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string number = entry.path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) continue;
    std::string its_name;
    const std::vector<std::string> fields = stat_fields(pid, its_name);
    // The kernel keeps 15 characters of a name.
    if (fields.size() <= kParent || its_name != name.substr(0, 15)) continue;
    if (fields[kParent] == std::to_string(::getpid()) && pid > found) found = pid;
  }
  return found;
}

}  // namespace plimsoll::bench
