#include "informer/api_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/base/log.hpp"
#include "informer/http_transfer.hpp"

namespace plimsoll::informer {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

std::string pod_path(const std::string& ns, const std::string& name) {
  return "/api/v1/namespaces/" + url_encode(ns) + "/pods/" + url_encode(name);
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string("localhost");
}

std::string text_at(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& child(const json& object, const char* key) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found != object.end() ? *found : kNothing;
}

// One write from being asked for to its answer.
struct Job {
  HttpRequest request;
  std::string what;   // "binding pod a/b"
  std::string merge;  // jobs with the same key replace one another while they wait; empty: never
  ServerWriter::Answer done;
  // If set: only an answer that this accepts ends the job, however long it takes to get one.
  bool (*definite)(const HttpResponse&) = nullptr;
  bool aged = false;       // a further try of an older write: yields to what waits with its key
  bool dropped = false;    // not to be sent any more, though it is still in the queue
  bool uncertain = false;  // a try ended without such an answer: it may have been carried out
  int tries = 0;
  int throttled = 0;
  milliseconds delay{0};
};
using JobRef = std::shared_ptr<Job>;

// One condition patch from being asked for to its end, over as many tries as it takes.
struct ConditionWrite {
  ConditionPatch patch;
  ApiWriter::Done done;
  std::string what;
  std::string key;  // what it replaces, and is replaced by
  std::uint64_t serial = 0;
  int conflicts = 0;
};
using ConditionRef = std::shared_ptr<ConditionWrite>;

// A pod that changes faster than its condition can be written: so many times, then never mind.
constexpr int kMaxConflicts = 5;

// Only equals replace one another: a patch that leaves the nomination alone must not swallow one
// that changes it.
std::string condition_key(const std::string& uid, bool set_nominated) {
  return uid + (set_nominated ? "+" : "-");
}

// Whether a write was carried out or turned down, as opposed to who knows.
bool answers_write(const HttpResponse& response) {
  return response.ok() || (response.status >= 400 && response.status < 500 &&
                           response.status != 408 && response.status != 429);
}

// Whether a GET says how the pod is: this one, or that there is none.
bool answers_pod(const HttpResponse& response) {
  if (response.status == 404) return true;
  if (!response.ok()) return false;
  return !text_at(child(json::parse(response.body, nullptr, false), "metadata"), "uid").empty();
}

}  // namespace

// One class of writes: its queue and what is under way.
struct ServerWriter::Lane {
  WriteClass write_class = WriteClass::kOther;
  HttpClient* client = nullptr;
  std::size_t limit = 1;
  std::size_t under_way = 0;  // sent, or waiting to be sent again
  std::deque<JobRef> queue;
  std::unordered_map<std::string, JobRef> mergeable;  // those in the queue
  std::unordered_set<JobRef> retrying;                // those that wait to be sent again
};

struct ServerWriter::Shared : std::enable_shared_from_this<ServerWriter::Shared> {
  WriteOptions options;
  WriteStats stats;
  std::mutex mutex;  // guards what follows and all that is inside of it
  std::array<Lane, kWriteClasses> lanes;
  std::condition_variable changed;  // a lane may have become empty, or the writer is stopped
  bool stopped = false;
  // The condition patches that have not ended: the newest of each key, and how many there are.
  struct Newest {
    std::uint64_t serial = 0;
    std::size_t open = 0;
  };
  std::unordered_map<std::string, Newest> conditions;
  std::uint64_t last_serial = 0;
  std::minstd_rand random{std::random_device{}()};

  Lane& lane(WriteClass write_class) { return lanes[static_cast<std::size_t>(write_class)]; }

  void add(WriteClass write_class, JobRef job) {
    Lane& into = lane(write_class);
    JobRef replaced;
    bool dropped = false;
    bool refused = false;
    {
      const std::lock_guard lock(mutex);
      refused = stopped;
      if (!stopped && write_class == WriteClass::kEvent &&
          into.queue.size() >= options.event_queue) {
        dropped = true;
      } else if (!stopped) {
        replaced = enqueue(into, job);
      }
    }
    if (refused) {
      if (job->done) job->done(fail(ErrorCode::kCancelled, job->what + ": the writer is stopped"));
    } else if (dropped) {
      stats.events_dropped.fetch_add(1, std::memory_order_relaxed);
      if (job->done) job->done(fail(ErrorCode::kThrottled, job->what + ": the queue is full"));
    } else {
      if (replaced != nullptr && replaced->done) replaced->done(HttpResponse{200, {}, {}, {}});
      pump(write_class);
    }
  }

