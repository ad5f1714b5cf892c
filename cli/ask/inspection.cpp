#include "cli/ask/inspection.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <ranges>
#include <stop_token>
#include <thread>
#include <utility>

#include "cli/ask/cluster_use.hpp"
#include "cli/ask/explain_json.hpp"
#include "cli/ask/history.hpp"
#include "cli/ask/picture.hpp"
#include "cli/ask/what_if.hpp"
#include "framework/base/log.hpp"
#include "framework/base/quote.hpp"
#include "framework/cycle/inspect/explain.hpp"
#include "framework/cycle/inspect/snapshot.hpp"
#include "informer/watch/cluster_list.hpp"
#include "ui/page.hpp"

namespace plimsoll::cli {
namespace {

using serving::ready;
using serving::Reply;
using serving::Request;
using serving::Response;

constexpr size_t kMaxJobs = 4;  // comparisons in the queue
constexpr double kMaxSettleSeconds = 600;
constexpr std::chrono::minutes kBetweenSamples{1};

std::string new_era() {
  std::random_device random;
  std::string era;
  for (int i = 0; i < 3; ++i) era += std::to_string(random()) + (i < 2 ? "-" : ".");
  return era;
}

const std::string kPage = "/debug/ui/";

int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// Of texts that have them with commas between.
std::vector<std::string> names_in(const std::vector<std::string>& texts) {
  std::vector<std::string> names;
  for (const std::string& text : texts)
    for (const auto part : std::views::split(text, ','))
      names.emplace_back(part.begin(), part.end());
  return names;
}

Response ok(std::string result) {
  return {200, std::move(result), "application/json"};
}

Response refusal(const std::string& why, int status = 404) {
  return {status, why + "\n"};
}

// The number that a parameter gives, or `absent`; nothing: it is no number.
template <typename Number>
std::optional<Number> number_of(const Request& request, const char* name, Number absent) {
  for (const std::string& text : request.parameters(name)) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), absent);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  }
  return absent;
}

}  // namespace

struct Inspection::Impl {
  Impl(Scheduler& scheduler_, SymbolTable& symbols_, informer::ServerAccess access_,
       std::shared_ptr<informer::CredentialSource> credentials_)
      : scheduler(scheduler_),
        symbols(symbols_),
        access(std::move(access_)),
        credentials(std::move(credentials_)),
        worker([this](const std::stop_token& stop) { work(stop); }) {}

  // ---- long jobs, one after the other on a separate thread
  using Job = std::function<void(const std::stop_token&)>;

  bool submit(Job job) {
    const std::lock_guard lock(mutex);
    if (jobs.size() >= kMaxJobs) return false;
    jobs.push_back(std::move(job));
    wake.notify_one();
    return true;
  }

  void work(const std::stop_token& stop) {
    auto next_sample = std::chrono::steady_clock::now() + kBetweenSamples;
    while (!stop.stop_requested()) {
      Job job = [this](const std::stop_token& ends) { take_sample(ends); };
      {
        std::unique_lock lock(mutex);
        if (wake.wait_until(lock, stop, next_sample, [this] { return !jobs.empty(); })) {
          job = std::move(jobs.front());
          jobs.pop_front();
        } else {
          next_sample = std::chrono::steady_clock::now() + kBetweenSamples;
        }
      }
      if (stop.stop_requested()) return;
      try {
        job(stop);
      } catch (const std::exception& error) {
        log_error("an inspection ended with an exception", {{"error", error.what()}});
      }
    }
  }

  // Waits for the loop. Called on the worker only.
  Result<StateSnapshot> snapshot(const std::stop_token& stop, StateChoice choice = {}) {
    auto promise = std::make_shared<std::promise<StateSnapshot>>();
    auto future = promise->get_future();
    scheduler.post(Task{[&loop = scheduler, promise, choice = std::move(choice)] {
      promise->set_value(loop.snapshot(choice));
    }});
    promise.reset();  // if the loop stops without an answer, the future fails
    try {
      while (future.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
        if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopping");
      }
      return future.get();
    } catch (const std::future_error&) {
      return fail(ErrorCode::kCancelled, "the scheduler is stopping");
    }
  }

