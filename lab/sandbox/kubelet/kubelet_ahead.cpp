// Access to the kubelets' real state, for the oracle.

#include "lab/sandbox/kubelet/kubelet_impl.hpp"

namespace plimsoll::sandbox {

using nlohmann::json;

std::shared_ptr<const PodQuestion> SimulatedKubelets::question_of(const json& pod) const {
  const std::lock_guard lock(impl_->acting);
  if (impl_->nodes.empty()) return nullptr;
  return impl_->nodes.begin()->second.admission->question_of(pod);
}

std::uint64_t SimulatedKubelets::version_of(const std::string& node) const {
  const std::lock_guard lock(impl_->acting);
  const auto found = impl_->nodes.find(node);
  return found == impl_->nodes.end() ? 0 : found->second.version;
}

bool SimulatedKubelets::takes(const std::string& node, const PodQuestion& pod) const {
  const std::lock_guard lock(impl_->acting);
  const auto found = impl_->nodes.find(node);
  return found != impl_->nodes.end() && found->second.admission->takes(pod);
}

bool SimulatedKubelets::take(const std::string& node, const json& pod) {
  const std::lock_guard lock(impl_->acting);
  const auto found = impl_->nodes.find(node);
  if (found == impl_->nodes.end()) return false;
  AdmissionDecision decision = found->second.admission->admit(pod);
  if (!decision.admitted) return false;
  const json& metadata = pod.at("metadata");
  const ObjectKey key{text_field(metadata, "namespace"), text_field(metadata, "name")};
  found->second.ahead[text_field(metadata, "uid")] = {key, std::move(decision)};
  found->second.version = ++impl_->versions;
  return true;
}

void SimulatedKubelets::give_back(const std::string& node, const std::string& uid) {
  const std::lock_guard lock(impl_->acting);
  const auto found = impl_->nodes.find(node);
  if (found == impl_->nodes.end() || found->second.ahead.erase(uid) == 0) return;
  found->second.admission->release(uid);
  found->second.version = ++impl_->versions;
}

}  // namespace plimsoll::sandbox