  // Returns the job that need not be carried out any more, if any: `job` itself, which then holds
  // what was waiting in the place that it took (or is older than that). Called with `mutex` held.
  static JobRef enqueue(Lane& into, const JobRef& job) {
    if (!job->merge.empty()) {
      const auto [at, fresh] = into.mergeable.try_emplace(job->merge, job);
      if (!fresh) {
        if (!job->aged) std::swap(*at->second, *job);
        return job;
      }
    }
    into.queue.push_back(job);
    return nullptr;
  }

  // Sends what may be sent.
  void pump(WriteClass write_class) {
    Lane& from = lane(write_class);
    while (true) {
      JobRef job;
      {
        const std::lock_guard lock(mutex);
        if (stopped || from.queue.empty() || from.under_way >= from.limit) return;
        job = std::move(from.queue.front());
        from.queue.pop_front();
        if (job->dropped) continue;
        if (!job->merge.empty()) from.mergeable.erase(job->merge);
        ++from.under_way;
      }
      if (allowed_time() == milliseconds::zero()) {
        end(write_class, *job, not_leading());
      } else {
        transmit(write_class, job);
      }
    }
  }

  // How long a try may last from here on; zero: nothing may be sent.
  [[nodiscard]] milliseconds allowed_time() const {
    if (options.fence == nullptr) return milliseconds::max();
    return std::chrono::duration_cast<milliseconds>(options.fence->allowance());
  }

  static tl::unexpected<Error> not_leading() {
    return fail(ErrorCode::kCancelled, "this replica does not lead");
  }

  void transmit(WriteClass write_class, const JobRef& job) {
    const milliseconds allowed = allowed_time();
    if (allowed == milliseconds::zero()) return finish(write_class, *job, not_leading());
    ++job->tries;
    HttpRequest request = job->request;
    request.timeout = std::min(request.timeout, allowed);
    HttpHandlers handlers;
    handlers.on_done = [self = shared_from_this(), write_class, job](Result<HttpResponse> result) {
      self->answered(write_class, job, std::move(result));
    };
    lane(write_class).client->submit(std::move(request), std::move(handlers));
  }

  void answered(WriteClass write_class, const JobRef& job, Result<HttpResponse> result) {
    const auto delay = retry_delay(*job, result);
    if (delay && repeat_after(*delay, write_class, job)) return;
    finish(write_class, *job, std::move(result));
  }

  // Sends the job once more after a while; false if the writer is stopped.
  bool repeat_after(milliseconds delay, WriteClass write_class, const JobRef& job) {
    Lane& from = lane(write_class);
    // What is tried for ever gives its place up while it waits, lest a few of them stop all others.
    const bool gives_way = job->definite != nullptr && job->tries + job->throttled >= options.tries;
    {
      const std::lock_guard lock(mutex);
      if (stopped) return false;
      from.retrying.insert(job);
      if (gives_way) --from.under_way;
    }
    stats.retried[static_cast<std::size_t>(write_class)].fetch_add(1, std::memory_order_relaxed);
    from.client->after(delay, [self = shared_from_this(), write_class, job, gives_way] {
      Lane& to = self->lane(write_class);
      {
        const std::lock_guard lock(self->mutex);
        if (to.retrying.erase(job) == 0) return;  // given up by stop()
        if (gives_way) to.queue.push_back(job);
      }
      if (gives_way) {
        self->pump(write_class);
      } else {
        self->transmit(write_class, job);
      }
    });
    if (gives_way) pump(write_class);
    return true;
  }

  // Counts what the answer says about the job.
  bool worth_repeating(Job& job, const Result<HttpResponse>& result) const {
    if (!result && result.error().code == ErrorCode::kCancelled) return false;
    if (result && result->status == 429) {
      --job.tries;
      return ++job.throttled < options.throttled_tries || job.definite != nullptr;
    }
    if (job.definite != nullptr) {
      if (result && job.definite(*result)) return false;
      job.uncertain = true;
      return true;
    }
    const int status = result ? result->status : 0;
    const bool trouble = result ? status == 500 || status == 502 || status == 503 || status == 504
                                : result.error().code == ErrorCode::kUnavailable;
    return trouble && job.tries < options.tries;
  }