  void take_sample(const std::stop_token& stop) {
    picture->forget(now_ms());
    const auto now = snapshot(stop, History::wanted());
    if (!now) return;
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    history.take(*now, std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count());
  }

  bool pause(const std::stop_token& stop, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait_for(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
  }

  struct Look {
    StateSnapshot snapshot;
    ApiListing listing;
  };

  Result<Look> look(informer::HttpClient& client, const std::stop_token& stop) {
    auto first = snapshot(stop);
    if (!first) return fail(first.error());
    if (!first->synced) {
      return fail(ErrorCode::kUnavailable, "the scheduler has not read the cluster completely yet");
    }
    std::vector<informer::ResourceType> kinds;
    for (const auto& [resource, kind] : first->kinds) {
      if (kind.synced) kinds.push_back({kind.group, kind.version, kind.plural});
    }
    auto listing = informer::list_cluster(client, symbols, kinds, stop);
    if (!listing) return fail(listing.error());
    auto known = snapshot(stop);
    if (!known) return fail(known.error());
    return Look{std::move(*known), std::move(*listing)};
  }

  Result<CompareResult> compare(std::chrono::milliseconds settle, const std::stop_token& stop) {
    informer::HttpClientOptions options;
    options.thread_name = "plimsoll-debug";
    const auto client = informer::HttpClient::create(access, credentials, options);
    if (!client) return fail(client.error());
    auto now = look(**client, stop);
    if (!now) return fail(now.error());
    CompareResult result{compare_state(now->snapshot, now->listing), std::move(now->listing)};
    if (result.differences.empty()) return result;
    // Differences are usually transient. Only those count that remain later and did not change here
    // meanwhile.
    if (!pause(stop, settle)) return fail(ErrorCode::kCancelled, "the scheduler is stopping");
    now = look(**client, stop);
    if (!now) return fail(now.error());
    result.differences = persisting(result.differences, compare_state(now->snapshot, now->listing));
    result.listing = std::move(now->listing);
    return result;
  }

  // ---- questions

  void explain(const Request& asked, Reply reply) {
    constexpr size_t kAll = std::numeric_limits<size_t>::max();
    const auto nodes = number_of(asked, "nodes", kAll);
    const auto texts = number_of(asked, "texts", kAll);
    if (!nodes || !texts)
      return reply(ready(refusal("nodes and texts must be whole numbers", 400)));
    if (asked.method == "POST") {
      const auto pod = pod_of_manifest(asked.body, symbols);
      if (!pod) return reply(ready(refusal(pod.error().message, 400)));
      return explain(
          {std::string(view((**pod).meta.ns)), std::string(view((**pod).meta.name)), *texts, *pod},
          *nodes, std::move(reply));
    }
    const std::vector<std::string> pods = asked.parameters("pod");
    if (pods.size() != 1) return reply(ready(refusal("which pod? ?pod=NAMESPACE/NAME", 400)));
    const std::string& pod = pods.front();
    const size_t slash = pod.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == pod.size()) {
      return reply(
          ready(refusal("\"" + pod + "\" does not name a pod: NAMESPACE/NAME is wanted", 400)));
    }
    explain({pod.substr(0, slash), pod.substr(slash + 1), *texts}, *nodes, std::move(reply));
  }

  void explain(ExplainRequest request, size_t nodes, Reply reply) {
    scheduler.post(
        Task{[&loop = scheduler, request = std::move(request), nodes, reply = std::move(reply)] {
          auto result = std::make_shared<const Explanation>(loop.explain(request));
          reply([result = std::move(result), nodes] {
            const std::string problem = explanation_problem(*result);
            return problem.empty() ? ok(explanation_json(*result, nodes)) : refusal(problem);
          });
        }});
  }

