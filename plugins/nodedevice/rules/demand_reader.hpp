#pragma once
// Reads what a pod asks of devices, as a profile sees it: its requests and its annotations. Any
// thread.

#include <memory>
#include <plimsoll/plugin.hpp>
#include <string>
#include <vector>

#include "plugins/nodedevice/zones/numa_part.hpp"

namespace plimsoll::devices {

class DemandReader {
 public:
  // All of it outlives the reader. `template_resources`: of shared GPUs, those that only a template
  // could give.
  DemandReader(const DeviceTypes& types, const NumaPart& numa,
               const std::vector<std::string>& template_resources)
      : types_(types), numa_(numa), template_resources_(template_resources) {}

  // Null: the pod asks for no device, or (then `invalid` says so) for something that is not valid.
  [[nodiscard]] std::shared_ptr<const PodDemand> read(sdk::Pod pod, std::string& invalid) const;
  // The same for those who need not know what is not valid.
  [[nodiscard]] std::shared_ptr<const PodDemand> read(sdk::Pod pod) const {
    std::string ignored;
    return read(pod, ignored);
  }

 private:
  [[nodiscard]] std::string not_supported(const DeviceRequest& request,
                                          const DeviceHints& hints) const;

  const DeviceTypes& types_;
  const NumaPart& numa_;
  const std::vector<std::string>& template_resources_;
  int gpu_ = types_.find_type("gpu");
};

}  // namespace plimsoll::devices