  // How long to wait before the next try; nothing if this answer is final.
  std::optional<milliseconds> retry_delay(Job& job, const Result<HttpResponse>& result) {
    if (!worth_repeating(job, result)) return {};
    if (job.definite != nullptr && job.tries + job.throttled == options.tries) {
      // One line a bind; conditions come by the thousand when the server is away.
      const LogLevel level = job.merge.empty() ? LogLevel::kWarn : LogLevel::kDebug;
      if (log_enabled(level))
        log_write(level, "no definite answer yet; trying on until there is one",
                  {{"write", job.what},
                   {"error", result ? "the API server answered " + std::to_string(result->status)
                                    : result.error().message}});
    }
    const auto asked = result ? retry_after(*result) : std::nullopt;
    job.delay =
        job.delay.count() == 0 ? options.first_delay : std::min(job.delay * 2, options.max_delay);
    milliseconds jitter{0};
    {
      const std::lock_guard lock(mutex);
      jitter = milliseconds(
          std::uniform_int_distribution<milliseconds::rep>(0, job.delay.count() / 2)(random));
    }
    return std::max(job.delay + jitter,
                    std::min(asked.value_or(milliseconds(0)), options.max_retry_after));
  }

  void finish(WriteClass write_class, Job& job, Result<HttpResponse> result) {
    end(write_class, job, std::move(result));
    pump(write_class);
  }

  // As finish(), for a caller that goes on with the queue by itself.
  void end(WriteClass write_class, Job& job, Result<HttpResponse> result) {
    const auto index = static_cast<std::size_t>(write_class);
    count(index, result && result->ok());
    if (!result) result = fail(result.error().within(job.what));
    // The place is given back afterwards, so that drain() sees no gap before what `done` asks for.
    guarded("the end of a write", [&] {
      if (job.done) job.done(std::move(result));
    });
    {
      const std::lock_guard lock(mutex);
      --lanes[index].under_way;
    }
    changed.notify_all();
  }

  // Called with `mutex` held.
  [[nodiscard]] bool is_empty(WriteClass write_class) {
    const Lane& each = lane(write_class);
    return each.queue.empty() && each.under_way == 0 && each.retrying.empty();
  }

  bool drain(milliseconds timeout) {
    std::unique_lock lock(mutex);
    const auto drained = [this] {
      return is_empty(WriteClass::kEvent) && is_empty(WriteClass::kStatus);
    };
    changed.wait_for(lock, timeout, [&] { return stopped || drained(); });
    return drained();
  }

  void count(std::size_t index, bool success) {
    (success ? stats.done : stats.failed)[index].fetch_add(1, std::memory_order_relaxed);
  }

  void stop() {
    std::vector<JobRef> given_up;
    {
      const std::lock_guard lock(mutex);
      if (stopped) return;
      stopped = true;
      for (Lane& each : lanes) {
        given_up.insert(given_up.end(), each.queue.begin(), each.queue.end());
        given_up.insert(given_up.end(), each.retrying.begin(), each.retrying.end());
        each.queue.clear();
        each.mergeable.clear();
        each.retrying.clear();
      }
    }
    changed.notify_all();
    for (const JobRef& job : given_up) {
      if (job->done) job->done(fail(ErrorCode::kCancelled, job->what + ": the writer was stopped"));
    }
  }

  // ---- conditions ----

  void begin_condition(const ConditionRef& write) {
    {
      const std::lock_guard lock(mutex);
      Newest& newest = conditions[write->key];
      newest.serial = write->serial = ++last_serial;
      ++newest.open;
    }
    send_condition(write);
  }

  void end_condition(ConditionWrite& write, Result<void> result) {
    {
      const std::lock_guard lock(mutex);
      const auto found = conditions.find(write.key);
      if (--found->second.open == 0) conditions.erase(found);
    }
    if (write.done) write.done(std::move(result));
  }

  bool is_newest(const ConditionWrite& write) {
    const std::lock_guard lock(mutex);
    return conditions.find(write.key)->second.serial == write.serial;
  }

  void send_condition(const ConditionRef& write) {
    auto job = std::make_shared<Job>();
    job->what = write->what;
    job->request.method = "PATCH";
    job->request.path = pod_path(write->patch.ns, write->patch.name) + "/status";
    job->request.content_type = "application/strategic-merge-patch+json";
    job->request.body = condition_body(write->patch, std::chrono::system_clock::now());
    job->request.timeout = options.timeout;
    job->merge = write->key;
    job->definite =
        answers_write;  // a server that is away for a minute must not cost a pod its reason
    job->aged = write->conflicts > 0;
    job->done = [this, write](const Result<HttpResponse>& result) {
      if (!result) return end_condition(*write, fail(result.error()));
      if (result->ok()) return end_condition(*write, {});
      Error error = response_error(write->what, *result);
      if (result->status != 409) return end_condition(*write, fail(std::move(error)));
      if (!is_newest(*write)) return end_condition(*write, {});
      if (++write->conflicts > kMaxConflicts) return end_condition(*write, fail(std::move(error)));
      renew_condition(write);
    };
    add(WriteClass::kStatus, std::move(job));
  }

