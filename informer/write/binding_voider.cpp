#include "informer/write/binding_voider.hpp"

#include <algorithm>
#include <utility>

#include "framework/base/log.hpp"
#include "informer/wire/protobuf_wire.hpp"
#include "informer/write/pod_answer.hpp"

namespace plimsoll::informer {
namespace {

constexpr std::size_t kAtATime = 64;  // more would only use memory
constexpr std::chrono::seconds kForbiddenPause{2};

// etcd's message for an object that is too large; it arrives as a server error.
bool is_too_large(const HttpResponse& response) {
  return response.status == 500 &&
         (response.body.find("request is too large") != std::string::npos ||
          response.body.find("larger than max") != std::string::npos);
}

bool answers_touch(const HttpResponse& response) {
  return answers_write(response) || is_too_large(response);
}

}  // namespace

void touch_pod(const std::shared_ptr<WriteQueue>& queue, const PodVersion& pod,
               const std::string& note, std::function<void(Result<void>)> done) {
  auto job = std::make_shared<WriteJob>();
  job->what = "touching pod " + pod.ns + "/" + pod.name;
  job->request.method = "PATCH";
  job->request.path = pod_path(pod.ns, pod.name) + "/status";
  job->request.content_type = "application/strategic-merge-patch+json";
  job->request.body = touch_body(pod, note, std::chrono::system_clock::now());
  if (queue->protobuf()) job->request.accept = kAcceptProtobuf;
  job->request.timeout = queue->options().timeout;
  job->definite = answers_touch;
  job->done = [what = job->what, done = std::move(done)](const Result<HttpResponse>& result) {
    if (!result) return done(fail(result.error()));
    // 409: it is another pod, or has already changed.
    if (result->ok() || result->status == 404 || result->status == 409) return done({});
    Error error = response_error(what, *result);
    if (is_too_large(*result)) error.code = ErrorCode::kInvalid;
    done(fail(std::move(error)));
  };
  queue->add(WriteClass::kStatus, job);
}

BindingVoider::BindingVoider(std::shared_ptr<WriteQueue> queue, HttpClient& client,
                             std::vector<PodVersion> pods, std::string note,
                             std::function<void()> done)
    : queue_(std::move(queue)),
      client_(client),
      pods_(std::move(pods)),
      note_(std::move(note)),
      done_(std::move(done)) {}

void BindingVoider::begin() {
  if (pods_.empty()) return done_();
  const std::size_t first = std::min(kAtATime, pods_.size());
  for (std::size_t i = 0; i < first; ++i) next();
}

void BindingVoider::next() {
  std::size_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    if (begun_ == pods_.size()) return;
    index = begun_++;
  }
  touch(index);
}

void BindingVoider::touch(std::size_t index) {
  touch_pod(queue_, pods_[index], note_,
            [self = shared_from_this(), index](const Result<void>& result) {
              self->ended(index, result);
            });
}

void BindingVoider::ended(std::size_t index, const Result<void>& result) {
  if (!result && result.error().code == ErrorCode::kCancelled) return;
  if (!result && result.error().code == ErrorCode::kUnauthorized) {
    bool say = false;
    {
      const std::lock_guard lock(mutex_);
      say = !std::exchange(said_forbidden_, true);
    }
    if (say) {
      log_error("nothing is scheduled before pods/status may be patched (deploy/base/rbac.yaml)",
                {{"error", result.error().message}});
    }
    client_.after(kForbiddenPause, [self = shared_from_this(), index] { self->touch(index); });
    return;
  }
  if (!result) {
    log_warn("what an earlier scheduler may have sent for a pod cannot be made void",
             {{"error", result.error().message}});
  }
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    all = ++ended_ == pods_.size();
  }
  if (all) return done_();
  next();
}

}  // namespace plimsoll::informer