  // The state, as `text` writes it.
  void state(StateChoice choice, std::function<std::string(const StateSnapshot&)> text,
             Reply reply) {
    scheduler.post(Task{[&loop = scheduler, choice = std::move(choice), text = std::move(text),
                         reply = std::move(reply)] {
      auto result = std::make_shared<const StateSnapshot>(loop.snapshot(choice));
      reply([result = std::move(result), text] { return ok(text(*result)); });
    }});
  }

  void use(const Request& asked, Reply reply) {
    if (asked.has("history")) return reply(ready(ok(history.samples_json())));
    if (const auto since = asked.parameters("since"); !since.empty())
      return draw(since.front(), names_in(asked.parameters("first")), reply);
    const std::vector<std::string> nodes = asked.parameters("node");
    StateChoice wanted{.plugins = true, .strays = false, .queue = false, .kinds = false};
    if (!nodes.empty()) wanted.node = nodes.front();
    state(
        std::move(wanted),
        [pods = asked.has("pods")](const StateSnapshot& known) { return use_json(known, pods); },
        std::move(reply));
  }

  void draw(const std::string& since, const std::vector<std::string>& first, const Reply& reply) {
    const auto answer = [drawn = picture, since] { return ok(drawn->answer(since, now_ms())); };
    std::unique_lock lock(drawing);  // so that questions come to the loop in their order
    std::optional<StateChoice> choice = picture->question(now_ms(), first);
    if (!choice && picture->known()) {
      lock.unlock();
      return reply(answer);
    }
    // Without a choice somebody else has asked: the loop answers that before it gets here.
    scheduler.post(
        Task{[&loop = scheduler, drawn = picture, choice = std::move(choice), answer, reply] {
          if (choice) drawn->arrived(loop.snapshot(*choice), now_ms());
          reply(answer);
        }});
  }

  void compare(const Request& asked, const Reply& reply) {
    const auto seconds =
        number_of(asked, "settleSeconds", std::chrono::duration<double>(kSettleTime).count());
    if (!(seconds && *seconds >= 0 && *seconds <= kMaxSettleSeconds)) {
      return reply(ready(refusal("settleSeconds must be a number from 0 to 600", 400)));
    }
    const std::chrono::milliseconds settle(static_cast<int64_t>(*seconds * 1000));
    const bool accepted = submit([this, settle, reply](const std::stop_token& stop) {
      auto result = std::make_shared<const Result<CompareResult>>(compare(settle, stop));
      reply([result] {
        return *result ? ok(differences_json((**result).differences, (**result).listing))
                       : refusal(result->error().message);
      });
    });
    if (!accepted) reply(ready(refusal("other comparisons are under way; try again later", 429)));
  }

  // ---- the log. Kubernetes: CacheDumper and CacheComparer, which SIGUSR2 triggers.

  void log_state(const StateSnapshot& state) {
    std::map<std::string_view, std::string> pods;
    std::map<std::string_view, size_t> counts;
    for (const auto& placed : state.placed) {
      std::string& list = pods[view(placed.pod->node_name)];
      list += (list.empty() ? "" : " ") + full_name(*placed.pod) + (placed.assumed ? "*" : "");
      ++counts[view(placed.pod->node_name)];
    }
    for (const auto& node : state.nodes) {
      const std::string_view name = view(node.node->meta.name);
      log_info("dump of cached NodeInfo",
               {{"node", name},
                {"allocatable", amounts_text(state.resource_names, node.allocatable)},
                {"requested", amounts_text(state.resource_names, node.requested)},
                {"pod_count", counts[name]},
                {"pods", pods[name]}});
      pods.erase(name);
    }
    for (const auto& [name, list] : pods) {
      log_info(
          "dump of cached NodeInfo",
          {{"node", name}, {"node_is_gone", true}, {"pod_count", counts[name]}, {"pods", list}});
    }
    for (const auto& queued : state.queued) {
      const std::string plugins = sdk::join(queued.rejected_by, ",");
      log_info("dump of scheduling queue",
               {{"pod", full_name(*queued.pod)},
                {"place", queued.place},
                {"attempts", queued.attempts},
                {"rejected_by", plugins},
                {"nominated_node", view(queued.pod->nominated_node_name)}});
    }
  }

