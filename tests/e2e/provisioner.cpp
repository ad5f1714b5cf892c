#include "tests/e2e/provisioner.hpp"

#include <algorithm>

#include "tests/e2e/facts.hpp"
#include "tests/kube/kube_objects.hpp"

namespace plimsoll::test {

using nlohmann::json;

json claim_object(const std::string& name, const std::string& storage_class) {
  return {{"metadata", {{"name", name}}},
          {"spec",
           {{"accessModes", {"ReadWriteOnce"}},
            {"resources", {{"requests", {{"storage", "1Gi"}}}}},
            {"storageClassName", storage_class}}}};
}

json volume_affinity(const std::string& label, const std::vector<std::string>& values) {
  const json expression = {{"key", label}, {"operator", "In"}, {"values", values}};
  const json term = {{"matchExpressions", json::array({expression})}};
  return {{"required", {{"nodeSelectorTerms", json::array({term})}}}};
}

json claim_reference(const json& claim) {
  return {{"kind", "PersistentVolumeClaim"},
          {"apiVersion", "v1"},
          {"namespace", text_at(claim, "/metadata/namespace")},
          {"name", text_at(claim, "/metadata/name")},
          {"uid", text_at(claim, "/metadata/uid")}};
}

void add_claim_to(json& pod, const std::string& claim) {
  pod["spec"]["volumes"].push_back(
      {{"name", claim}, {"persistentVolumeClaim", {{"claimName", claim}}}});
}

Provisioner::Provisioner(KubeAccess access, const std::string& ns, Classes classes)
    : client_(std::move(access)),
      claims_(claims_path_of(ns)),
      classes_(std::move(classes)),
      thread_([this] { run(); }) {}

Provisioner::~Provisioner() {
  stopping_ = true;
  thread_.join();
}

// With many claims a look takes long: it then rests longer, and leaves the machine to others.
void Provisioner::run() {
  while (!stopping_) {
    const auto pause = std::chrono::milliseconds(20) + 2 * look_at_all();
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, std::chrono::seconds(1)));
  }
}

// Returns how long it took to read what there is.
Provisioner::Clock::duration Provisioner::look_at_all() {
  const auto begun = Clock::now();
  auto claims = client_.list(claims_);
  if (!claims) return {};
  std::erase_if(*claims,
                [](const json& claim) { return text_at(claim, "/status/phase") == "Bound"; });
  if (claims->empty()) return Clock::now() - begun;
  const auto volumes = client_.list(kVolumesPath);
  if (!volumes) return {};
  const auto took = Clock::now() - begun;
  for (const json& volume : *volumes) offer(volume);
  for (const json& claim : *claims) {
    if (!stopping_) look_at(claim, *volumes);
  }
  return took;
}

// A volume of nobody is said to be free.
void Provisioner::offer(const json& volume) {
  if (!text_at(volume, "/spec/claimRef/name").empty()) return;
  if (text_at(volume, "/status/phase") != "Available") set_phase(volume, "Available");
}

void Provisioner::look_at(const json& claim, const std::vector<json>& volumes) {
  const std::string uid = text_at(claim, "/metadata/uid");
  const std::string named = text_at(claim, "/spec/volumeName");
  for (const json& volume : volumes) {
    const std::string of = text_at(volume, "/spec/claimRef/uid");
    // Named by the claim: its own reference may have no UID yet.
    const bool its_own = text_at(volume, "/metadata/name") == named &&
                         text_at(volume, "/spec/claimRef/name") == text_at(claim, "/metadata/name");
    if (of == uid || (of.empty() && its_own)) return bind(volume, claim);
  }
  if (named.empty()) provision(claim);
}

void Provisioner::provision(const json& claim) {
  const std::string name = text_at(claim, "/spec/storageClassName");
  const auto found = classes_.find(name);
  if (found == classes_.end()) return;
  const ProvisionedClass& of = found->second;
  std::string value;
  if (of.at_once.empty()) {
    const auto annotations = texts_at(claim, "/metadata/annotations");
    const auto node = annotations.find(kSelectedNode);
    if (node == annotations.end()) return;
    value = label_of(node->second, of.label);
    if (value.empty()) return;
  } else {
    value = of.at_once[in_turn_++ % of.at_once.size()];
  }
  const std::string volume = "pvc-" + text_at(claim, "/metadata/uid");
  const json object = {{"metadata", {{"name", volume}}},
                       {"spec",
                        {{"accessModes", {"ReadWriteOnce"}},
                         {"capacity", {{"storage", "1Gi"}}},
                         {"claimRef", claim_reference(claim)},
                         {"csi", {{"driver", of.driver}, {"volumeHandle", volume}}},
                         {"nodeAffinity", volume_affinity(of.label, {value})},
                         {"persistentVolumeReclaimPolicy", "Delete"},
                         {"storageClassName", name}}}};
  const KubeReply made = client_.post(kVolumesPath, object);
  if (made.ok()) bind(made.json(), claim);
}

void Provisioner::bind(const json& volume, const json& claim) {
  const std::string name = text_at(volume, "/metadata/name");
  const std::string path = claims_ + "/" + text_at(claim, "/metadata/name");
  if (text_at(volume, "/spec/claimRef/uid").empty()) {
    (void)client_.patch(std::string(kVolumesPath) + "/" + name,
                        {{"spec", {{"claimRef", claim_reference(claim)}}}});
  }
  set_phase(volume, "Bound");
  (void)client_.patch(path, {{"metadata", {{"annotations", {{kBindCompleted, "yes"}}}}},
                             {"spec", {{"volumeName", name}}}});
  (void)client_.patch(path + "/status", {{"status", {{"phase", "Bound"}}}});
}

void Provisioner::set_phase(const json& volume, const char* phase) {
  (void)client_.patch(
      std::string(kVolumesPath) + "/" + text_at(volume, "/metadata/name") + "/status",
      {{"status", {{"phase", phase}}}});
}

std::string Provisioner::label_of(const std::string& node, const std::string& label) {
  json& object = nodes_[node];
  if (object.is_null()) {
    const KubeReply reply = client_.get(std::string(kNodes) + "/" + node);
    if (reply.ok()) object = reply.json();
  }
  const auto labels = texts_at(object, "/metadata/labels");
  const auto found = labels.find(label);
  return found == labels.end() ? std::string() : found->second;
}

}  // namespace plimsoll::test
