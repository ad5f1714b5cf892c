#include "plugins/nodedevice/rules/sharing_rules.hpp"

namespace plimsoll::devices {

SharingRules::SharingRules(const sdk::Host& host, const DeviceStore& store,
                           const Models& unsupported)
    : store_(store),
      no_isolation_(host.reason("GPUIsolationProviderHAMICore not found on the node")) {
  for (const auto& [vendor, models] : unsupported)
    for (const std::string& model : models)
      reasons_[vendor][model] = host.reason("model \"" + model + "\" of vendor \"" + vendor +
                                            "\" does not support GPU Share");
}

sdk::Status SharingRules::judge(std::string_view isolation_provider, uint32_t slot) const {
  const DeviceStore::Facts& facts = store_.facts(slot);
  if (!isolation_provider.empty() && isolation_provider != facts.isolation_provider)
    return sdk::Status::unresolvable(no_isolation_);
  const uint32_t reason = reason_of_model(store_.accounts().at_slot(slot), facts);
  return reason != 0 ? sdk::Status::unresolvable(reason) : sdk::Status();
}

// The model counts that the Device object gives, or else the Node object. 0: no reason.
uint32_t SharingRules::reason_of_model(const NodeState* state,
                                       const DeviceStore::Facts& facts) const {
  if (reasons_.empty()) return 0;
  const bool has_object = state != nullptr && state->object != nullptr;
  const bool by_object = has_object && !state->object->gpu_model.empty();
  const auto of_vendor = reasons_.find(by_object ? state->object->gpu_vendor : facts.gpu_vendor);
  if (of_vendor == reasons_.end()) return 0;
  const auto model = of_vendor->second.find(by_object ? state->object->gpu_model : facts.gpu_model);
  return model == of_vendor->second.end() ? 0 : model->second;
}

}  // namespace plimsoll::devices
