#include "plugins/nodedevice/store/device_store.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <stdexcept>

#include "plugins/nodedevice/accounts/accounts_json.hpp"
#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/nodedevice/accounts/pod_reading.hpp"
#include "plugins/nodedevice/store/device_event.hpp"

namespace plimsoll::devices {
namespace {

// A service stays as long as the process, and the store does not: without one nothing is known.
int64_t unused_devices(void* self, uint32_t slot, plimsoll_str type) {
  if (self == nullptr) return -1;
  const Accounts& accounts = static_cast<DeviceStore*>(self)->accounts();
  const NodeState* node = accounts.at_slot(slot);
  const int index = accounts.types().find_type(sdk::view(type));
  if (node == nullptr || node->object == nullptr || index < 0) return -1;
  int64_t count = 0;
  for (const DeviceState& device : node->type(index).devices) count += device.unused() ? 1 : 0;
  return count;
}

uint64_t zones_of_pod(void* self, plimsoll_str pod_uid) {
  if (self == nullptr) return 0;
  const Accounts& accounts = static_cast<DeviceStore*>(self)->accounts();
  const NodeState* node = accounts.node_of(sdk::view(pod_uid));
  const Allocation* allocation = accounts.allocation_of(sdk::view(pod_uid));
  return node == nullptr || allocation == nullptr ? 0 : zones_of(*node, *allocation);
}

void join(void* self, void* ctx, void (*changed)(void* ctx, plimsoll_str node)) {
  if (self != nullptr) static_cast<DeviceStore*>(self)->claims().join(ctx, changed);
}

int32_t in_use(void* self, plimsoll_str node, const plimsoll_device_identity* device) {
  if (self == nullptr) return 0;
  return static_cast<DeviceStore*>(self)->claims().is_in_use(sdk::view(node), *device) ? 1 : 0;
}

int32_t zone_of(void* self, plimsoll_str node, const plimsoll_device_identity* device) {
  if (self == nullptr) return -1;
  return static_cast<DeviceStore*>(self)->claims().zone_of(sdk::view(node), *device);
}

void hold(void* self, plimsoll_str holder, plimsoll_str node, plimsoll_list devices) {
  if (self == nullptr) return;
  static_cast<DeviceStore*>(self)->claim_has(sdk::view(holder), sdk::view(node),
                                             sdk::List<plimsoll_device_identity>(devices));
}

void describe(void* self, void (*put)(void* sink, const void* bytes, size_t len), void* sink) {
  const std::string text = accounts_json(static_cast<DeviceStore*>(self)->accounts());
  put(sink, text.data(), text.size());
}

void* keep_nodes(void* self, const uint32_t* slots, size_t count) {
  return new KeptAccounts(static_cast<DeviceStore*>(self)->accounts(), {slots, count});
}

void describe_kept(const void* kept, void (*put)(void* sink, const void* bytes, size_t len),
                   void* sink) {
  const std::string text = static_cast<const KeptAccounts*>(kept)->text();
  put(sink, text.data(), text.size());
}

void drop_kept(void* kept) {
  delete static_cast<KeptAccounts*>(kept);
}

constexpr std::string_view kGpuVendorLabel = "node.koordinator.sh/gpu-vendor";
constexpr std::string_view kGpuModelLabel = "node.koordinator.sh/gpu-model";
constexpr std::string_view kPolicyLabel = "node.koordinator.sh/gpu-partition-policy";

}  // namespace

DeviceStore::DeviceStore(const sdk::Host& host, std::vector<DeviceType> types)
    : host_(host),
      types_(std::move(types)),
      accounts_(types_,
                [this, host](uint32_t slot) {
                  numbers_.changed(slot);
                  host.touch_node(slot);
                  metrics_.node_changed(slot);
                  const NodeState* node = accounts_.at_slot(slot);
                  if (node != nullptr) claims_.accounts_changed(node->name);
                }),
      metrics_(host, accounts_) {
  state_ = {sizeof state_, 0, this, &describe, &keep_nodes, &describe_kept, &drop_kept};
  publish_accounts(host);
  (void)host.publish(PLIMSOLL_STATE_SERVICE_PREFIX "NodeDevice", PLIMSOLL_STATE_SERVICE_VERSION,
                     &state_);
}

DeviceStore::~DeviceStore() {
  if (service_->self == this) service_->self = nullptr;
}

void DeviceStore::claim_has(std::string_view holder, std::string_view node,
                            const sdk::List<plimsoll_device_identity>& devices) {
  // No event that pods without claims wait for says so.
  if (claims_.hold(holder, node, devices)) host_.requeue_rejected();
}

void DeviceStore::publish_accounts(const sdk::Host& host) {
  static std::deque<plimsoll_device_accounts> tables;
  const auto* known = host.find_service<plimsoll_device_accounts>(PLIMSOLL_DEVICE_ACCOUNTS_SERVICE,
                                                                  PLIMSOLL_DEVICE_ACCOUNTS_VERSION);
  const bool ours = known != nullptr && known->hold == &hold;
  service_ = ours ? const_cast<plimsoll_device_accounts*>(known) : &tables.emplace_back();
  *service_ = {sizeof *service_, 0,     this,    &unused_devices, &zones_of_pod, &join,
               &in_use,          &hold, &zone_of};
  if (!ours &&
      !host.publish(PLIMSOLL_DEVICE_ACCOUNTS_SERVICE, PLIMSOLL_DEVICE_ACCOUNTS_VERSION, service_))
    throw std::runtime_error("cannot publish " PLIMSOLL_DEVICE_ACCOUNTS_SERVICE
                             ": another plugin keeps the device accounts already");
}

DeviceStore::Shared DeviceStore::shared(const sdk::Host& host,
                                        const std::vector<DeviceType>& types) {
  Shared store(host, "plimsoll.io/device-store",
               [&] { return std::make_unique<DeviceStore>(host, types); });
  if (store->types_.all() != types)
    throw std::runtime_error(
        "deviceTypes: differ from another profile's; devices are accounted once for all profiles, "
        "so give each NodeDevice the same deviceTypes");
  return store;
}

DeviceStore::Facts DeviceStore::Facts::of(sdk::Labels labels) {
  const auto text = [labels](std::string_view key) {
    return std::string(labels.get(key).value_or(""));
  };
  return {text(kGpuVendorLabel), text(kGpuModelLabel), text(kPolicyLabel), text(kIsolationLabel),
          numa_policy_of_label(text(kNumaPolicyLabel))};
}

void DeviceStore::node_event(const sdk::Host& host, sdk::Node node, bool removed) {
  const uint32_t slot = node.slot();
  if (slot >= facts_.size()) facts_.resize(slot + size_t{1});
  numbers_.changed(slot);
  if (removed) {
    facts_[slot] = Facts{};
    accounts_.node_removed(node.name());
    metrics_.node_changed(slot);
    return;
  }
  Facts now = Facts::of(node.labels());
  now.version = facts_[slot].version;
  if (!(now == facts_[slot])) {
    now.version = ++last_facts_version_;
    facts_[slot] = std::move(now);
  }
  accounts_.node_added(node.name(), slot);
  const std::string problem = accounts_.node_links(node.name(), node.annotation(kLinksAnnotation));
  if (problem.empty()) return;
  metrics_.problem(DeviceMetrics::Problem::kNodeLinksIgnored);
  host.warn("Node " + std::string(node.name()) + ": " + problem + "; that part is ignored");
}

void DeviceStore::refresh_numbers() {
  numbers_.refresh(
      [this](uint32_t slot) { return accounts_.at_slot(slot); },
      [this](uint32_t slot) {
        const Facts& said = facts(slot);
        std::string text;
        for (const std::string* each :
             {&said.gpu_vendor, &said.gpu_model, &said.partition_policy, &said.isolation_provider})
          text += *each + '\0';
        return text + static_cast<char>('0' + static_cast<int>(said.numa_policy));
      });
}

void DeviceStore::pod_assigned(const sdk::Host& host, sdk::Pod pod, std::string_view node_name) {
  const std::vector<ResourceQuantity> requests = requests_of(accounts_.types(), pod);
  const auto allocated = pod.annotation(kAllocatedAnnotation);
  const std::string name = requests.empty() && !allocated ? std::string() : full_name(pod);
  const auto hints = requests.empty() ? std::nullopt : hints_of(accounts_.types(), pod);
  const auto containers = containers_of(accounts_.types(), pod);
  AnnotationProblems problems = accounts_.pod_assigned(
      {pod.uid(), node_name, allocated, requests, name, hints ? &*hints : nullptr, containers});
  const auto known = complained_.find(pod.uid());
  if (problems.empty()) {
    if (known != complained_.end()) complained_.erase(known);
    return;
  }
  // Each thing that is wrong is said once, also when another was wrong before.
  const AnnotationProblems said =
      known != complained_.end() ? std::move(known->second) : AnnotationProblems();
  const auto complain = [&](std::string_view reason, const std::string& note) {
    const std::string text = "annotation " + std::string(kAllocatedAnnotation) + " " + note;
    host.warn("pod " + name + ": " + text);
    host.emit_event(pod, true, reason, "Scheduling", text);
  };
  if (!problems.unreadable.empty() && problems.unreadable != said.unreadable) {
    metrics_.problem(DeviceMetrics::Problem::kAllocationUnreadable);
    complain("DeviceAllocationUnreadable",
             "cannot be read or is not true, the pod counts with the devices that it asks for: " +
                 sdk::join(problems.unreadable, "; "));
  }
  if (!problems.ignored.empty() && problems.ignored != said.ignored) {
    metrics_.problem(DeviceMetrics::Problem::kAllocationIgnored);
    complain("DeviceAllocationIgnored", "is ignored for devices that the pod does not ask for: " +
                                            sdk::join(problems.ignored, "; "));
  }
  complained_.insert_or_assign(std::string(pod.uid()), std::move(problems));
}

void DeviceStore::pod_removed(std::string_view uid) {
  if (auto it = complained_.find(uid); it != complained_.end()) complained_.erase(it);
  accounts_.pod_removed(uid);
}

void DeviceStore::device_event(const sdk::Host& host, std::string_view node_name,
                               std::string_view json) {
  if (json.empty()) {
    accounts_.device_deleted(node_name);
    if (auto it = news_.find(node_name); it != news_.end()) news_.erase(it);
    complain_of_node(host, node_name, json, {}, false);
    return;
  }
  // What is known is replaced only by what differs from it.
  const NodeState* before = accounts_.find(node_name);
  const auto object = before != nullptr ? before->object : nullptr;
  const std::string problem = before != nullptr ? before->problem : std::string();
  const auto problems = accounts_.device_changed(node_name, json);
  const NodeState& state = *accounts_.find(node_name);
  if (before == nullptr || state.object != object || state.problem != problem)
    news_[std::string(node_name)] = std::hash<std::string_view>{}(json);
  if (state.object != object) claims_.object_changed(node_name);
  if (state.malformed ? problems.empty() : state.object == object) return;
  complain_of_node(host, node_name, json, problems, state.malformed);
}

void DeviceStore::complain_of_node(const sdk::Host& host, std::string_view node,
                                   std::string_view json, const std::vector<std::string>& problems,
                                   bool malformed) {
  const auto known = complained_of_nodes_.find(node);
  if (problems.empty()) {
    if (known != complained_of_nodes_.end()) complained_of_nodes_.erase(known);
    return;
  }
  if (known != complained_of_nodes_.end() && known->second == problems) return;
  complained_of_nodes_.insert_or_assign(std::string(node), problems);
  const std::string text = sdk::join(problems, "; ") +
                           (malformed ? "; no device of that node is given until it is right" : "");
  host.warn(text);
  for (const std::string& each : problems)
    metrics_.problem(malformed ? DeviceMetrics::Problem::kDeviceUnreadable
                               : DeviceMetrics::of_warning(each));
  const bool about_devices = std::any_of(problems.begin(), problems.end(), [](const auto& each) {
    return DeviceMetrics::of_warning(each) == DeviceMetrics::Problem::kEntryUnreadable;
  });
  report_device_object(
      host, node, json,
      malformed || about_devices ? "DeviceObjectUnreadable" : "DeviceObjectPartlyIgnored", text);
}

// Whether this text of the node's Device object brought anything new when it came. Asked later, as
// requeue hints are, it is about the latest text that did.
bool DeviceStore::is_news(std::string_view node_name, std::string_view json) const {
  const auto known = news_.find(node_name);
  return json.empty() || known == news_.end() ||
         known->second == std::hash<std::string_view>{}(json);
}

std::optional<DeviceStore::Subject> DeviceStore::subject_of(const plimsoll_event& event) const {
  const DeviceTypes& types = accounts_.types();
  const bool gone = (event.actions & PLIMSOLL_ACTION_DELETE) != 0;
  if (!gone && event.new_pod != nullptr)
    return Subject{sdk::Pod(event.new_pod).node_name(), holds_otherwise(types, event)};
  if (gone && event.old_pod != nullptr) {
    const sdk::Pod before(event.old_pod);
    return Subject{before.node_name(), asks_for_devices(types, before)};
  }
  if (event.new_node != nullptr) {
    const bool same = event.old_node != nullptr && Facts::of(event.old_node->meta.labels) ==
                                                       Facts::of(event.new_node->meta.labels);
    if (same) return std::nullopt;
    return Subject{sdk::view(event.new_node->meta.name)};
  }
  const Subject subject{sdk::view(event.name), !is_report_kind(sdk::view(event.resource))};
  const bool news = gone || is_news(subject.node, sdk::view(event.new_json));
  if (subject.devices && !news) return std::nullopt;
  return subject;
}

}  // namespace plimsoll::devices
