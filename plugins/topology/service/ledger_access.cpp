#include "plugins/topology/service/ledger_access.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "plugins/topology/service/ledger_owner.hpp"

namespace plimsoll::topology {

namespace {

constexpr std::string_view kOwner = "plimsoll.io/numa-ledger-owner";

std::shared_ptr<LedgerOwner> make_owner(const sdk::Host& host) {
  auto owner = std::make_shared<LedgerOwner>(host);
  // Comes last: nobody may find an owner that could not be made.
  if (!host.publish(LedgerService::kName, LedgerService::kVersion,
                    static_cast<LedgerService*>(owner.get()))) {
    throw std::runtime_error(
        std::string("service ") + LedgerService::kName + " is published in a version before " +
        std::to_string(LedgerService::kVersion) + ": use plugins of one release");
  }
  owner->forecast = std::make_unique<PublishedForecast>(host, *owner);
  (void)host.publish(PLIMSOLL_STATE_SERVICE_PREFIX "NodeResourceTopologyMatch",
                     PLIMSOLL_STATE_SERVICE_VERSION, &owner->state);
  return owner;
}

}  // namespace

LedgerAccess::LedgerAccess(sdk::Host host, Freed on_freed, WithoutReport without_report)
    : host_(std::move(host)), on_freed_(std::move(on_freed)), without_report_(without_report) {
  service_ = LedgerService::find(host_);
  if (service_ == nullptr || sdk::Shared<LedgerOwner>::is_here(host_, kOwner)) {
    owned_ = {host_, kOwner, [this] {
                host_.watch(kNrtGroup, "v1alpha2", kNrtPlural);
                return make_owner(host_);
              }};
    service_ = owned_.operator->();
    (void)feeds();  // who made it gets the events
  }
  service_->subscribe(this);
}

// Instances end in any order: the end of the last owner notifies the others.
LedgerAccess::~LedgerAccess() {
  if (service_ != nullptr) service_->unsubscribe(this);
}

std::shared_ptr<const LedgerAccess::Reading> LedgerAccess::read(const plimsoll_pod& pod) const {
  return readings_.of(pod, [this](const plimsoll_pod& first) {
    auto reading = std::make_shared<Reading>(
        Reading{PodRequest(first), service_->inquire(first, without_report_), {}});
    reading->request.keep_names(reading->names);
    return reading;
  });
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
