// The functions of the service (ledger_service.h). No exception leaves one of them.

#include <algorithm>

#include "plugins/topology/ask/explain_text.hpp"
#include "plugins/topology/service/ledger_owner.hpp"

// The service's plimsoll_numa_inquiry.
struct plimsoll_numa_inquiry {
  explicit plimsoll_numa_inquiry(const plimsoll_pod& pod) : inquiry(pod) {}
  plimsoll::topology::Inquiry inquiry;
};

namespace plimsoll::topology {
namespace {

using sdk::view;

LedgerOwner& of(void* ctx) {
  return *static_cast<LedgerOwner*>(ctx);
}

void fill_reads(plimsoll_numa_ledger& table) {
  table.node = [](void* ctx, uint32_t slot) { return of(ctx).ledger.ask().node(slot); };
  table.malformed = [](void* ctx, uint32_t slot) -> int32_t {
    return of(ctx).ledger.ask().malformed(slot) ? 1 : 0;
  };
  table.promised = [](void* ctx, plimsoll_str uid, plimsoll_numa_put put, void* sink) -> int32_t {
    return of(ctx).guarded([&] {
      const std::vector<Charge>* charges = of(ctx).ledger.ask().charges_of(view(uid));
      if (charges == nullptr) return 0;
      for (const Charge& charge : *charges) {
        const plimsoll_numa_charge one{0, charge.zone_id, charge.resource, 0, charge.amount};
        put(sink, &one);
      }
      return 1;
    });
  };
}

void fill_what_ifs(plimsoll_numa_ledger& table) {
  table.fits_without = [](void* ctx, uint32_t slot, const plimsoll_str* uids, uint32_t count,
                          plimsoll_numa_fits fits, void* sink) -> int32_t {
    return of(ctx).guarded([&] {
      const auto ask = [&](const plimsoll_numa_node& node) { return fits(sink, &node) != 0; };
      return of(ctx).ledger.ask().fits_without(slot, {uids, count}, ask) ? 1 : 0;
    });
  };
  table.holds = [](void* ctx, uint32_t slot, plimsoll_str uid) -> int32_t {
    return of(ctx).ledger.ask().holds(slot, view(uid)) ? 1 : 0;
  };
}

void fill_questions(plimsoll_numa_ledger& table) {
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
  table.without_report = [](plimsoll_numa_inquiry* pod, uint32_t what) {
    pod->inquiry.without_report = static_cast<WithoutReport>(what);
  };
  table.judge = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod,
                   uint32_t* resource) -> uint32_t {
    Judgement judgement{Verdict::kUncertain, Judgement::kNoResource};
    of(ctx).guarded([&] {
      judgement = of(ctx).ledger.ask().judge(slot, pod->inquiry);
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
      of(ctx).ledger.ask().judge_many({slots, count}, pod->inquiry, judgements);
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
          of(ctx).ledger.ask().judge_changed(slot, pod->inquiry, {without, without_count}, pods);
      return 1;
    });
    if (resource != nullptr) *resource = judgement.resource;
    return static_cast<uint32_t>(judgement.verdict);
  };
  table.eased = [](void* ctx, uint32_t slot) -> int32_t {
    return of(ctx).ledger.eased(slot) ? 1 : 0;
  };
  table.doubt = [](void* ctx, uint32_t slot) {
    return static_cast<uint32_t>(of(ctx).ledger.ask().doubt(slot));
  };
  table.change_of = [](void* ctx, uint32_t slot) { return of(ctx).ledger.ask().change_of(slot); };
  table.fits_soon = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod) -> int32_t {
    return of(ctx).guarded(
        [&] { return of(ctx).ledger.ask().fits_soon(slot, pod->inquiry) ? 1 : 0; });
  };
  table.explain = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod,
                     const plimsoll_pod* object, uint32_t verdict, plimsoll_numa_put_text put,
                     void* sink) {
    of(ctx).guarded([&] {
      const Ledger& ledger = of(ctx).ledger;
      const std::string text = explain_judgement(
          *object, *pod->inquiry.demand, ledger.ask().likely_state(slot), ledger.ask().node(slot),
          static_cast<Verdict>(verdict), of(ctx).host.now_ms());
      put(sink, text.data(), text.size());
      return 1;
    });
  };
  table.use = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod) {
    const plimsoll_numa_use* use = nullptr;
    of(ctx).guarded([&] {
      use = of(ctx).ledger.ask().use(slot, pod->inquiry);
      return 1;
    });
    return use;
  };
  table.land_many = [](void* ctx, const uint32_t* slots, uint32_t count, plimsoll_numa_inquiry* pod,
                       plimsoll_numa_landing* landings) {
    std::fill_n(landings, count, plimsoll_numa_landing{});
    of(ctx).guarded([&] {
      of(ctx).ledger.ask().land_many({slots, count}, pod == nullptr ? nullptr : &pod->inquiry,
                                     {landings, count});
      return 1;
    });
  };
  table.admits_many = [](void* ctx, const uint32_t* slots, uint32_t count,
                         plimsoll_numa_inquiry* pod, uint8_t* admitted) {
    std::fill_n(admitted, count, uint8_t{0});
    of(ctx).guarded([&] {
      of(ctx).ledger.ask().admits_many({slots, count}, pod->inquiry, admitted);
      return 1;
    });
  };
  table.alike = [](void* ctx, uint32_t asked, plimsoll_numa_inquiry* pod,
                   plimsoll_numa_put_alike put, void* sink) {
    of(ctx).guarded([&] {
      of(ctx).ledger.ask().alike(asked, pod == nullptr ? nullptr : &pod->inquiry, put, sink);
      return 1;
    });
  };
}

