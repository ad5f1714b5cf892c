#include "framework/runtime/late_backend.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/runtime/what_if.hpp"

namespace plimsoll {

LateBackend::~LateBackend() {
  for (const Call& each : later_) each(nullptr);
}

void LateBackend::pass_on(HostBackend& backend) {
  std::vector<Call> waiting;
  {
    const std::lock_guard lock(mutex_);
    backend_ = &backend;
    waiting.swap(later_);
  }
  for (const Call& each : waiting) each(&backend);
}

void LateBackend::call(Call function) {
  HostBackend* backend = nullptr;
  {
    const std::lock_guard lock(mutex_);
    backend = backend_;
    if (backend == nullptr) later_.push_back(std::move(function));
  }
  if (backend != nullptr) function(backend);
}

Result<void> LateBackend::watch(std::string_view group, std::string_view version,
                                std::string_view plural) {
  call([group = std::string(group), version = std::string(version),
        plural = std::string(plural)](HostBackend* backend) {
    if (backend == nullptr) return;
    if (const auto watched = backend->watch(group, version, plural); !watched) {
      log_error("a kind cannot be watched", {{"error", watched.error().message}});
    }
  });
  return {};
}

void LateBackend::post_binding(BindingPost, std::function<void(Result<void>)> done) {
  done(fail(ErrorCode::kUnavailable, "there is no API server here"));
}

int64_t LateBackend::now_ms() {
  using std::chrono::milliseconds;
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<plimsoll_what_if> LateBackend::what_if(const plimsoll_cycle&, const plimsoll_pod&,
                                                       uint32_t) {
  return nullptr;
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
      done(0, "there is no API server here");
    }
  });
}

}  // namespace plimsoll
