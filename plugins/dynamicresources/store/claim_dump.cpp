// What people are shown of the devices of claims (ClaimStore::describe).

#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "plugins/dynamicresources/store/claim_store.hpp"

namespace plimsoll::dra {

using sdk::List;
using sdk::view;

namespace {

void append_quoted(std::string& out, const std::string& text) {
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Unless `out` has just begun an object or a list.
void append_comma(std::string& out) {
  if (!out.empty() && out.back() != '{' && out.back() != '[') out += ',';
}

}  // namespace

void ClaimStore::publish_state() {
  static std::deque<plimsoll_state_source> tables;
  constexpr const char* kName = PLIMSOLL_STATE_SERVICE_PREFIX "DynamicResources";
  const auto* known =
      host_.find_service<plimsoll_state_source>(kName, PLIMSOLL_STATE_SERVICE_VERSION);
  shown_ = known == nullptr ? &tables.emplace_back() : const_cast<plimsoll_state_source*>(known);
  using Put = void (*)(void* sink, const void* bytes, size_t len);
  const auto describe = [](void* self, Put put, void* sink) {
    if (self == nullptr) return;
    const auto& store = *static_cast<const ClaimStore*>(self);
    const std::string text = store.describe(store.inventory_.nodes());
    put(sink, text.data(), text.size());
  };
  // Few nodes have devices of claims: the text is the copy.
  const auto keep_nodes = [](void* self, const uint32_t* slots, size_t count) -> void* {
    auto text = std::make_unique<std::string>();
    if (self == nullptr) return text.release();
    const auto& store = *static_cast<const ClaimStore*>(self);
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) {
      if (const sdk::Node node = store.host_.node(slots[i])) names.emplace_back(node.name());
    }
    *text = store.describe(names);
    return text.release();
  };
  const auto describe_kept = [](const void* kept, Put put, void* sink) {
    const auto& text = *static_cast<const std::string*>(kept);
    put(sink, text.data(), text.size());
  };
  const auto drop_kept = [](void* kept) { delete static_cast<std::string*>(kept); };
  *shown_ = {
      sizeof(plimsoll_state_source), 0, this, describe, keep_nodes, describe_kept, drop_kept};
  if (known == nullptr)
    static_cast<void>(host_.publish(kName, PLIMSOLL_STATE_SERVICE_VERSION, shown_));
}

void ClaimStore::touch(const std::vector<DeviceResult>& results) const {
  std::string touched;
  for (const DeviceResult& each : results) {
    const KnownDevice* known = inventory_.find(each.driver, each.pool, each.device);
    if (known == nullptr) continue;
    const std::string node_name = known->slice->spec.node_name.value_or("");
    if (node_name == touched) continue;
    touched = node_name;
    if (const sdk::Node node = host_.node(touched)) host_.touch_node(node.slot());
  }
}

void ClaimStore::touch_slice(const std::string& name) const {
  const KnownSlice* slice = inventory_.slice(name);
  if (slice == nullptr || !slice->spec.node_name) return;
  if (const sdk::Node node = host_.node(*slice->spec.node_name)) host_.touch_node(node.slot());
}

// A claim by its name, or a pod whose claim is still to be made.
void ClaimStore::append_holder(std::string& out, const std::string& holder) const {
  constexpr std::string_view kPod = "pod ";
  const auto pod_name = [this](std::string_view uid) {
    const sdk::Pod pod = host_.pod_by_uid(uid);
    return pod ? std::string(pod.ns()) + "/" + std::string(pod.name()) : "";
  };
  std::string claim;
  std::set<std::string> pods;
  bool promised = true;
  if (holder.starts_with(kPod)) {
    pods.insert(pod_name(holder.substr(kPod.size())));
  } else {
    claim = holder;
    const size_t slash = holder.find('/');
    const auto found = claims_.find(Key(holder.substr(0, slash), holder.substr(slash + 1)));
    if (found == claims_.end()) return;
    const Entry& entry = found->second;
    promised = entry.object->allocated == 0;
    if (entry.decision != nullptr) pods.insert(pod_name(entry.decision->pod_uid));
    for (const plimsoll_claim_user& user : List<plimsoll_claim_user>(entry.object->reserved_for)) {
      if (view(user.resource) == "pods")
        pods.insert(found->first.first + "/" + std::string(view(user.name)));
    }
  }
  pods.erase("");
  append_comma(out);
  out += R"({"claim":)";
  append_quoted(out, claim);
  out += promised ? R"(,"state":"promised","pods":[)" : R"(,"state":"bound","pods":[)";
  for (const std::string& pod : pods) {
    append_comma(out);
    append_quoted(out, pod);
  }
  out += "]}";
}

void ClaimStore::append_device(std::string& out, const KnownDevice& device) const {
  append_quoted(out, device.device->name);
  out += R"(:{"claims":[)";
  if (const std::set<std::string>* holders = books_.holders_of(device)) {
    for (const std::string& holder : *holders) append_holder(out, holder);
  }
  out += "]";
  const Allocated::Use* use = allocated_.use_of(device.number);
  if (use != nullptr && use->elsewhere) out += R"(,"elsewhere":true)";
  if (device.device->allow_multiple_allocations) out += R"(,"shared":true)";
  std::string taints;
  for (const Taint& taint : device.device->taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    append_comma(taints);
    append_quoted(taints,
                  taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect);
  }
  if (!taints.empty()) out += R"(,"taints":[)" + taints + "]";
  out += '}';
}

std::string ClaimStore::describe(const std::vector<std::string>& nodes) const {
  std::string out = R"({"nodes":{)";
  for (const std::string& node : nodes) {
    std::string driver;
    std::string pool;
    std::string devices;
    inventory_.each_of(node, [&](const KnownDevice& device) {  // by driver, then by pool
      const Slice& slice = device.slice->spec;
      const bool same_driver = !devices.empty() && driver == slice.driver;
      if (!same_driver || pool != slice.pool) {
        if (!devices.empty()) devices += same_driver ? "}," : "}},";
        if (!same_driver) {
          append_quoted(devices, slice.driver);
          devices += ":{";
        }
        append_quoted(devices, slice.pool);
        devices += ":{";
        driver = slice.driver;
        pool = slice.pool;
      }
      append_comma(devices);
      append_device(devices, device);
    });
    if (devices.empty()) continue;
    append_comma(out);
    append_quoted(out, node);
    out += R"(:{"claimDevices":{)" + devices + "}}}}";
  }
  return out + "}}";
}

}  // namespace plimsoll::dra