  // The pod is not as it was when the patch was asked for. Does the patch still hold?
  void renew_condition(const ConditionRef& write) {
    auto job = std::make_shared<Job>();
    job->what = write->what;
    job->request.path = pod_path(write->patch.ns, write->patch.name);
    job->request.timeout = options.timeout;
    job->definite = answers_write;
    job->done = [this, write](const Result<HttpResponse>& result) {
      if (!result) return end_condition(*write, fail(result.error()));
      if (result->status == 404) return end_condition(*write, {});
      if (!result->ok()) return end_condition(*write, fail(response_error(write->what, *result)));
      const auto pod = json::parse(result->body, nullptr, false);
      const std::string uid = text_at(child(pod, "metadata"), "uid");
      write->patch.resource_version = text_at(child(pod, "metadata"), "resourceVersion");
      if (uid.empty() || write->patch.resource_version.empty()) {
        return end_condition(*write, fail(ErrorCode::kUnavailable,
                                          write->what + ": the API server's answer is no pod"));
      }
      const bool bound = !text_at(child(pod, "spec"), "nodeName").empty();
      if (uid != write->patch.uid || bound || !is_newest(*write)) return end_condition(*write, {});
      send_condition(write);
    };
    add(WriteClass::kStatus, std::move(job));
  }

  // The pod is about to be bound: what waits to say that it cannot be placed is dropped, and what
  // is under way is not tried again.
  void drop_conditions(const std::string& uid) {
    std::vector<Answer> dropped;
    {
      const std::lock_guard lock(mutex);
      for (const bool set_nominated : {false, true}) {
        const std::string key = condition_key(uid, set_nominated);
        if (const auto found = conditions.find(key); found != conditions.end()) {
          found->second.serial = ++last_serial;
        }
        auto waiting = lane(WriteClass::kStatus).mergeable.extract(key);
        if (waiting.empty()) continue;
        waiting.mapped()->dropped = true;
        dropped.push_back(std::exchange(waiting.mapped()->done, nullptr));
      }
    }
    for (const Answer& done : dropped) done(HttpResponse{200, {}, {}, {}});
  }

  // ---- binds ----

  // A bind was turned down. Whoever lost the answer to an earlier try has in fact succeeded: look
  // at the pod.
  void check_bind(const std::shared_ptr<const BindRequest>& bind, const std::string& what,
                  Error refusal, Done done) {
    auto job = std::make_shared<Job>();
    job->request.path = pod_path(bind->ns, bind->name);
    job->request.timeout = options.timeout;
    job->what = what;
    job->definite = answers_pod;
    job->done = [self = shared_from_this(), bind, refusal = std::move(refusal),
                 done = std::move(done)](const Result<HttpResponse>& result) {
      if (!result) return done(fail(result.error()));
      Error error = refusal;
      if (!result->ok()) {  // gone
        error.code = ErrorCode::kConflict;
        return done(fail(std::move(error)));
      }
      const auto pod = json::parse(result->body, nullptr, false);
      const json& metadata = child(pod, "metadata");
      const std::string node = text_at(child(pod, "spec"), "nodeName");
      const bool same_pod = text_at(metadata, "uid") == bind->uid;
      bool as_asked = same_pod && node == bind->node;
      for (const auto& [key, value] : bind->annotations) {
        as_asked = as_asked && text_at(child(metadata, "annotations"), key.c_str()) == value;
      }
      if (as_asked) {
        self->stats.binds_recovered.fetch_add(1, std::memory_order_relaxed);
        return done({});
      }
      if (!same_pod || !node.empty()) error.code = ErrorCode::kConflict;
      done(fail(std::move(error)));
    };
    add(WriteClass::kBind, std::move(job));
  }
};

ServerWriter::ServerWriter(HttpClient& binds, HttpClient& others, WriteOptions options)
    : shared_(std::make_shared<Shared>()) {
  shared_->options = std::move(options);
  for (std::size_t i = 0; i < kWriteClasses; ++i) {
    Lane& lane = shared_->lanes[i];
    lane.client = static_cast<WriteClass>(i) == WriteClass::kBind ? &binds : &others;
    lane.limit = std::max<std::size_t>(1, shared_->options.in_flight[i]);
  }
}

