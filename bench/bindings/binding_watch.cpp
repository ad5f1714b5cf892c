#include "bench/bindings/binding_watch.hpp"

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

#include "bench/bindings/fleet.hpp"
#include "informer/http/credentials.hpp"
#include "informer/http/http_client.hpp"
#include "informer/wire/protobuf_wire.hpp"

namespace plimsoll::bench {

struct BindingWatch::Impl {
  std::unique_ptr<informer::HttpClient> client;
  informer::ProtobufFrameCutter cutter;  // the client's thread only
  std::string version;                   // the last one seen; the client's thread only
  mutable std::mutex mutex;              // guards the members after it
  std::condition_variable changed;
  std::unordered_map<std::string, Clock::time_point> bound;
  std::string failure;

  void open() {
    cutter.reset();
    informer::HttpRequest request;
    request.path =
        "/api/v1/namespaces/default/pods?watch=1&timeoutSeconds=7200"
        "&fieldSelector=spec.nodeName!%3D&resourceVersion=" +
        version;
    request.accept = "application/vnd.kubernetes.protobuf;stream=watch";
    request.timeout = std::chrono::milliseconds(0);
    informer::HttpHandlers handlers;
    handlers.on_data = [this](std::string_view chunk) { on_chunk(chunk); };
    handlers.on_done = [this](const Result<informer::HttpResponse>& answer) { on_end(answer); };
    client->submit(std::move(request), std::move(handlers));
  }

  void on_chunk(std::string_view chunk) {
    const Clock::time_point now = Clock::now();
    const std::lock_guard lock(mutex);
    const auto fed = cutter.feed(chunk, [&](std::string_view frame) {
      const auto event = informer::read_protobuf_event(frame);
      if (!event) {
        failure = event.error().message;
      } else if (event->type == informer::WatchEventType::kError) {
        failure = event->error.message;
      } else if (!event->key.name.empty()) {
        bound.try_emplace(std::string(event->key.name), now);
        version = event->key.resource_version;
      }
    });
    if (!fed) failure = fed.error().message;
    changed.notify_all();
  }

  // A busy API server ends a watch that it cannot serve fast enough. The watch then resumes from
  // the last version.
  void on_end(const Result<informer::HttpResponse>& answer) {
    {
      const std::lock_guard lock(mutex);
      if (!answer) {
        failure = answer.error().message;
      } else if (!answer->ok()) {
        failure = "watching pods: " + answer->body;
      }
      changed.notify_all();
      if (!failure.empty()) return;
    }
    open();
  }
};

BindingWatch::BindingWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

BindingWatch::~BindingWatch() {
  impl_->client->stop();  // its callbacks use the other members
}

Result<std::unique_ptr<BindingWatch>> BindingWatch::start(test::KubeCluster& cluster) {
  test::KubeClient reader(cluster.admin());
  const auto version = reader.get("/api/v1/namespaces/default/pods?limit=1").json();
  if (version.is_discarded() || !version.contains("metadata")) {
    return fail(ErrorCode::kUnavailable, "the API server did not list pods");
  }
  const auto access = server_access(cluster);
  if (!access) return fail(access.error());
  auto client =
      informer::HttpClient::create(*access, std::make_shared<informer::CredentialSource>(*access));
  if (!client) return fail(client.error());
  auto impl = std::make_unique<Impl>();
  impl->client = std::move(*client);
  impl->version = version["metadata"].value("resourceVersion", "");
  impl->open();
  return std::unique_ptr<BindingWatch>(new BindingWatch(std::move(impl)));
}

bool BindingWatch::wait(std::size_t bound, std::chrono::milliseconds patience) {
  std::unique_lock lock(impl_->mutex);
  while (impl_->bound.size() < bound && impl_->failure.empty()) {
    const std::size_t before = impl_->bound.size();
    const bool moved = impl_->changed.wait_for(
        lock, patience, [&] { return impl_->bound.size() > before || !impl_->failure.empty(); });
    if (!moved) return false;
  }
  return impl_->bound.size() >= bound;
}

std::unordered_map<std::string, BindingWatch::Clock::time_point> BindingWatch::bound() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->bound;
}

std::string BindingWatch::failure() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->failure;
}

}  // namespace plimsoll::bench
