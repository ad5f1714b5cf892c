#pragma once
// On which nodes pods may share GPUs: isolation provider and models, by labels. Loop; judge() from
// any thread while the loop waits.

#include <map>
#include <plimsoll/plugin.hpp>
#include <set>
#include <string>
#include <string_view>

#include "plugins/nodedevice/store/device_store.hpp"

namespace plimsoll::devices {

class SharingRules {
 public:
  // By vendor: models whose GPUs must not be shared.
  using Models = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;
  // `store` outlives it.
  SharingRules(const sdk::Host& host, const DeviceStore& store, const Models& unsupported);

  // Whether a pod that asks for this has to do with them.
  [[nodiscard]] bool concern(const DeviceRequest& request) const {
    const TypeRequest* gpu = request.find(gpu_);
    return gpu != nullptr && gpu->is_shared;
  }
  // `isolation_provider`: the pod's label; empty: it asks for none.
  [[nodiscard]] sdk::Status judge(std::string_view isolation_provider, uint32_t slot) const;

 private:
  [[nodiscard]] uint32_t reason_of_model(const NodeState* state,
                                         const DeviceStore::Facts& facts) const;

  const DeviceStore& store_;
  int gpu_ = store_.accounts().types().find_type("gpu");
  uint32_t no_isolation_ = 0;
  // vendor -> model -> reason
  std::map<std::string, std::map<std::string, uint32_t, std::less<>>, std::less<>> reasons_;
};

}  // namespace plimsoll::devices
