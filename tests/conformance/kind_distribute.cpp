// The kubelet's CPUs with distribute-cpus-across-numa: takeByTopologyNUMADistributed.

#include <set>

#include "plugins/topology/kubelet/cpu_take.hpp"
#include "tests/conformance/kinds.hpp"

namespace plimsoll::conformance {
namespace {

namespace kubelet = plimsoll::topology::kubelet;

kubelet::CpuSet set_of(const Json& list) {
  return kubelet::CpuSet::parse(list.get<std::string>()).value();
}

kubelet::Managers distributing_managers(const Json& test_case) {
  const std::set<std::string> options = test_case.at("options");
  kubelet::Managers managers;
  managers.kubelet_minor = test_case.at("kubelet").get<std::string>().starts_with("1.37") ? 37 : 36;
  kubelet::CpuOptions& on = managers.cpu_options;
  on.distribute_cpus_across_numa = true;
  on.align_by_socket = options.contains("align-by-socket");
  on.full_pcpus_only = options.contains("full-pcpus-only");
  on.distribute_cpus_across_cores = options.contains("distribute-cpus-across-cores");
  return managers;
}

}  // namespace

void check_distribute(const Json& test_case, Findings& findings) {
  std::vector<kubelet::CpuPlace> places;
  for (const Json& cpu : test_case.at("cpus")) {
    places.push_back({cpu[0], cpu[1], cpu[2], cpu[3], cpu[1]});
  }
  const kubelet::CpuLayout layout(places);
  kubelet::CpuSet taken;
  const bool found = take_cpus(layout, distributing_managers(test_case),
                               set_of(test_case.at("free")), test_case.at("count"), taken);
  const Json& expected = test_case.at("taken");
  std::vector<uint32_t> ids;
  taken.for_each([&](uint32_t cpu) { ids.push_back(cpu); });
  std::vector<uint32_t> wanted;
  if (!expected.is_null()) set_of(expected).for_each([&](uint32_t cpu) { wanted.push_back(cpu); });
  findings.expect("found", !expected.is_null(), found);
  if (found && !expected.is_null()) findings.expect("taken", wanted, ids);
  findings.tally("allocations compared");
}

}  // namespace plimsoll::conformance
