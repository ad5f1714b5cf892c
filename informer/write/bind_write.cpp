#include "informer/write/bind_write.hpp"

#include <algorithm>
#include <utility>

#include "informer/wire/protobuf_wire.hpp"
#include "informer/write/binding_voider.hpp"
#include "informer/write/write_bodies.hpp"
#include "informer/write/write_protobuf.hpp"

namespace plimsoll::informer {
namespace {

// How often the pod may change before the bind fails.
constexpr int kMaxChanges = 5;

}  // namespace

BindWrite::BindWrite(std::shared_ptr<WriteQueue> queue, BindRequest request, ApiWriter::Done done)
    : queue_(std::move(queue)),
      request_(std::move(request)),
      done_(std::move(done)),
      what_("binding pod " + request_.ns + "/" + request_.name + " to node " + request_.node) {}

void BindWrite::send() {
  auto job = std::make_shared<WriteJob>();
  job->what = what_;
  job->request.method = "POST";
  job->request.path = pod_path(request_.ns, request_.name) + "/binding";
  job->request.timeout = queue_->options().timeout;
  job->definite = answers_write;
  if (changes_ == 0) job->in_order = request_.node;
  if (queue_->protobuf()) {
    job->request.body = binding_protobuf(request_);
    job->request.content_type = kProtobufType;
    job->request.accept = kAcceptProtobuf;
    job->as_json = [self = shared_from_this()] { return binding_body(self->request_); };
  } else {
    job->request.body = binding_body(request_);
  }
  job->done = [self = shared_from_this(), own = job.get()](const Result<HttpResponse>& result) {
    self->answered(result, own->uncertain);
  };
  queue_->add(WriteClass::kBind, job);
}

void BindWrite::answered(const Result<HttpResponse>& result, bool uncertain) {
  if (!result) return done_(fail(result.error()));
  if (result->ok()) return done_({});
  Refusal refusal{response_error(what_, *result), result->status == 409, uncertain};
  if (refusal.conflict || (uncertain && result->status != 404)) return look(std::move(refusal));
  done_(fail(std::move(refusal.error)));
}

// The bind was refused. If an answer was lost, an earlier try may have succeeded; if somebody
// changed the pod, the bind need not fail.
void BindWrite::look(Refusal refusal) {
  auto job = std::make_shared<WriteJob>();
  job->what = what_;
  job->request.path = pod_path(request_.ns, request_.name);
  job->request.timeout = queue_->options().timeout;
  job->definite = answers_pod;
  job->done = [self = shared_from_this(),
               refusal = std::move(refusal)](const Result<HttpResponse>& result) mutable {
    if (!result) return self->done_(fail(result.error()));
    const auto pod = read_pod_answer(result->body);
    if (result->ok() && pod) return self->looked(*pod, std::move(refusal));
    refusal.error.code = ErrorCode::kConflict;  // the pod is gone
    self->done_(fail(std::move(refusal.error)));
  };
  queue_->add(WriteClass::kBind, job);
}

void BindWrite::looked(const PodAnswer& pod, Refusal refusal) {
  if (as_asked(pod)) {
    queue_->stats().binds_recovered.fetch_add(1, std::memory_order_relaxed);
    return done_({});
  }
  if (pod.uid != request_.uid || !pod.node.empty()) {
    refusal.error.code = ErrorCode::kConflict;
    return done_(fail(std::move(refusal.error)));
  }
  if (request_.resource_version.empty() || pod.resource_version.empty()) {
    return done_(fail(std::move(refusal.error)));
  }
  if (pod.resource_version == request_.resource_version) {
    if (refusal.uncertain) return touch(std::move(refusal));
    return done_(fail(std::move(refusal.error)));
  }
  // The pod has changed, so every try so far is void.
  if (!refusal.conflict || pod.deleting || ++changes_ > kMaxChanges) {
    return done_(fail(std::move(refusal.error)));
  }
  request_.resource_version = pod.resource_version;
  send();
}

// The pod is unchanged: an earlier try may still be carried out. The resources must not be given to
// another pod until that is impossible.
void BindWrite::touch(Refusal refusal) {
  const PodVersion pod{request_.ns, request_.name, request_.uid, request_.resource_version};
  const std::string note = "given up: " + what_ + ", version " + pod.resource_version;
  touch_pod(queue_, pod, note,
            [self = shared_from_this(),
             refusal = std::move(refusal)](const Result<void>& touched) mutable {
              refusal.uncertain = false;
              if (touched) return self->look(std::move(refusal));
              self->done_(fail(std::move(refusal.error)));
            });
}

bool BindWrite::as_asked(const PodAnswer& pod) const {
  if (pod.uid != request_.uid || pod.node != request_.node) return false;
  return std::ranges::all_of(request_.annotations, [&pod](const auto& annotation) {
    const auto found = pod.annotations.find(annotation.first);
    return found != pod.annotations.end() && found->second == annotation.second;
  });
}

}  // namespace plimsoll::informer
