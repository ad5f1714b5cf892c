// Why a node has no devices for a pod, for people.

#include <algorithm>
#include <map>

#include "plugins/dynamicresources/allocator/search.hpp"

namespace plimsoll::dra {
namespace {

// Claims, classes and taints are strangers' texts: as many as a person reads.
constexpr size_t kLongText = 1024;

}  // namespace

std::string Search::why(const NodePools& pools) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    if (text.size() < kLongText) text += (text.empty() ? "" : "; ") + part;
  };
  for (const NodePools::Entry& entry : pools.pools) {
    if (entry.view->state == PoolView::State::kUsable) continue;
    const bool incomplete = entry.view->state == PoolView::State::kIncomplete;
    add("pool " + entry.view->driver + "/" + entry.view->pool +
        (incomplete ? " is currently being updated" : " is currently invalid"));
  }
  work_ = 0;
  if (const auto failure = check(pools)) {
    add(failure->error);
    return text;
  }
  drawn_.assign(pools.pools.size(), {});
  last_pick_.resize(std::max<size_t>(last_pick_.size(), sites_));
  for (uint32_t index = 0; index < plan_.alternatives.size() && text.size() < kLongText; ++index) {
    const Plan::Alternative& alternative = plan_.alternatives[index];
    std::map<std::string, int> refused;
    int left = 0;
    for (uint32_t position = 0; position < sites_; ++position) {
      const std::string reason = why_not(index, site(position));
      reason.empty() ? ++left : ++refused[reason];
    }
    std::string line = alternative.where + ": " + std::to_string(count_of(index)) + " wanted of " +
                       std::to_string(sites_) + " devices";
    for (const auto& [reason, count] : refused) {
      line += ", " + std::to_string(count) + " " + reason;
    }
    if (left > 0) line += ", " + std::to_string(left) + " would do alone";
    add(line);
  }
  return text;
}

// Of a device that nobody of this pod has yet; empty: it would do.
std::string Search::why_not(uint32_t index, const Site& at) {
  const Plan::Alternative& alternative = plan_.alternatives[index];
  for (const Plan::Test& test : alternative.tests) {
    const Judgement::Kind kind = inventory_.verdict(*test.expression, *at.device);
    if (kind == Judgement::Kind::kTrue) continue;
    return (kind == Judgement::Kind::kFalse ? "not selected by " : "an error in ") +
           (test.of_class ? "class " + alternative.device_class->name
                          : std::string("the request")) +
           " (selector #" + std::to_string(test.index) + ")";
  }
  if (!at.here) return "for other nodes";
  if (in_use(alternative, at)) return "in use";
  const Consumption& amounts = consumption_of(index, *at.device);
  if (amounts.fault != CapacityFault::kNone || !has_room(amounts, at)) return "without room";
  if (!counters_allow(at)) return "without a share of their pool's counters";
  if (!tolerated(*at.device->device, *alternative.asked)) return "with a taint";
  for (const uint32_t constraint : alternative.constraints) {
    if (!agrees(constraint, *at.device)) return "without the attribute of a constraint";
  }
  return {};
}

}  // namespace plimsoll::dra
