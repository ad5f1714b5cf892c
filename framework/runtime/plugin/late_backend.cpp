#include "framework/runtime/plugin/late_backend.hpp"

#include <string>
#include <utility>

#include "framework/base/log.hpp"

namespace plimsoll {

void LateBackend::pass_on(HostBackend& backend) {
  std::vector<Call> waiting;
  {
    const std::lock_guard lock(mutex_);
    backend_ = &backend;
    waiting.swap(later_);
  }
  for (const Call& each : waiting) each(&backend);
}

void LateBackend::drop() {
  std::vector<Call> waiting;
  {
    const std::lock_guard lock(mutex_);
    dropped_ = true;
    waiting.swap(later_);
  }
  for (const Call& each : waiting) each(nullptr);
}

void LateBackend::call(Call function) {
  HostBackend* backend = nullptr;
  {
    const std::lock_guard lock(mutex_);
    backend = backend_;
    if (backend == nullptr && !dropped_) return later_.push_back(std::move(function));
  }
  function(backend);
}

Result<void> LateBackend::watch(const WantedKind& kind) {
  if (auto checked = kind.check(); !checked) return checked;
  call([kind](HostBackend* backend) {
    if (backend == nullptr) return;
    if (const auto watched = backend->watch(kind); !watched) {
      log_error("a kind cannot be watched", {{"error", watched.error().message}});
    }
  });
  return {};
}

void LateBackend::run_on_loop(int64_t delay_ms, std::function<void()> task) {
  call([delay_ms, task = std::move(task)](HostBackend* backend) {
    if (backend != nullptr) backend->run_on_loop(delay_ms, task);
  });
}

void LateBackend::api_request(PluginRequest request, ApiAnswer done) {
  call([request = std::move(request), done = std::move(done)](HostBackend* backend) {
    if (backend != nullptr) {
      backend->api_request(request, done);
    } else {
      done(0, kNoApiServer);
    }
  });
}

}  // namespace plimsoll
