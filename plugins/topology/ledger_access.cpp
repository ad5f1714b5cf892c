#include "plugins/topology/ledger_access.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "plugins/topology/explain_text.hpp"
#include "plugins/topology/ledger.hpp"
#include "plugins/topology/ledger_metrics.hpp"

// The service's plimsoll_numa_inquiry.
struct plimsoll_numa_inquiry {
  explicit plimsoll_numa_inquiry(const plimsoll_pod& pod) : inquiry(pod) {}
  plimsoll::topology::Inquiry inquiry;
};

namespace plimsoll::topology {

using sdk::str;
using sdk::view;

namespace {

void put_all(const std::vector<plimsoll_numa_charge>& charges, plimsoll_numa_put put, void* sink) {
  if (put == nullptr) return;
  for (const plimsoll_numa_charge& charge : charges) put(sink, &charge);
}

void append(void* sink, const plimsoll_numa_charge* charge) {
  static_cast<LedgerAccess::Charges*>(sink)->push_back(*charge);
}

}  // namespace

// The ledger with its table. No exception leaves a function of the table.
struct LedgerAccess::Owned : std::enable_shared_from_this<LedgerAccess::Owned> {
  explicit Owned(sdk::Host the_host)
      : host(std::move(the_host)),
        ledger([this](std::string_view name) { return host.resource_index(name); }),
        metrics(host) {
    fill_reads();
    fill_what_ifs();
    fill_questions();
    fill_zones();
    fill_promises();
    fill_listeners();
  }
  ~Owned() {
    for (const plimsoll_numa_listener* listener : listeners) listener->closed(listener->ctx);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  static Owned& of(void* ctx) { return *static_cast<Owned*>(ctx); }

  template <typename Call>
  int32_t guarded(const Call& call) noexcept {
    try {
      return call();
    } catch (const std::exception& error) {
      host.error_log(error.what());
      return 0;
    }
  }

  void fill_reads() {
    table.size = sizeof table;
    table.ctx = this;
    table.node = [](void* ctx, uint32_t slot) { return of(ctx).ledger.node(slot); };
    table.malformed = [](void* ctx, uint32_t slot) -> int32_t {
      return of(ctx).ledger.malformed(slot) ? 1 : 0;
    };
    table.predict = [](void* ctx, uint32_t slot, const plimsoll_pod* pod, plimsoll_numa_put put,
                       void* sink) -> int32_t {
      return of(ctx).guarded([&] {
        topology::Inquiry inquiry(*pod);
        const Placement placement = of(ctx).ledger.likely(slot, inquiry);
        put_all(placement.where, put, sink);
        return placement.complete ? 1 : 0;
      });
    };
    table.promised = [](void* ctx, plimsoll_str uid, plimsoll_numa_put put, void* sink) -> int32_t {
      return of(ctx).guarded([&] {
        const std::vector<Charge>* charges = of(ctx).ledger.charges_of(view(uid));
        if (charges == nullptr) return 0;
        for (const Charge& charge : *charges) {
          const plimsoll_numa_charge one{0, charge.zone_id, charge.resource, 0, charge.amount};
          put(sink, &one);
        }
        return 1;
      });
    };
    table.report_version = [](void* ctx, plimsoll_str name) {
      return str(of(ctx).ledger.report_version(view(name)));
    };
    table.pending_promises = [](void* ctx) { return of(ctx).ledger.pending_promises(); };
  }

  void fill_what_ifs() {
    table.fits_without = [](void* ctx, uint32_t slot, const plimsoll_str* uids, uint32_t count,
                            plimsoll_numa_fits fits, void* sink) -> int32_t {
      return of(ctx).guarded([&] {
        const auto ask = [&](const plimsoll_numa_node& node) { return fits(sink, &node) != 0; };
        return of(ctx).ledger.fits_without(slot, {uids, count}, ask) ? 1 : 0;
      });
    };
    table.holds = [](void* ctx, uint32_t slot, plimsoll_str uid) -> int32_t {
      return of(ctx).ledger.holds(slot, view(uid)) ? 1 : 0;
    };
  }

  void fill_questions() {
    table.inquire = [](void* ctx, const plimsoll_pod* pod) -> plimsoll_numa_inquiry* {
      plimsoll_numa_inquiry* made = nullptr;
      of(ctx).guarded([&] {
        auto inquiry = std::make_unique<plimsoll_numa_inquiry>(*pod);
        if (inquiry->inquiry.matters()) made = inquiry.release();
        return 1;
      });
      return made;
    };
    table.inquiry_free = [](plimsoll_numa_inquiry* pod) { delete pod; };
    table.judge = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod,
                     uint32_t* resource) -> uint32_t {
      Judgement judgement{Verdict::kUncertain, Judgement::kNoResource};
      of(ctx).guarded([&] {
        judgement = of(ctx).ledger.judge(slot, pod->inquiry);
        return 1;
      });
      if (resource != nullptr) *resource = judgement.resource;
      return static_cast<uint32_t>(judgement.verdict);
    };
    table.judge_many = [](void* ctx, const uint32_t* slots, uint32_t count,
                          plimsoll_numa_inquiry* pod, uint32_t* verdicts, uint32_t* resources) {
      std::fill_n(verdicts, count, static_cast<uint32_t>(Verdict::kUncertain));
      std::fill_n(resources, count, Judgement::kNoResource);
      of(ctx).guarded([&] {
        std::vector<Judgement> judgements(count);
        of(ctx).ledger.judge_many({slots, count}, pod->inquiry, judgements);
        for (uint32_t i = 0; i < count; ++i) {
          verdicts[i] = static_cast<uint32_t>(judgements[i].verdict);
          resources[i] = judgements[i].resource;
        }
        return 1;
      });
    };
    table.judge_changed = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod,
                             const plimsoll_str* without, uint32_t without_count,
                             const plimsoll_numa_inquiry* const* with, uint32_t with_count,
                             uint32_t* resource) -> uint32_t {
      Judgement judgement{Verdict::kUncertain, Judgement::kNoResource};
      of(ctx).guarded([&] {
        std::vector<const kubelet::PodDemand*> pods;
        for (uint32_t i = 0; i < with_count; ++i) pods.push_back(with[i]->inquiry.demand.get());
        judgement =
            of(ctx).ledger.judge_changed(slot, pod->inquiry, {without, without_count}, pods);
        return 1;
      });
      if (resource != nullptr) *resource = judgement.resource;
      return static_cast<uint32_t>(judgement.verdict);
    };
    table.eased = [](void* ctx, uint32_t slot) -> int32_t {
      return of(ctx).ledger.eased(slot) ? 1 : 0;
    };
    table.change_of = [](void* ctx, uint32_t slot) { return of(ctx).ledger.change_of(slot); };
    table.fits_soon = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod) -> int32_t {
      return of(ctx).guarded([&] { return of(ctx).ledger.fits_soon(slot, pod->inquiry) ? 1 : 0; });
    };
    table.explain = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod,
                       const plimsoll_pod* object, uint32_t verdict, plimsoll_numa_put_text put,
                       void* sink) {
      of(ctx).guarded([&] {
        const Ledger& ledger = of(ctx).ledger;
        const std::string text = explain_judgement(
            *object, *pod->inquiry.demand, ledger.likely_state(slot), ledger.node(slot),
            static_cast<Verdict>(verdict), of(ctx).host.now_ms());
        put(sink, text.data(), text.size());
        return 1;
      });
    };
    table.use = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod) {
      const plimsoll_numa_use* use = nullptr;
      of(ctx).guarded([&] {
        use = of(ctx).ledger.use(slot, pod->inquiry);
        return 1;
      });
      return use;
    };
    table.land_many = [](void* ctx, const uint32_t* slots, uint32_t count,
                         plimsoll_numa_inquiry* pod, plimsoll_numa_landing* landings) {
      std::fill_n(landings, count, plimsoll_numa_landing{});
      of(ctx).guarded([&] {
        of(ctx).ledger.land_many({slots, count}, pod == nullptr ? nullptr : &pod->inquiry,
                                 {landings, count});
        return 1;
      });
    };
    table.admits_many = [](void* ctx, const uint32_t* slots, uint32_t count,
                           plimsoll_numa_inquiry* pod, uint8_t* admitted) {
      std::fill_n(admitted, count, uint8_t{0});
      of(ctx).guarded([&] {
        of(ctx).ledger.admits_many({slots, count}, pod->inquiry, admitted);
        return 1;
      });
    };
    table.alike = [](void* ctx, uint32_t asked, plimsoll_numa_inquiry* pod,
                     plimsoll_numa_put_alike put, void* sink) {
      of(ctx).guarded([&] {
        of(ctx).ledger.alike(asked, pod == nullptr ? nullptr : &pod->inquiry, put, sink);
        return 1;
      });
    };
  }

  void fill_zones() {
    table.where = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, plimsoll_str uid,
                     const plimsoll_str* without, uint32_t without_count,
                     const plimsoll_numa_inquiry* const* with, uint32_t with_count,
                     plimsoll_numa_put_place put, void* sink) -> uint32_t {
      const int32_t known = of(ctx).guarded([&]() -> int32_t {
        std::vector<const kubelet::PodDemand*> pods;
        for (uint32_t i = 0; i < with_count; ++i) pods.push_back(with[i]->inquiry.demand.get());
        const auto found =
            of(ctx).ledger.where(slot, pod->inquiry, view(uid), {without, without_count}, pods);
        if (!found) return PLIMSOLL_NUMA_PLACE_UNKNOWN;
        for (const plimsoll_numa_place& place : found->places) put(sink, &place);
        return found->spread ? PLIMSOLL_NUMA_PLACE_SPREAD : PLIMSOLL_NUMA_PLACE_NARROW;
      });
      return static_cast<uint32_t>(known);
    };
    table.occupied = [](void* ctx, uint32_t slot, const plimsoll_str* without,
                        uint32_t without_count, uint64_t* by_single, uint64_t* by_spread) {
      Ledger::Occupied occupied;
      of(ctx).guarded([&] {
        occupied = of(ctx).ledger.occupied(slot, {without, without_count});
        return 1;
      });
      *by_single = occupied.by_single;
      *by_spread = occupied.by_spread;
    };
  }

  void fill_promises() {
    table.reserve = [](void* ctx, uint32_t slot, const plimsoll_pod* pod, uint32_t insist,
                       plimsoll_numa_put put, void* sink) -> int32_t {
      Owned& self = of(ctx);
      return self.guarded([&] {
        const auto how = insist != 0 ? Ledger::Insist::kYes : Ledger::Insist::kNo;
        const Placement placement = self.ledger.reserve(*pod, slot, self.host.now_ms(), how);
        self.tell_changes();
        if (!placement.complete) return 0;
        put_all(placement.where, put, sink);
        return 1;
      });
    };
    table.unreserve = [](void* ctx, const plimsoll_pod* pod) -> int32_t {
      Owned& self = of(ctx);
      return self.guarded([&] {
        const bool freed = self.ledger.unreserve(*pod);
        self.tell_changes();
        return freed ? 1 : 0;
      });
    };
  }

  void fill_listeners() {
    table.subscribe = [](void* ctx, const plimsoll_numa_listener* listener) {
      of(ctx).guarded([&] {
        of(ctx).listeners.push_back(listener);
        return 1;
      });
    };
    table.unsubscribe = [](void* ctx, const plimsoll_numa_listener* listener) {
      std::erase(of(ctx).listeners, listener);
    };
  }

  void tell_changes() {
    Ledger::Changes changes = std::move(changes_room);  // listeners may call back into this
    ledger.take_changes(changes);
    metrics.update(ledger);
    for (const std::string& note : ledger.take_notes()) host.debug(note);
    for (const std::string& warning : ledger.take_warnings()) host.warn(warning);
    for (uint32_t slot : changes.slots) host.touch_node(slot);
    for (uint32_t slot : changes.freed) {
      for (const plimsoll_numa_listener* listener : listeners) listener->freed(listener->ctx, slot);
    }
    changes_room = std::move(changes);
    keep_time();
  }

  // A timer for the earliest doubt. A timer that was set for a later time stays and does nothing.
  void keep_time() {
    const int64_t due = ledger.due_ms();
    if (due >= timer_ms) return;
    timer_ms = due;
    const int64_t delay = std::max<int64_t>(0, due - host.now_ms());
    host.run_on_loop(delay, [weak = weak_from_this(), due] {
      const std::shared_ptr<Owned> self = weak.lock();
      if (!self) return;
      if (self->timer_ms == due) self->timer_ms = INT64_MAX;
      self->ledger.pass_time(self->host.now_ms());
      self->tell_changes();
    });
  }

  void upsert(std::string_view name, std::string_view json, bool old_version) {
    Parsed<NrtObject> nrt = parse_nrt(json);
    if (nrt) {
      // In the other version the same object has the same resource version, but more fields.
      if (old_version) nrt->resource_version.insert(0, "v1alpha1/");
      told_errors.erase(std::string(name));
      ledger.report(*nrt, host.now_ms());
      return;
    }
    const bool nothing_known = ledger.report_malformed(name);
    std::string& told = told_errors[std::string(name)];
    if (told == nrt.error()) return;  // exporters write every few seconds
    told = nrt.error();
    ++malformed;
    host.warn("NodeResourceTopology " + std::string(name) + " cannot be read, " +
              (nothing_known ? "pods that need alignment stay off the node until it can: "
                             : "its last good report stays: ") +
              told + " (" + std::to_string(malformed) + " so far)");
  }

  // An API server that serves both versions returns the same objects in both. In v1alpha1 they lack
  // the attributes with the policy, so v1alpha1 is used only while there is no v1alpha2.
  void object(const sdk::ObjectEvent& event) {
    const std::string name(event.name);
    const bool old_version = event.resource == kOldNrtResource;
    const bool deleted = event.type == sdk::ObjectEvent::kDelete;
    if (!old_version && !deleted) served_new = true;
    if (old_version && served_new) return;
    if (old_version && !deleted) {
      from_old.insert(name);
    } else {
      from_old.erase(name);
    }
    if (deleted) {
      told_errors.erase(name);
      ledger.report_deleted(name);
    } else {
      upsert(event.name, event.json, old_version);
    }
  }

  void synced(const sdk::ObjectEvent& event) {
    const bool served = event.json.find("\"served\":false") == std::string_view::npos;
    if (event.resource == kNrtResource) {
      served_new = served;
      if (served) {
        // The list is complete: objects that only the old version had are gone.
        for (const std::string& name : std::exchange(from_old, {})) {
          ledger.report_deleted(name);
          tell_freed(name);
        }
      } else {
        watch_old();
      }
    } else if (!served && !served_new && !told_missing) {
      told_missing = true;
      host.warn(
          "this cluster has no NodeResourceTopology (CRD "
          "noderesourcetopologies.topology.node.k8s.io is not installed): every pod passes");
    }
  }

  // For changes without an event about that node.
  void tell_freed(std::string_view name) {
    const sdk::Node node = host.node(name);
    if (!node) return;
    for (const plimsoll_numa_listener* listener : listeners) {
      listener->freed(listener->ctx, node.slot());
    }
  }

  void watch_old() {
    if (watching_old) return;
    watching_old = true;
    try {
      host.watch(kNrtGroup, "v1alpha1", kNrtPlural);
    } catch (const std::exception& error) {
      host.warn(std::string("NodeResourceTopology v1alpha2 is not served, and ") + error.what() +
                ": every pod passes until v1alpha2 is there");
    }
  }

  sdk::Host host;
  Ledger ledger;
  LedgerMetrics metrics;
  plimsoll_numa_ledger table{};
  std::vector<const plimsoll_numa_listener*> listeners;
  Ledger::Changes changes_room;  // kept
  int64_t timer_ms = INT64_MAX;  // when the next timer runs
  uint64_t malformed = 0;
  std::map<std::string, std::string> told_errors;  // by node: not logged again
  bool served_new = false;                         // v1alpha2 is known to be there
  bool watching_old = false;
  bool told_missing = false;
  std::set<std::string> from_old;  // nodes whose report is a v1alpha1 object
};