  void log_comparison(const std::stop_token& stop) {
    log_info("cache comparer started");
    const auto result = compare(kSettleTime, stop);
    if (!result) {
      log_error("cache comparer failed", {{"error", result.error().message}});
      return;
    }
    for (const StateDifference& difference : result->differences) {
      log_warn("cache mismatch", {{"kind", difference.kind},
                                  {"object", difference.object},
                                  {"uid", difference.uid},
                                  {"problem", to_string(difference.problem)},
                                  {"scheduler", difference.here},
                                  {"api", difference.api}});
    }
    log_info("cache comparer finished", {{"mismatches", result->differences.size()},
                                         {"nodes", result->listing.nodes.size()},
                                         {"pods", result->listing.pods.size()}});
  }

  Scheduler& scheduler;
  SymbolTable& symbols;
  const informer::ServerAccess access;
  const std::shared_ptr<informer::CredentialSource> credentials;
  std::mutex drawing;
  const std::shared_ptr<Picture> picture = std::make_shared<Picture>(new_era());
  std::atomic<bool> logging{false};
  History history;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::deque<Job> jobs;  // guarded by mutex
  std::jthread worker;   // last: started when all else exists
};

Inspection::Inspection(Scheduler& scheduler, SymbolTable& symbols, informer::ServerAccess access,
                       std::shared_ptr<informer::CredentialSource> credentials)
    : impl_(std::make_unique<Impl>(scheduler, symbols, std::move(access), std::move(credentials))) {
}

Inspection::~Inspection() {
  stop();
}

const std::vector<std::string>& Inspection::paths() {
  static const std::vector<std::string> kPaths = [] {
    std::vector<std::string> paths{"/debug/compare", "/debug/dump", "/debug/explain",
                                   "/debug/queue", "/debug/top"};
    for (const std::string& name : ui::names()) paths.push_back(kPage + name);
    return paths;
  }();
  return kPaths;
}

void Inspection::answer(const Request& request, Reply reply) {
  const bool explains = request.path == "/debug/explain";
  if (request.method != "GET" && !(explains && request.method == "POST"))
    return reply(ready(refusal(explains ? "GET, or POST with a pod" : "only GET", 405)));
  if (explains) return impl_->explain(request, std::move(reply));
  if (request.path == "/debug/dump")
    return impl_->state({.plugins = true}, &snapshot_json, std::move(reply));
  if (request.path == "/debug/queue")
    return impl_->state({.nodes = false, .kinds = false}, &queue_json, std::move(reply));
  if (request.path == "/debug/top") return impl_->use(request, std::move(reply));
  if (request.path == "/debug/compare") return impl_->compare(request, reply);
  if (request.path.starts_with(kPage))
    return reply(ready(ui::file(std::string_view(request.path).substr(kPage.size()))));
  reply(ready(refusal("there is no question " + request.path)));
}

void Inspection::write_to_log() {
  if (impl_->logging.exchange(true)) return;
  const bool accepted = impl_->submit([impl = impl_.get()](const std::stop_token& stop) {
    if (const auto state = impl->snapshot(stop)) impl->log_state(*state);
    impl->log_comparison(stop);
    impl->logging = false;
  });
  if (!accepted) impl_->logging = false;
}

void Inspection::stop() {
  impl_->worker.request_stop();
  if (impl_->worker.joinable()) impl_->worker.join();
}

}  // namespace plimsoll::cli
