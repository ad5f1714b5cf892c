#pragma once
// What the volume controller and the external provisioners of a cluster do, by polling: they give
// claims their volumes, and never look at what a scheduler has in mind.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/kube/kube_client.hpp"

namespace plimsoll::test {

inline constexpr const char* kVolumesPath = "/api/v1/persistentvolumes";
inline constexpr const char* kClassesPath = "/apis/storage.k8s.io/v1/storageclasses";
inline constexpr const char* kCsiNodesPath = "/apis/storage.k8s.io/v1/csinodes";
inline constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
inline constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";

[[nodiscard]] inline std::string claims_path_of(const std::string& ns) {
  return "/api/v1/namespaces/" + ns + "/persistentvolumeclaims";
}
// A claim of 1Gi.
[[nodiscard]] nlohmann::json claim_object(const std::string& name,
                                          const std::string& storage_class);
// The nodes that have one of the values, as a volume's nodeAffinity says it.
[[nodiscard]] nlohmann::json volume_affinity(const std::string& label,
                                             const std::vector<std::string>& values);
// How a volume names its claim.
[[nodiscard]] nlohmann::json claim_reference(const nlohmann::json& claim);
// Mounts the claim in the pod.
void add_claim_to(nlohmann::json& pod, const std::string& claim);

// How the claims of one class get their volumes.
struct ProvisionedClass {
  std::string driver = {};
  // A new volume can be used where this label is that of the selected node.
  std::string label = {};
  // Not empty: claims wait for no pod, and their volumes get these values of the label in turn.
  std::vector<std::string> at_once = {};
};

class Provisioner {
 public:
  // By the class's name; of other classes it only binds what names each other already.
  using Classes = std::map<std::string, ProvisionedClass>;

  Provisioner(KubeAccess access, const std::string& ns, Classes classes);
  ~Provisioner();
  Provisioner(const Provisioner&) = delete;
  Provisioner& operator=(const Provisioner&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  Clock::duration look_at_all();
  void look_at(const nlohmann::json& claim, const std::vector<nlohmann::json>& volumes);
  void provision(const nlohmann::json& claim);
  void offer(const nlohmann::json& volume);
  void bind(const nlohmann::json& volume, const nlohmann::json& claim);
  void set_phase(const nlohmann::json& volume, const char* phase);
  [[nodiscard]] std::string label_of(const std::string& node, const std::string& label);

  KubeClient client_;
  std::string claims_;
  Classes classes_;
  std::map<std::string, nlohmann::json> nodes_;  // as they were when first asked for
  std::size_t in_turn_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace plimsoll::test
