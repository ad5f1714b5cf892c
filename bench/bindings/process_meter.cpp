#include "bench/bindings/process_meter.hpp"

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
constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kSystemTicks = 12;

}  // namespace

double cpu_seconds(pid_t pid) {
  std::string name;
  const std::vector<std::string> fields = stat_fields(pid, name);
  if (fields.size() <= kSystemTicks) return 0;
  return (std::stod(fields[kUserTicks]) + std::stod(fields[kSystemTicks])) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double peak_mib(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
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
