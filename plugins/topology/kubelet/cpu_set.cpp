#include "plugins/topology/kubelet/cpu_set.hpp"

#include <charconv>

namespace plimsoll::topology::kubelet {
namespace {

// Reads a number that ends where `text` does.
bool read_id(std::string_view text, uint32_t& id) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id);
  return problem == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Parsed<CpuSet> CpuSet::parse(std::string_view list) {
  CpuSet set;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    const size_t dash = part.find('-');
    uint32_t first = 0;
    uint32_t last = 0;
    bool good = read_id(part.substr(0, dash), first);
    last = first;
    if (dash != std::string_view::npos) good = good && read_id(part.substr(dash + 1), last);
    if (!good || last < first || last >= kMaxCpus) {
      return bad("\"" + std::string(part.substr(0, 40)) +
                 "\" is not a CPU id or a range of ids below " + std::to_string(kMaxCpus));
    }
    for (uint32_t cpu = first; cpu <= last; ++cpu) set.add(cpu);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
    if (list.empty()) return bad("a list of CPUs ends with a comma");
  }
  return set;
}

std::string CpuSet::text() const {
  std::string out;
  for (uint32_t cpu = 0; cpu < used_ * 64; ++cpu) {
    if (!contains(cpu)) continue;
    uint32_t last = cpu;
    while (contains(last + 1)) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(cpu);
    if (last > cpu) out += '-' + std::to_string(last);
    cpu = last;
  }
  return out;
}

}  // namespace plimsoll::topology::kubelet
