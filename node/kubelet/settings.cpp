#include "node/kubelet/settings.hpp"

#include "node/kubelet/json_at.hpp"

namespace plimsoll::node {
namespace {

// An empty text is the default, as in the kubelet.
void read(const At& at, std::string& into) {
  if (std::string text = at.text(); !text.empty()) into = std::move(text);
}

void read(const At& at, std::map<std::string, std::string>& into) {
  at.members([&](const std::string& name, const At& option) { into[name] = option.text(); });
}

}  // namespace

Result<KubeletSettings> parse_settings(std::string_view json) {
  return read_json<KubeletSettings>(json, [](const At& document, KubeletSettings& settings) {
    const At inner = document["kubeletconfig"];
    const At& at = inner.absent() ? document : inner;
    read(at["topologyManagerPolicy"], settings.topology_manager_policy);
    read(at["topologyManagerScope"], settings.topology_manager_scope);
    read(at["topologyManagerPolicyOptions"], settings.topology_manager_options);
    read(at["cpuManagerPolicy"], settings.cpu_manager_policy);
    read(at["cpuManagerPolicyOptions"], settings.cpu_manager_options);
    read(at["memoryManagerPolicy"], settings.memory_manager_policy);
    settings.pod_level_resource_managers = at["featureGates"]["PodLevelResourceManagers"].flag();
    if (const At pods = at["maxPods"]; !pods.absent()) settings.max_pods = pods.number();
  });
}

}  // namespace plimsoll::node
