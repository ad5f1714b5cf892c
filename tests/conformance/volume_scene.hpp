#pragma once
// The cluster of a case about volumes: nodes, pods and storage objects, and the volume plugins that
// heard of all of it.

#include <set>
#include <string>
#include <string_view>

#include "tests/conformance/default_profile.hpp"
#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

// The four, in the order in which they run.
inline constexpr std::string_view kVolumePlugins[] = {"VolumeRestrictions", "NodeVolumeLimits",
                                                      "VolumeBinding", "VolumeZone"};

class VolumeScene {
 public:
  // Only these plugins exist. Throws std::runtime_error for an object that cannot be decoded.
  VolumeScene(const Json& test_case, const std::set<std::string, std::less<>>& plugins);

  [[nodiscard]] DefaultProfile& profile() { return profile_; }
  // Gives what tables of unit tests leave out: a name, and a UID of its own.
  [[nodiscard]] PodRef pod(const Json& object);
  // `kind`: as in Kubernetes, "CSINode".
  [[nodiscard]] RawRef object(std::string_view kind, const Json& object);

  // {code, reasons} as the vectors have it.
  [[nodiscard]] Json described(const Status& status) const;
  // PreFilter of a new attempt; the attempt goes on if it is a success.
  Json pre_filter(const plimsoll_pod& pod);
  [[nodiscard]] Status last_status() const { return last_; }
  [[nodiscard]] CycleContext& cycle() { return *cycle_; }
  // Several attempts at once: what the next calls are about.
  [[nodiscard]] std::shared_ptr<CycleContext> shared_cycle() const { return cycle_; }
  void continue_with(std::shared_ptr<CycleContext> cycle) { cycle_ = std::move(cycle); }
  // All Filter plugins on one node. Only after a PreFilter that succeeded.
  Status filter(const plimsoll_pod& pod, std::string_view node);
  // The plugins that PreFilter skipped, by name.
  [[nodiscard]] std::vector<std::string> skipped();

 private:
  DefaultProfile profile_;
  std::shared_ptr<CycleContext> cycle_;
  Status last_;
};

// How events name this kind ("CSINode", "storage.k8s.io/CSINode"); empty: it is no storage object.
[[nodiscard]] std::string storage_resource(std::string_view kind);

// Compares {code, reasons}; of an error only the code, since its text is mostly Go's own.
[[nodiscard]] bool same_status(const Json& expected, const Json& actual);

}  // namespace plimsoll::conformance
