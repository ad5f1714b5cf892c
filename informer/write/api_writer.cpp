#include "informer/write/api_writer.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "framework/base/log.hpp"
#include "informer/write/bind_write.hpp"
#include "informer/write/binding_voider.hpp"
#include "informer/write/condition_writer.hpp"
#include "informer/write/event_recorder.hpp"
#include "informer/write/pod_answer.hpp"

namespace plimsoll::informer {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

constexpr milliseconds kSweepEvery = std::chrono::minutes(1);

WriteJobRef make_job(HttpRequest request) {
  auto job = std::make_shared<WriteJob>();
  job->what = request.method + " " + request.path;
  job->request = std::move(request);
  return job;
}

// Turns an answer that is not 2xx into an error.
WriteJob::Answer refusals_as_errors(std::string what, WriteJob::Answer done) {
  return [what = std::move(what), done = std::move(done)](Result<HttpResponse> result) {
    if (result && !result->ok()) return done(fail(response_error(what, *result)));
    done(std::move(result));
  };
}

EventRecorder::Send event_sender(const std::shared_ptr<WriteQueue>& queue) {
  return [queue](EventWrite write, EventRecorder::Answer answer) {
    WriteJobRef job = make_job(std::move(write.request));
    job->as_json = std::move(write.as_json);
    job->done = refusals_as_errors(
        job->what, [about = std::move(write.about), answer = std::move(answer)](auto result) {
          const ErrorCode code = result ? ErrorCode::kCancelled : result.error().code;
          if (code != ErrorCode::kConflict && code != ErrorCode::kCancelled &&
              code != ErrorCode::kNotFound) {
            log_debug("an event was not recorded",
                      {{"event", about}, {"error", result.error().message}});
          }
          answer(std::move(result));
        });
    queue->add(WriteClass::kEvent, job);
  };
}

void sweep_now_and_then(HttpClient& client, const std::weak_ptr<EventRecorder>& events) {
  client.after(kSweepEvery, [&client, events] {
    const auto living = events.lock();
    if (!living) return;
    living->sweep(system_clock::now());
    sweep_now_and_then(client, events);
  });
}

}  // namespace

ServerWriter::ServerWriter(HttpClient& binds, HttpClient& others, WriteOptions options)
    : others_(others),
      queue_(std::make_shared<WriteQueue>(binds, others, std::move(options))),
      conditions_(std::make_shared<ConditionWriter>(queue_)),
      events_(std::make_shared<EventRecorder>(
          EventRecorderOptions{.reporting_instance = queue_->options().reporting_instance,
                               .protobuf = [queue = queue_] { return queue->protobuf(); }},
          event_sender(queue_))) {
  sweep_now_and_then(others, events_);
}

ServerWriter::~ServerWriter() {
  stop();
}

void ServerWriter::bind(BindRequest request, Done done) {
  conditions_->drop(request.uid);
  std::make_shared<BindWrite>(queue_, std::move(request), std::move(done))->send();
}

void ServerWriter::void_bindings(std::vector<PodVersion> pods, std::string note,
                                 std::function<void()> done) {
  std::make_shared<BindingVoider>(queue_, others_, std::move(pods), std::move(note),
                                  std::move(done))
      ->begin();
}

void ServerWriter::record_event(EventRecord event) {
  events_->record(std::move(event), system_clock::now());
}

void ServerWriter::patch_condition(ConditionPatch patch, Done done) {
  conditions_->write(std::move(patch), std::move(done));
}

void ServerWriter::send(WriteClass write_class, HttpRequest request, Answer done) {
  WriteJobRef job = make_job(std::move(request));
  job->done = refusals_as_errors(job->what, std::move(done));
  queue_->add(write_class, job);
}

void ServerWriter::request(ApiRequest request, Answered done) {
  HttpRequest http;
  http.method = std::move(request.method);
  http.path = std::move(request.path);
  http.body = std::move(request.body);
  if (!request.content_type.empty()) http.content_type = std::move(request.content_type);
  http.timeout = queue_->options().timeout;
  WriteJobRef job = make_job(std::move(http));
  job->done = [done = std::move(done)](const Result<HttpResponse>& result) {
    if (!result) return done(0, result.error().message);
    done(result->status, result->body);
  };
  queue_->add(WriteClass::kOther, job);
}

bool ServerWriter::drain(milliseconds timeout) {
  return queue_->drain(timeout);
}

bool ServerWriter::all_ended() const {
  return queue_->is_empty();
}

void ServerWriter::stop() {
  queue_->stop();
}

const WriteStats& ServerWriter::stats() const {
  return queue_->stats();
}

WriteLoad ServerWriter::load(WriteClass write_class) const {
  return queue_->load(write_class);
}

}  // namespace plimsoll::informer