void fill_zones(plimsoll_numa_ledger& table) {
  table.where = [](void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, plimsoll_str uid,
                   const plimsoll_str* without, uint32_t without_count,
                   const plimsoll_numa_inquiry* const* with, uint32_t with_count,
                   plimsoll_numa_put_place put, void* sink) -> uint32_t {
    const int32_t known = of(ctx).guarded([&]() -> int32_t {
      std::vector<const kubelet::PodDemand*> pods;
      for (uint32_t i = 0; i < with_count; ++i) pods.push_back(with[i]->inquiry.demand.get());
      const auto found =
          of(ctx).ledger.ask().where(slot, pod->inquiry, view(uid), {without, without_count}, pods);
      if (!found) return PLIMSOLL_NUMA_PLACE_UNKNOWN;
      for (const plimsoll_numa_place& place : found->places) put(sink, &place);
      return found->spread ? PLIMSOLL_NUMA_PLACE_SPREAD : PLIMSOLL_NUMA_PLACE_NARROW;
    });
    return static_cast<uint32_t>(known);
  };
  table.occupied = [](void* ctx, uint32_t slot, const plimsoll_str* without, uint32_t without_count,
                      uint64_t* by_single, uint64_t* by_spread) {
    OccupiedZones occupied;
    of(ctx).guarded([&] {
      occupied = of(ctx).ledger.ask().occupied(slot, {without, without_count});
      return 1;
    });
    *by_single = occupied.by_single;
    *by_spread = occupied.by_spread;
  };
}

void fill_promises(plimsoll_numa_ledger& table) {
  table.reserve = [](void* ctx, uint32_t slot, const plimsoll_pod* pod, uint32_t insist,
                     plimsoll_numa_put put, void* sink) -> int32_t {
    LedgerOwner& self = of(ctx);
    return self.guarded([&] {
      const auto how = insist != 0 ? Ledger::Insist::kYes : Ledger::Insist::kNo;
      const Placement placement = self.ledger.reserve(*pod, slot, self.host.now_ms(), how);
      self.tell_changes();
      if (!placement.complete) return 0;
      for (const plimsoll_numa_charge& one : placement.where) {
        if (put != nullptr) put(sink, &one);
      }
      return 1;
    });
  };
  table.unreserve = [](void* ctx, const plimsoll_pod* pod) -> int32_t {
    LedgerOwner& self = of(ctx);
    return self.guarded([&] {
      const bool freed = self.ledger.unreserve(*pod);
      self.tell_changes();
      return freed ? 1 : 0;
    });
  };
}

void fill_listeners(plimsoll_numa_ledger& table) {
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

}  // namespace

void LedgerOwner::fill_table() {
  table.size = sizeof table;
  table.ctx = this;
  fill_reads(table);
  fill_what_ifs(table);
  fill_questions(table);
  fill_zones(table);
  fill_promises(table);
  fill_listeners(table);
}

}  // namespace plimsoll::topology
