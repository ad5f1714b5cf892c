#include "bench/bindings/binding_loop.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "informer/http/credentials.hpp"
#include "informer/write/api_writer.hpp"

namespace plimsoll::bench {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::unique_ptr<informer::HttpClient>> make_client(
    const informer::ServerAccess& access, const std::shared_ptr<informer::CredentialSource>& proof,
    informer::HttpClientOptions options, const char* thread_name) {
  options.thread_name = thread_name;
  return informer::HttpClient::create(access, proof, options);
}

double since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

// The event after a binding, with kube-scheduler's text.
EventRecord scheduled_event(const PodName& pod, const std::string& node) {
  EventRecord event;
  event.ns = "default";
  event.name = pod.name;
  event.uid = pod.uid;
  event.resource_version = pod.resource_version;
  event.scheduler_name = kSchedulerName;
  event.reason = "Scheduled";
  event.action = "Binding";
  event.note = "Successfully assigned default/" + pod.name + " to " + node;
  return event;
}

// Sends the requests one after the other, then runs `then`; false: one was refused.
void send_all(informer::ServerWriter& writer,
              const std::shared_ptr<std::vector<ApiRequest>>& requests, std::size_t at,
              std::function<void(bool)> then) {
  if (at == requests->size()) return then(true);
  writer.request((*requests)[at],
                 [&writer, requests, at, then = std::move(then)](int status, std::string_view) {
                   if (status < 200 || status > 299) return then(false);
                   send_all(writer, requests, at + 1, then);
                 });
}

}  // namespace

Result<LoopResult> write_bindings(test::KubeCluster& cluster, const std::vector<PodName>& pods,
                                  int nodes, const LoopOptions& options) {
  const auto access = server_access(cluster);
  if (!access) return fail(access.error());
  const auto proof = std::make_shared<informer::CredentialSource>(*access);
  auto binds = make_client(*access, proof, options.binds_client, "plimsoll-bind");
  if (!binds) return fail(binds.error());
  auto others = make_client(*access, proof, options.others_client, "plimsoll-write");
  if (!others) return fail(others.error());
  informer::ServerWriter writer(**binds, **others, options.writes);

  std::mutex mutex;
  std::condition_variable ended;
  std::size_t answered = 0;
  LoopResult result;
  const auto began = Clock::now();
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const PodName& pod = pods[i];
    std::string node = node_name(static_cast<int>(i % static_cast<std::size_t>(nodes)));
    const auto end = [&](bool bound) {
      const std::lock_guard lock(mutex);
      if (!bound) ++result.bind_failures;
      if (++answered == pods.size()) ended.notify_all();
    };
    const auto bind = [&, end, node](bool ready) {
      if (!ready) return end(false);
      writer.bind({"default", pod.name, pod.uid, node, options.annotations},
                  [&, end, node](const Result<void>& bound) {
                    if (bound && options.events) writer.record_event(scheduled_event(pod, node));
                    end(bound.has_value());
                  });
    };
    if (!options.before) {
      bind(true);
      continue;
    }
    send_all(writer, std::make_shared<std::vector<ApiRequest>>(options.before(i, pod, node)), 0,
             bind);
  }
  {
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return answered == pods.size(); });
    result.seconds = since(began);
  }
  if (!writer.drain(std::chrono::minutes(5))) {
    return fail(ErrorCode::kUnavailable, "events are still waiting after five minutes");
  }
  result.all_seconds = since(began);
  const informer::WriteStats& stats = writer.stats();
  result.event_failures = static_cast<long>(
      stats.failed[static_cast<std::size_t>(informer::WriteClass::kEvent)] + stats.events_dropped);
  // Stopped first: the callbacks use the other objects.
  writer.stop();
  (*binds)->stop();
  (*others)->stop();
  return result;
}

}  // namespace plimsoll::bench
