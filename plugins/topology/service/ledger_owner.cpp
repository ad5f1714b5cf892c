#include "plugins/topology/service/ledger_owner.hpp"

#include <algorithm>
#include <utility>

#include "plugins/topology/ask/explain_text.hpp"
#include "plugins/topology/service/ledger_access.hpp"
#include "plugins/topology/service/ledger_dump.hpp"

namespace plimsoll::topology {

using sdk::view;

LedgerOwner::LedgerOwner(sdk::Host the_host)
    : host(std::move(the_host)),
      ledger([this](std::string_view name) { return host.resource_index(name); }),
      metrics_(host),
      annotations_(std::make_shared<AnnotationWriter>(host, ledger.ask())) {
  using Put = void (*)(void* sink, const void* bytes, size_t len);
  const auto describe = [](void* self, Put put, void* sink) {
    const auto& owner = *static_cast<LedgerOwner*>(self);
    const std::string text = KeptLedger(owner.ledger.ask(), owner.host).text();
    put(sink, text.data(), text.size());
  };
  const auto keep_nodes = [](void* self, const uint32_t* slots, size_t count) -> void* {
    const auto& owner = *static_cast<LedgerOwner*>(self);
    return new KeptLedger(owner.ledger.ask(), owner.host, {slots, count});
  };
  const auto describe_kept = [](const void* kept, Put put, void* sink) {
    const std::string text = static_cast<const KeptLedger*>(kept)->text();
    put(sink, text.data(), text.size());
  };
  const auto drop_kept = [](void* kept) { delete static_cast<KeptLedger*>(kept); };
  state = {sizeof state, 0, this, describe, keep_nodes, describe_kept, drop_kept};
}

LedgerOwner::~LedgerOwner() {
  for (Listener* listener : listeners_) listener->ledger_gone();
}

void LedgerOwner::tell_changes() {
  std::unique_ptr<Ledger::Changes> room = std::move(changes_room_);  // listeners may call back
  if (room == nullptr) room = std::make_unique<Ledger::Changes>();
  Ledger::Changes& changes = *room;
  ledger.take_changes(changes);
  metrics_.update(ledger.stats(), changes);
  for (const std::string& note : ledger.take_notes()) host.debug(note);
  for (const std::string& warning : ledger.take_warnings()) host.warn(warning);
  for (uint32_t slot : changes.slots) host.touch_node(slot);
  for (std::string& uid : changes.misplaced) annotations_->add(std::move(uid));
  for (uint32_t slot : changes.freed) tell_freed(slot);
  changes_room_ = std::move(room);
  keep_time();
}

std::shared_ptr<Inquiry> LedgerOwner::inquire(const plimsoll_pod& pod,
                                              WithoutReport without_report) const {
  auto inquiry = std::make_shared<Inquiry>(pod);
  if (!inquiry->matters()) return nullptr;
  inquiry->without_report = without_report;
  return inquiry;
}

std::string LedgerOwner::explain(uint32_t slot, const Inquiry& pod, const plimsoll_pod& object,
                                 Verdict verdict) const {
  return explain_judgement(object, *pod.demand, ledger.ask().likely_state(slot),
                           ledger.ask().node(slot), verdict, host.now_ms());
}

bool LedgerOwner::reserve(uint32_t slot, const plimsoll_pod& pod, bool insist,
                          std::vector<plimsoll_numa_charge>& where) {
  const auto how = insist ? Ledger::Insist::kYes : Ledger::Insist::kNo;
  Placement placement = ledger.reserve(pod, slot, host.now_ms(), how);
  tell_changes();
  if (placement.complete) where = std::move(placement.where);
  return placement.complete;
}

void LedgerOwner::unreserve(const plimsoll_pod& pod) {
  static_cast<void>(ledger.unreserve(pod));
  tell_changes();
}

// A timer for the earliest doubt. A timer that was set for a later time stays and does nothing.
void LedgerOwner::keep_time() {
  const int64_t due = ledger.due_ms();
  if (due >= timer_ms_) return;
  timer_ms_ = due;
  const int64_t delay = std::max<int64_t>(0, due - host.now_ms());
  host.run_on_loop(delay, [weak = weak_from_this(), due] {
    const std::shared_ptr<LedgerOwner> self = weak.lock();
    if (!self) return;
    if (self->timer_ms_ == due) self->timer_ms_ = INT64_MAX;
    self->ledger.pass_time(self->host.now_ms());
    self->seen_old_ = true;  // what came for no node in time is missing at an old node
    self->tell_changes();
  });
}

void LedgerOwner::upsert(std::string_view name, std::string_view json, bool old_version) {
  Parsed<NrtObject> nrt = parse_nrt(json);
  if (nrt) {
    // In the other version the same object has the same resource version, but more fields.
    if (old_version) nrt->resource_version.insert(0, "v1alpha1/");
    told_errors_.erase(std::string(name));
    ledger.report(*nrt, host.now_ms());
    return;
  }
  const bool nothing_known = ledger.report_malformed(name);
  std::string& told = told_errors_[std::string(name)];
  if (told == nrt.error()) return;  // exporters write every few seconds
  told = nrt.error();
  ++malformed_;
  host.warn("NodeResourceTopology " + std::string(name) + " cannot be read, " +
            (nothing_known ? "pods that need alignment stay off the node until it can: "
                           : "its last good report stays: ") +
            told + " (" + std::to_string(malformed_) + " so far)");
}

// An API server that serves both versions returns the same objects in both. In v1alpha1 they lack
// the attributes with the policy, so v1alpha1 is used only while there is no v1alpha2.
void LedgerOwner::object(const sdk::ObjectEvent& event) {
  const std::string name(event.name);
  const bool old_version = event.resource == kOldNrtResource;
  const bool deleted = event.type == sdk::ObjectEvent::kDelete;
  if (!old_version && !deleted) served_new_ = true;
  if (old_version && served_new_) return;
  if (old_version && !deleted) {
    from_old_.insert(name);
  } else {
    from_old_.erase(name);
  }
  if (deleted) {
    told_errors_.erase(name);
    ledger.report_deleted(name, host.now_ms() + kReportOnItsWayMs);
  } else {
    upsert(event.name, event.json, old_version);
  }
}

// That no report was seen says nothing while the list of them is not complete, or while all nodes
// are new: that of the first node is on its way, too.
int64_t LedgerOwner::report_until_ms(sdk::Node node) {
  const int64_t now = host.now_ms();
  const int64_t created = node.object().meta.creation_ms;
  if (created == 0 || created + kReportOnItsWayMs <= now) {
    seen_old_ = true;
    return 0;
  }
  const bool nobody_reports = listed_ && (!served_ || seen_old_);
  if (ledger.stats().reports == 0 && nobody_reports) return 0;
  return std::min(created, now) + kReportOnItsWayMs;  // clocks may differ
}

void LedgerOwner::synced(const sdk::ObjectEvent& event) {
  const bool served = event.json.find("\"served\":false") == std::string_view::npos;
  if (served) told_missing_ = false;
  if (served || (event.resource == kOldNrtResource && !served_new_)) {
    listed_ = true;
    served_ = served;
  }
  if (event.resource == kNrtResource) {
    served_new_ = served;
    if (served) {
      // The list is complete: objects that only the old version had are gone.
      for (const std::string& name : std::exchange(from_old_, {})) {
        ledger.report_deleted(name);
        // A change without an event about that node.
        if (const sdk::Node node = host.node(name)) tell_freed(node.slot());
      }
    } else {
      watch_old();
    }
  } else if (!served && !served_new_ && !told_missing_) {
    told_missing_ = true;
    host.warn(
        "this cluster has no NodeResourceTopology (CRD "
        "noderesourcetopologies.topology.node.k8s.io is not installed): nodes take every pod, "
        "unless "
        "they had a report before or the argument withoutReport of NodeResourceTopologyMatch is "
        "Wait");
  }
}

// What one listener throws is not the others' matter, nor the event's.
void LedgerOwner::tell_freed(uint32_t slot) {
  for (Listener* listener : listeners_) {
    try {
      listener->zones_freed(slot);
    } catch (const std::exception& error) {
      host.error_log(error.what());
    }
  }
}

void LedgerOwner::watch_old() {
  if (watching_old_) return;
  watching_old_ = true;
  try {
    host.watch(kNrtGroup, "v1alpha1", kNrtPlural);
  } catch (const std::exception& error) {
    listed_ = true;
    host.warn(std::string("NodeResourceTopology v1alpha2 is not served, and ") + error.what() +
              ": there are no reports until v1alpha2 is there");
  }
}

}  // namespace plimsoll::topology
