#include "cli/inspection.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>
#include <utility>

#include "cli/cluster_use.hpp"
#include "cli/explain_json.hpp"
#include "framework/base/log.hpp"
#include "framework/base/quote.hpp"
#include "framework/cycle/explain.hpp"
#include "framework/cycle/snapshot.hpp"
#include "informer/watch/cluster_list.hpp"
#include "serving/endpoints.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

constexpr size_t kMaxJobs = 4;  // comparisons in the queue
constexpr double kMaxSettleSeconds = 600;

std::string ok(const std::string& result) {
  return R"({"ok":true,"result":)" + result + "}";
}

std::string refusal(const std::string& error) {
  return json{{"ok", false}, {"error", error}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string log_level(const json& question) {
  const auto level = question.find("level");
  serving::Request request;
  request.method = level == question.end() ? "GET" : "PUT";
  if (level != question.end() && level->is_string()) request.body = level->get<std::string>();
  const serving::Response said = serving::log_level_answer(request);
  const std::string words = without_last_newlines(said.body);
  return said.status == 200 ? ok(json(words).dump()) : refusal(words);
}

void refuse(const Inspection::Reply& reply, std::string error) {
  reply([error = std::move(error)] { return refusal(error); });
}

// A whole number in the question; absent: no limit.
size_t limit(const json& question, const char* key) {
  const auto found = question.find(key);
  if (found == question.end() || !found->is_number_unsigned()) {
    return std::numeric_limits<size_t>::max();
  }
  return found->get<size_t>();
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
    while (!stop.stop_requested()) {
      Job job;
      {
        std::unique_lock lock(mutex);
        if (!wake.wait(lock, stop, [this] { return !jobs.empty(); })) return;
        job = std::move(jobs.front());
        jobs.pop_front();
      }
      try {
        job(stop);
      } catch (const std::exception& error) {
        log_error("an inspection ended with an exception", {{"error", error.what()}});
      }
    }
  }

  // Waits for the loop. Called on the worker only.
  Result<StateSnapshot> snapshot(const std::stop_token& stop) {
    auto promise = std::make_shared<std::promise<StateSnapshot>>();
    auto future = promise->get_future();
    scheduler.post(Task{[&loop = scheduler, promise] { promise->set_value(loop.snapshot()); }});
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

  void explain(const json& question, Reply reply) {
    const std::string pod = question.value("pod", "");
    const size_t slash = pod.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == pod.size()) {
      return refuse(reply, "\"" + pod + "\" does not name a pod: NAMESPACE/NAME is wanted");
    }
    ExplainRequest request{pod.substr(0, slash), pod.substr(slash + 1), limit(question, "texts")};
    const size_t nodes = limit(question, "nodes");
    scheduler.post(
        Task{[&loop = scheduler, request = std::move(request), nodes, reply = std::move(reply)] {
          auto result = std::make_shared<const Explanation>(loop.explain(request));
          reply([result = std::move(result), nodes] {
            const std::string problem = explanation_problem(*result);
            return problem.empty() ? ok(explanation_json(*result, nodes)) : refusal(problem);
          });
        }});
  }

  // The state, as `text` writes it; `plugins`: with what plugins keep themselves.
  void state(bool plugins, std::string (*text)(const StateSnapshot&), Reply reply) {
    scheduler.post(Task{[&loop = scheduler, plugins, text, reply = std::move(reply)] {
      auto result = std::make_shared<const StateSnapshot>(loop.snapshot(plugins));
      reply([result = std::move(result), text] { return ok(text(*result)); });
    }});
  }

  void compare(const json& question, const Reply& reply) {
    double seconds = std::chrono::duration<double>(kSettleTime).count();
    if (const auto given = question.find("settleSeconds"); given != question.end()) {
      seconds = given->is_number() ? given->get<double>() : -1;
    }
    if (!(seconds >= 0 && seconds <= kMaxSettleSeconds)) {
      return refuse(reply, "settleSeconds must be a number from 0 to 600");
    }
    const std::chrono::milliseconds settle(static_cast<int64_t>(seconds * 1000));
    const bool accepted = submit([this, settle, reply](const std::stop_token& stop) {
      auto result = std::make_shared<const Result<CompareResult>>(compare(settle, stop));
      reply([result] {
        return *result ? ok(differences_json((**result).differences, (**result).listing))
                       : refusal(result->error().message);
      });
    });
    if (!accepted) refuse(reply, "other comparisons are under way; try again later");
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
  std::atomic<bool> logging{false};
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

void Inspection::ask(std::string_view question, Reply reply) {
  const json parsed = json::parse(question, nullptr, false);
  if (!parsed.is_object()) return refuse(reply, "the question is not a JSON object");
  const auto found = parsed.find("command");
  const std::string command =
      found != parsed.end() && found->is_string() ? found->get<std::string>() : "";
  if (command == "explain") {
    const auto pod = parsed.find("pod");
    if (pod == parsed.end() || !pod->is_string()) return refuse(reply, "\"pod\" is missing");
    return impl_->explain(parsed, std::move(reply));
  }
  if (command == "dump") return impl_->state(true, &snapshot_json, std::move(reply));
  if (command == "queue") return impl_->state(false, &queue_json, std::move(reply));
  if (command == "top") return impl_->state(true, &use_json, std::move(reply));
  if (command == "compare") return impl_->compare(parsed, reply);
  if (command == "log-level") return reply([parsed] { return log_level(parsed); });
  refuse(reply, "there is no command \"" + command +
                    "\"; there are explain, queue, top, dump, compare and log-level");
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
