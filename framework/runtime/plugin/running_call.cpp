#include "framework/runtime/plugin/running_call.hpp"

#include <mutex>
#include <set>

namespace plimsoll {
namespace {

struct LooseCalls {
  std::mutex mutex;
  std::set<LooseCall*> all;
};

LooseCalls& loose_calls() {
  static auto* const calls = new LooseCalls;  // threads may outlive static objects
  return *calls;
}

}  // namespace

LooseCall::LooseCall(const Plugin& plugin, const char* call, const plimsoll_pod* pod)
    : RunningCall(plugin, call, pod) {
  const std::lock_guard lock(loose_calls().mutex);
  loose_calls().all.insert(this);
}

LooseCall::~LooseCall() {
  const std::lock_guard lock(loose_calls().mutex);
  loose_calls().all.erase(this);
}

void LooseCall::each_that_hangs(
    std::chrono::nanoseconds after,
    const std::function<void(const RunningCall&, std::chrono::nanoseconds busy)>& say) {
  const std::lock_guard lock(loose_calls().mutex);
  for (LooseCall* call : loose_calls().all) {
    const auto busy = std::chrono::steady_clock::now() - call->began_;
    if (call->reminder_.due(busy, after)) say(*call, busy);
  }
}

}  // namespace plimsoll