ServerWriter::~ServerWriter() {
  stop();
}

void ServerWriter::bind(BindRequest request, Done done) {
  shared_->drop_conditions(request.uid);
  auto job = std::make_shared<Job>();
  job->what = "binding pod " + request.ns + "/" + request.name + " to node " + request.node;
  job->request.method = "POST";
  job->request.path = pod_path(request.ns, request.name) + "/binding";
  job->request.body = binding_body(request);
  job->request.timeout = shared_->options.timeout;
  job->definite = answers_write;
  auto kept = std::make_shared<const BindRequest>(std::move(request));
  job->done = [shared = shared_.get(), own = job.get(), kept,
               done = std::move(done)](const Result<HttpResponse>& result) {
    if (!result) return done(fail(result.error()));
    if (result->ok()) return done({});
    Error error = response_error(own->what, *result);
    const bool may_be_bound = result->status == 409 || (own->uncertain && result->status != 404);
    if (!may_be_bound) return done(fail(std::move(error)));
    shared->check_bind(kept, own->what, std::move(error), done);
  };
  shared_->add(WriteClass::kBind, std::move(job));
}

void ServerWriter::record_event(EventRecord event) {
  std::string instance = shared_->options.reporting_instance;
  if (instance.empty()) {
    static const std::string host = host_name();
    instance = event.scheduler_name + "-" + host;
  }
  HttpRequest post;
  post.method = "POST";
  post.path = "/apis/events.k8s.io/v1/namespaces/" +
              url_encode(event.ns.empty() ? "default" : event.ns) + "/events";
  post.body = event_body(event, instance, std::chrono::system_clock::now());
  const std::string about = event.reason + " of pod " + event.ns + "/" + event.name;
  send(WriteClass::kEvent, std::move(post), [about](const Result<HttpResponse>& result) {
    if (!result && result.error().code != ErrorCode::kConflict &&
        result.error().code != ErrorCode::kCancelled) {
      log_debug("an event was not recorded", {{"event", about}, {"error", result.error().message}});
    }
  });
}

void ServerWriter::patch_condition(ConditionPatch patch, Done done) {
  auto write = std::make_shared<ConditionWrite>();
  write->what = (patch.reason.empty() ? "writing the nominated node of pod "
                                      : "writing the PodScheduled condition of pod ") +
                patch.ns + "/" + patch.name;
  write->key = condition_key(patch.uid, patch.set_nominated);
  write->patch = std::move(patch);
  write->done = std::move(done);
  shared_->begin_condition(write);
}

void ServerWriter::send(WriteClass write_class, HttpRequest request, Answer done) {
  auto job = std::make_shared<Job>();
  job->what = request.method + " " + request.path;
  job->request = std::move(request);
  job->done = [what = job->what, done = std::move(done)](Result<HttpResponse> result) {
    if (result && !result->ok()) return done(fail(response_error(what, *result)));
    done(std::move(result));
  };
  shared_->add(write_class, std::move(job));
}

void ServerWriter::request(ApiRequest request, Answered done) {
  auto job = std::make_shared<Job>();
  job->what = request.method + " " + request.path;
  job->request.method = std::move(request.method);
  job->request.path = std::move(request.path);
  job->request.body = std::move(request.body);
  if (!request.content_type.empty()) job->request.content_type = std::move(request.content_type);
  job->request.timeout = shared_->options.timeout;
  job->done = [done = std::move(done)](const Result<HttpResponse>& result) {
    if (!result) return done(0, result.error().message);
    done(result->status, result->body);
  };
  shared_->add(WriteClass::kOther, std::move(job));
}

void ServerWriter::delete_pod(std::string ns, std::string name, std::string uid, Done done) {
  HttpRequest request;
  request.method = "DELETE";
  request.path = pod_path(ns, name);
  request.body =
      json{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", {{"uid", uid}}}}
          .dump();
  request.timeout = shared_->options.timeout;
  send(WriteClass::kOther, std::move(request),
       [done = std::move(done)](const Result<HttpResponse>& result) {
         if (!result && result.error().code != ErrorCode::kNotFound) {
           return done(fail(result.error()));
         }
         done({});
       });
}

bool ServerWriter::drain(milliseconds timeout) {
  return shared_->drain(timeout);
}

bool ServerWriter::binds_ended() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->is_empty(WriteClass::kBind);
}

void ServerWriter::stop() {
  shared_->stop();
}

const WriteStats& ServerWriter::stats() const {
  return shared_->stats;
}

}  // namespace plimsoll::informer
