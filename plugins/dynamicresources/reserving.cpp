#include <array>
#include <cstdio>
#include <random>
#include <utility>

#include "plugins/dynamicresources/dynamicresources.hpp"

// The part of DynamicResources that decides, and writes what was decided before the binding.
namespace plimsoll::dra {

using sdk::Pod;
using sdk::Status;

namespace {

// RFC 9562, version 4.
std::string new_uid() {
  thread_local std::mt19937_64 random(std::random_device{}());
  std::array<uint64_t, 2> bits{random(), random()};
  bits[0] = (bits[0] & ~uint64_t{0xf000}) | 0x4000;
  bits[1] = (bits[1] & ~(uint64_t{3} << 62)) | uint64_t{2} << 62;
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx",
                static_cast<unsigned>(bits[0] >> 32), static_cast<unsigned>(bits[0] >> 16 & 0xffff),
                static_cast<unsigned>(bits[0] & 0xffff), static_cast<unsigned>(bits[1] >> 48),
                static_cast<unsigned long long>(bits[1] & 0xffffffffffff));
  return text;
}

}  // namespace

Status DynamicResources::reserve(plimsoll_cycle& cycle, Pod pod, sdk::Node node) {
  Attempt* tried = attempt(cycle);
  if (tried == nullptr) return Status();
  std::vector<Allocation> allocations;
  std::shared_ptr<const ExtendedAsk> extended;
  // What is free may have changed since the filters, if an extender was asked.
  tried->variants.clear();
  tried->last = {};
  const std::optional<std::string> which = from_devices(*tried, node);
  if (!which) return host_.error("claim allocation not found for node");
  Variant& made = variant(*tried, pod, *which);
  if (made.allocator != nullptr) {
    const Outcome outcome = allocate_near(*made.allocator, node, zones(*tried, pod, node));
    if (outcome.kind != Outcome::Kind::kAllocated) {
      return host_.error("claim allocation not found for node");
    }
    allocations = made.allocator->allocations(outcome, node.name(), new_uid);
    extended = made.ask;
  }
  Counted taken = footprint(*tried, made, allocations, pod, node_of(node));
  if (!taken.problem.empty()) return host_.error(taken.problem);
  tried->to_bind = std::make_shared<std::vector<ClaimToBind>>();
  size_t next = 0;
  for (const Wanted& wanted : tried->claims) {
    ClaimStore::Entry* claim = store_->find(wanted.ns, wanted.name);
    if (claim == nullptr || claim->uid() != wanted.uid) {
      return host_.error("claim " + wanted.ns + "/" + wanted.name + " got deleted in the meantime");
    }
    if (!wanted.allocated && (claim->in_flight() || claim->allocated())) {
      return host_.error("claim " + wanted.ns + "/" + wanted.name +
                         " got allocated elsewhere in the meantime");
    }
    ClaimToBind& to_bind = tried->to_bind->emplace_back(
        ClaimToBind{{wanted.ns, wanted.name, wanted.uid}, !wanted.allocated});
    to_bind.group = wanted.group;
    to_bind.devices = wanted.results;
    if (wanted.allocated) {
      if (!claim->reserved_for(pod.uid())) store_->share(*claim, pod.uid());
    } else {
      store_->decide(*claim, pod.uid(), std::move(allocations[next++]), group_decision(pod));
    }
  }
  if (extended != nullptr) {
    store_->hold(pod.uid(), std::move(allocations.back()));
    tried->to_bind->emplace_back(ClaimToBind{{std::string(pod.ns()), {}, {}}, true}).extended =
        std::move(extended);
  }
  tried->variants.clear();  // these saw what was free before
  tried->last = {};
  if (!taken.all || taken.all->empty()) return Status();
  if (!host_.add_amounts(pod.uid(), amounts(*taken.all))) {
    return host_.error("what the claims take of the node's resources cannot be counted");
  }
  tried->footprint = std::make_shared<Footprint>(std::move(*taken.all));
  return Status();
}

void DynamicResources::unreserve(plimsoll_cycle& cycle, Pod pod, std::string_view) {
  Attempt* tried = attempt(cycle);
  if (tried == nullptr || tried->to_bind == nullptr) return;
  store_->let_go(pod.uid());
  if (std::exchange(tried->footprint, nullptr) != nullptr)
    forget_amounts(host_, pod.ns(), pod.name(), pod.uid());
  for (const ClaimToBind& each : *tried->to_bind) {
    ClaimStore::Entry* claim = store_->find(each.ns, each.name);
    if (claim != nullptr && claim->uid() == each.uid)
      store_->give_up(*claim, pod.uid(), each.allocates ? each.version : "");
    if (each.extended != nullptr && !each.name.empty()) delete_claim(host_, each);
    if (!each.version.empty() && each.extended == nullptr) release(host_, each, pod.uid());
  }
  tried->to_bind.reset();
}

Status DynamicResources::pre_bind_pre_flight(plimsoll_cycle& cycle, Pod, std::string_view,
                                             bool& allow_parallel) {
  allow_parallel = true;
  const Attempt* tried = attempt(cycle);
  return tried == nullptr || tried->to_bind == nullptr ? Status::skip() : Status();
}

// On a thread of the binder: everything else happens on the loop.
Status DynamicResources::pre_bind(plimsoll_cycle& cycle, Pod pod, std::string_view node_name,
                                  sdk::Token token) {
  const State* state = host_.state<State>(cycle);
  if (state == nullptr) return Status();
  auto claims = state->attempt->to_bind;
  auto footprint = state->attempt->footprint;
  ClaimBinding::Who who{std::string(pod.ns()), std::string(pod.name()), std::string(pod.uid()),
                        std::string(node_name), profile_};
  host_.run_on_loop(0, [host = host_, store = store_->shared_from_this(), claims, footprint, who,
                        token, timeout_ms = args_.binding_timeout_ms] {
    std::make_shared<ClaimBinding>(
        host, store, who, claims, footprint, timeout_ms,
        [host, token](const std::string& problem) {
          host.complete(token, problem.empty() ? PLIMSOLL_SUCCESS : PLIMSOLL_ERROR, problem);
        })
        ->start();
  });
  return Status::wait();
}

}  // namespace plimsoll::dra
