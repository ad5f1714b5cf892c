#include "informer/lease/lease.hpp"

#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "framework/base/json_field.hpp"

namespace plimsoll::informer {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// The client ends a request in time by itself, unless its thread is delayed.
constexpr milliseconds kSlack{250};

std::int64_t number_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

void put(const LeaseRecord& record, json& lease) {
  json& spec = lease["spec"];
  if (!spec.is_object()) spec = json::object();
  spec["holderIdentity"] = record.holder;
  spec["leaseDurationSeconds"] = record.duration_seconds;
  spec["acquireTime"] = record.acquire_time;
  spec["renewTime"] = record.renew_time;
  spec["leaseTransitions"] = record.transitions;
}

LeaseRecord record_in(const json& lease) {
  const auto spec = lease.find("spec");
  if (spec == lease.end() || !spec->is_object()) return {};
  return {text_at(*spec, "holderIdentity"), number_at(*spec, "leaseDurationSeconds"),
          text_at(*spec, "acquireTime"), text_at(*spec, "renewTime"),
          number_at(*spec, "leaseTransitions")};
}

}  // namespace

struct ApiServerLease::Impl {
  HttpClient& client;
  std::string ns;
  std::string name;
  json last = {};  // the object as last seen on the server; null: not known
  std::mutex mutex = {};
  std::string uid = {};  // its own; guarded by mutex

  [[nodiscard]] std::string collection() const {
    return "/apis/coordination.k8s.io/v1/namespaces/" + url_encode(ns) + "/leases";
  }
  [[nodiscard]] std::string path() const { return collection() + "/" + url_encode(name); }

  // Sends, waits, and keeps the returned object. An answer after the timeout is ignored: the leader
  // has its own deadline, even if the client is delayed.
  Result<void> exchange(const char* verb, const char* method, std::string path, std::string body,
                        milliseconds timeout) {
    const std::string what = std::string(verb) + " lease " + ns + "/" + name;
    const milliseconds patience = timeout + kSlack;
    HttpRequest request;
    request.method = method;
    request.path = std::move(path);
    request.body = std::move(body);
    request.timeout = timeout;
    const auto promise = std::make_shared<std::promise<Result<HttpResponse>>>();
    HttpHandlers handlers;
    handlers.on_done = [promise](Result<HttpResponse> result) {
      promise->set_value(std::move(result));
    };
    auto answered = promise->get_future();
    const auto id = client.submit(std::move(request), std::move(handlers));
    if (answered.wait_for(patience) != std::future_status::ready) {
      client.cancel(id);
      return fail(ErrorCode::kUnavailable, what + ": no answer in " +
                                               std::to_string(patience.count()) +
                                               " ms, nor did the request end");
    }
    const Result<HttpResponse> result = answered.get();
    if (!result) return fail(result.error().within(what));
    if (!result->ok()) return fail(response_error(what, *result));
    json answer = json::parse(result->body, nullptr, false);
    if (!answer.is_object() || !answer.contains("metadata")) {
      return fail(ErrorCode::kUnavailable, what + ": the API server's answer is no lease");
    }
    last = std::move(answer);
    const std::lock_guard lock(mutex);
    uid = text_at(last["metadata"], "uid");
    return {};
  }
};

ApiServerLease::ApiServerLease(HttpClient& client, std::string ns, std::string name)
    : impl_(new Impl{client, std::move(ns), std::move(name)}) {}

ApiServerLease::~ApiServerLease() = default;

std::string ApiServerLease::uid() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->uid;
}

Result<LeaseRecord> ApiServerLease::get(milliseconds timeout) {
  const auto done = impl_->exchange("reading", "GET", impl_->path(), {}, timeout);
  if (!done) return fail(done.error());
  return record_in(impl_->last);
}

Result<void> ApiServerLease::create(const LeaseRecord& record, milliseconds timeout) {
  json lease = {{"apiVersion", "coordination.k8s.io/v1"},
                {"kind", "Lease"},
                {"metadata", {{"namespace", impl_->ns}, {"name", impl_->name}}}};
  put(record, lease);
  return impl_->exchange("creating", "POST", impl_->collection(), lease.dump(), timeout);
}

Result<void> ApiServerLease::update(const LeaseRecord& record, milliseconds timeout) {
  if (impl_->last.is_null()) {
    return fail(ErrorCode::kInternal, "a lease is replaced that was never read");
  }
  json lease = impl_->last;
  put(record, lease);
  return impl_->exchange("renewing", "PUT", impl_->path(), lease.dump(), timeout);
}

}  // namespace plimsoll::informer
