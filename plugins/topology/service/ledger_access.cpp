#include "plugins/topology/service/ledger_access.hpp"

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "plugins/topology/service/ledger_owner.hpp"

namespace plimsoll::topology {

using sdk::str;

namespace {

constexpr std::string_view kOwner = "plimsoll.io/numa-ledger-owner";

std::shared_ptr<LedgerOwner> make_owner(const sdk::Host& host) {
  auto owner = std::make_shared<LedgerOwner>(host);
  // Comes last: nobody may find the table of an owner that could not be made.
  if (!host.publish(PLIMSOLL_NUMA_LEDGER_SERVICE, PLIMSOLL_NUMA_LEDGER_VERSION, &owner->table)) {
    throw std::runtime_error(std::string("service ") + PLIMSOLL_NUMA_LEDGER_SERVICE +
                             " is published in a version before " +
                             std::to_string(PLIMSOLL_NUMA_LEDGER_VERSION) +
                             ": use plugins of one release");
  }
  (void)host.publish(PLIMSOLL_STATE_SERVICE_PREFIX "NodeResourceTopologyMatch",
                     PLIMSOLL_STATE_SERVICE_VERSION, &owner->state);
  return owner;
}

void append(void* sink, const plimsoll_numa_charge* charge) {
  static_cast<LedgerAccess::Charges*>(sink)->push_back(*charge);
}

}  // namespace

LedgerAccess::LedgerAccess(sdk::Host host, Freed on_freed, WithoutReport without_report)
    : host_(std::move(host)), on_freed_(std::move(on_freed)), without_report_(without_report) {
  service_ = host_.find_service<plimsoll_numa_ledger>(PLIMSOLL_NUMA_LEDGER_SERVICE,
                                                      PLIMSOLL_NUMA_LEDGER_VERSION);
  if (service_ == nullptr || sdk::Shared<LedgerOwner>::is_here(host_, kOwner)) {
    owned_ = {host_, kOwner, [this] {
                host_.watch(kNrtGroup, "v1alpha2", kNrtPlural);
                return make_owner(host_);
              }};
    service_ = &owned_->table;
    (void)feeds();  // who made it gets the events
  }
  subscribe();
}

void LedgerAccess::subscribe() {
  listener_.size = sizeof listener_;
  listener_.ctx = this;
  // May be called from another module, like fits_without's callback.
  listener_.freed = [](void* ctx, uint32_t slot) {
    const auto& self = *static_cast<LedgerAccess*>(ctx);
    if (!self.on_freed_) return;
    try {
      self.on_freed_(slot);
    } catch (const std::exception& error) {
      self.host_.error_log(error.what());
    }
  };
  listener_.closed = [](void* ctx) { static_cast<LedgerAccess*>(ctx)->service_ = nullptr; };
  service_->subscribe(service_->ctx, &listener_);
}

// Instances end in any order: the end of the last owner notifies the others.
LedgerAccess::~LedgerAccess() {
  if (service_ != nullptr) service_->unsubscribe(service_->ctx, &listener_);
}

bool LedgerAccess::reserve(uint32_t slot, const plimsoll_pod& pod, bool insist,
                           Charges& where) const {
  return service_->reserve(service_->ctx, slot, &pod, insist ? 1 : 0, &append, &where) != 0;
}

// `fits` may be in another module: no exception may pass through it.
bool LedgerAccess::fits_without(uint32_t slot, const std::vector<plimsoll_str>& pod_uids,
                                const Fits& fits) const {
  struct Asking {
    const Fits& fits;
    std::exception_ptr failed;
  } asking{fits, nullptr};
  const auto ask = [](void* sink, const plimsoll_numa_node* node) noexcept -> int32_t {
    auto& self = *static_cast<Asking*>(sink);
    try {
      return self.fits(*node) ? 1 : 0;
    } catch (...) {
      self.failed = std::current_exception();
      return 0;
    }
  };
  const int32_t fitting = service_->fits_without(
      service_->ctx, slot, pod_uids.data(), static_cast<uint32_t>(pod_uids.size()), ask, &asking);
  if (asking.failed) std::rethrow_exception(asking.failed);
  return fitting != 0;
}

bool LedgerAccess::holds(uint32_t slot, std::string_view pod_uid) const {
  return service_->holds(service_->ctx, slot, str(pod_uid)) != 0;
}

LedgerAccess::Inquiry LedgerAccess::inquire(const plimsoll_pod& pod) const {
  plimsoll_numa_inquiry* made = service_->inquire(service_->ctx, &pod);
  if (made == nullptr) return nullptr;
  service_->without_report(made, static_cast<uint32_t>(without_report_));
  return {made, service_->inquiry_free};
}

std::shared_ptr<const LedgerAccess::Reading> LedgerAccess::read(const plimsoll_pod& pod) const {
  return readings_.of(pod, [this](const plimsoll_pod& first) {
    auto reading = std::make_shared<Reading>(Reading{PodRequest(first), inquire(first), {}});
    reading->request.keep_names(reading->names);
    return reading;
  });
}

Judgement LedgerAccess::judge(uint32_t slot, const Inquiry& pod) const {
  Judgement judgement;
  judgement.verdict =
      static_cast<Verdict>(service_->judge(service_->ctx, slot, pod.get(), &judgement.resource));
  return judgement;
}

void LedgerAccess::judge_many(std::span<const uint32_t> slots, const Inquiry& pod,
                              Judgements& judgements) const {
  judgements.verdicts.resize(slots.size());
  judgements.resources.resize(slots.size());
  service_->judge_many(service_->ctx, slots.data(), static_cast<uint32_t>(slots.size()), pod.get(),
                       judgements.verdicts.data(), judgements.resources.data());
}

Judgement LedgerAccess::judge_changed(uint32_t slot, const Inquiry& pod,
                                      const std::vector<plimsoll_str>& without,
                                      const std::vector<Inquiry>& with) const {
  std::vector<const plimsoll_numa_inquiry*> pods;
  for (const Inquiry& other : with) {
    if (other) pods.push_back(other.get());
  }
  Judgement judgement;
  judgement.verdict = static_cast<Verdict>(service_->judge_changed(
      service_->ctx, slot, pod.get(), without.data(), static_cast<uint32_t>(without.size()),
      pods.data(), static_cast<uint32_t>(pods.size()), &judgement.resource));
  return judgement;
}

bool LedgerAccess::fits_soon(uint32_t slot, const Inquiry& pod) const {
  return service_->fits_soon(service_->ctx, slot, pod.get()) != 0;
}

std::string LedgerAccess::explain(uint32_t slot, const Inquiry& pod, const plimsoll_pod& object,
                                  Verdict verdict) const {
  std::string text;
  const auto put = [](void* sink, const char* part, size_t length) {
    static_cast<std::string*>(sink)->append(part, length);
  };
  service_->explain(service_->ctx, slot, pod.get(), &object, static_cast<uint32_t>(verdict), put,
                    &text);
  return text;
}

void LedgerAccess::node_event(sdk::NodeEvent type, sdk::Node node) {
  if (!feeds()) return;
  // A watch that broke may show a Node that was made again as a change of the one before.
  const plimsoll_meta& meta = node.object().meta;
  const bool made_again = type == sdk::NodeEvent::kChanged &&
                          !owned_->ledger.ask().is_of(node.slot(), sdk::view(meta.uid));
  if (type == sdk::NodeEvent::kAdded || made_again) {
    owned_->ledger.node_added(node.name(), node.slot(), owned_->report_until_ms(node),
                              {std::string(sdk::view(meta.uid)), meta.creation_ms});
  }
  if (type == sdk::NodeEvent::kRemoved) owned_->ledger.node_removed(node.name());
  owned_->tell_changes();
}

void LedgerAccess::pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name) {
  if (!feeds()) return;
  const int64_t now = owned_->host.now_ms();
  if (type == sdk::PodEvent::kAssigned) owned_->ledger.pod_assigned(*pod, node_name, now);
  if (type == sdk::PodEvent::kRemoved) owned_->ledger.pod_removed(*pod, now);
  owned_->tell_changes();
}

void LedgerAccess::object_event(const sdk::ObjectEvent& event) {
  if (!feeds()) return;
  if (event.resource != kNrtResource && event.resource != kOldNrtResource) return;
  if (event.type == sdk::ObjectEvent::kSynced) {
    owned_->synced(event);
  } else {
    owned_->object(event);
  }
  owned_->tell_changes();
}

}  // namespace plimsoll::topology
