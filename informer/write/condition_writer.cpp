#include "informer/write/condition_writer.hpp"

#include <utility>

#include "informer/wire/protobuf_wire.hpp"
#include "informer/write/pod_answer.hpp"
#include "informer/write/write_bodies.hpp"

namespace plimsoll::informer {
namespace {

// How often the pod may change before the condition is given up.
constexpr int kMaxConflicts = 5;

// Only patches of the same type replace each other: a patch without a nomination must not replace
// one that changes it.
std::string condition_key(const std::string& uid, bool set_nominated) {
  return uid + (set_nominated ? "+" : "-");
}

// A nomination that takes the place of a condition leaves it as it is.
void keep_condition(const ConditionPatch& from, ConditionPatch& to) {
  to.reason = from.reason;
  to.message = from.message;
  to.observed_generation = from.observed_generation;
  to.stays_false = from.stays_false;
}

}  // namespace

void ConditionWriter::write(ConditionPatch patch, ApiWriter::Done done) {
  auto write = std::make_shared<Write>();
  write->what = (patch.reason.empty() ? "writing the nominated node of pod "
                                      : "writing the PodScheduled condition of pod ") +
                patch.ns + "/" + patch.name;
  write->key = condition_key(patch.uid, patch.set_nominated);
  // It is sent before plain patches; an older condition must not follow it.
  if (patch.set_nominated && !patch.reason.empty()) supersede(condition_key(patch.uid, false));
  write->patch = std::move(patch);
  write->done = std::move(done);
  {
    const std::lock_guard lock(mutex_);
    Newest& newest = newest_[write->key];
    if (write->patch.reason.empty() && newest.patch != nullptr) {
      keep_condition(*newest.patch, write->patch);
    }
    newest.patch = {write, &write->patch};
    newest.serial = write->serial = ++last_serial_;
    ++newest.open;
  }
  send(write);
}

void ConditionWriter::end(Write& write, Result<void> result) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = newest_.find(write.key);
    if (found->second.serial == write.serial) found->second.patch = nullptr;
    if (--found->second.open == 0) newest_.erase(found);
  }
  if (write.done) write.done(std::move(result));
}

bool ConditionWriter::is_newest(const Write& write) {
  const std::lock_guard lock(mutex_);
  return newest_.find(write.key)->second.serial == write.serial;
}

void ConditionWriter::send(const WriteRef& write) {
  auto job = std::make_shared<WriteJob>();
  job->what = write->what;
  job->request.method = "PATCH";
  job->request.path = pod_path(write->patch.ns, write->patch.name) + "/status";
  job->request.content_type = "application/strategic-merge-patch+json";
  job->request.body = condition_body(write->patch, std::chrono::system_clock::now());
  // The answer is the whole pod; only its HTTP status matters.
  if (queue_->protobuf()) job->request.accept = kAcceptProtobuf;
  job->request.timeout = queue_->options().timeout;
  job->merge = write->key;
  job->urgent = write->patch.set_nominated;  // other replicas rely on the nomination too
  job->definite = answers_write;  // a server outage of a minute must not cost a pod its condition
  job->aged = write->conflicts > 0;
  job->superseded = [self = shared_from_this(), write] { return !self->is_newest(*write); };
  job->done = [self = shared_from_this(), write](const Result<HttpResponse>& result) {
    if (!result) return self->end(*write, fail(result.error()));
    if (result->ok()) return self->end(*write, {});
    Error error = response_error(write->what, *result);
    if (result->status != 409) return self->end(*write, fail(std::move(error)));
    if (!self->is_newest(*write)) return self->end(*write, {});
    if (++write->conflicts > kMaxConflicts) return self->end(*write, fail(std::move(error)));
    self->renew(write);
  };
  queue_->add(WriteClass::kStatus, job);
}

// The pod has changed since the patch was requested: checks whether the patch is still valid.
void ConditionWriter::renew(const WriteRef& write) {
  auto job = std::make_shared<WriteJob>();
  job->what = write->what;
  job->urgent = write->patch.set_nominated;
  job->request.path = pod_path(write->patch.ns, write->patch.name);
  job->request.timeout = queue_->options().timeout;
  job->definite = answers_write;
  job->superseded = [self = shared_from_this(), write] { return !self->is_newest(*write); };
  job->done = [self = shared_from_this(), write](const Result<HttpResponse>& result) {
    if (!result) return self->end(*write, fail(result.error()));
    if (result->status == 404 || !self->is_newest(*write)) return self->end(*write, {});
    if (!result->ok()) return self->end(*write, fail(response_error(write->what, *result)));
    const auto pod = read_pod_answer(result->body);
    if (!pod || pod->resource_version.empty()) {
      return self->end(*write, fail(ErrorCode::kUnavailable,
                                    write->what + ": the API server's answer is no pod"));
    }
    const bool still_true = pod->uid == write->patch.uid && pod->node.empty();
    if (!still_true) return self->end(*write, {});
    write->patch.resource_version = pod->resource_version;
    self->send(write);
  };
  queue_->add(WriteClass::kStatus, job);
}

void ConditionWriter::drop(const std::string& uid) {
  for (const bool set_nominated : {false, true}) supersede(condition_key(uid, set_nominated));
}

// The waiting patch with this key reports success, and one under way is not retried.
void ConditionWriter::supersede(const std::string& key) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = newest_.find(key);
    if (found == newest_.end()) return;
    found->second.serial = ++last_serial_;
    found->second.patch = nullptr;
  }
  if (const auto done = queue_->withdraw(WriteClass::kStatus, key)) {
    done(HttpResponse{200, {}, {}, {}});
  }
}

}  // namespace plimsoll::informer