LedgerAccess::LedgerAccess(sdk::Host host, Freed on_freed)
    : host_(std::move(host)), on_freed_(std::move(on_freed)) {
  service_ = host_.find_service<plimsoll_numa_ledger>(PLIMSOLL_NUMA_LEDGER_SERVICE,
                                                      PLIMSOLL_NUMA_LEDGER_VERSION);
  if (service_ != nullptr) {
    subscribe();
    return;
  }
  owned_ = std::make_shared<Owned>(host_);
  service_ = &owned_->table;
  host_.watch(kNrtGroup, "v1alpha2", kNrtPlural);
  // Comes last: nobody may find the table of an instance whose constructor failed.
  if (!host_.publish(PLIMSOLL_NUMA_LEDGER_SERVICE, PLIMSOLL_NUMA_LEDGER_VERSION, service_)) {
    throw std::runtime_error(std::string("service ") + PLIMSOLL_NUMA_LEDGER_SERVICE +
                             " is published in a version before " +
                             std::to_string(PLIMSOLL_NUMA_LEDGER_VERSION) +
                             ": use plugins of one release");
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

// Instances end in any order: the owner's end notifies the others.
LedgerAccess::~LedgerAccess() {
  if (service_ != nullptr) service_->unsubscribe(service_->ctx, &listener_);
}

bool LedgerAccess::reserve(uint32_t slot, const plimsoll_pod& pod, bool insist,
                           Charges& where) const {
  return service_->reserve(service_->ctx, slot, &pod, insist ? 1 : 0, &append, &where) != 0;
}

bool LedgerAccess::predict(uint32_t slot, const plimsoll_pod& pod, Charges& where) const {
  return service_->predict(service_->ctx, slot, &pod, &append, &where) != 0;
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
  return made == nullptr ? nullptr : Inquiry(made, service_->inquiry_free);
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
  if (!owned_) return;
  if (type == sdk::NodeEvent::kAdded) owned_->ledger.node_added(node.name(), node.slot());
  if (type == sdk::NodeEvent::kRemoved) owned_->ledger.node_removed(node.name());
  owned_->tell_changes();
}

void LedgerAccess::pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name) {
  if (!owned_) return;
  const int64_t now = owned_->host.now_ms();
  if (type == sdk::PodEvent::kAssigned) owned_->ledger.pod_assigned(*pod, node_name, now);
  if (type == sdk::PodEvent::kRemoved) owned_->ledger.pod_removed(*pod, now);
  owned_->tell_changes();
}

void LedgerAccess::object_event(const sdk::ObjectEvent& event) {
  if (!owned_) return;
  if (event.resource != kNrtResource && event.resource != kOldNrtResource) return;
  if (event.type == sdk::ObjectEvent::kSynced) {
    owned_->synced(event);
  } else {
    owned_->object(event);
  }
  owned_->tell_changes();
}

}  // namespace plimsoll::topology
