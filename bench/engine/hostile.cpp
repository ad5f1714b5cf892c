#include "bench/engine/hostile.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "bench/engine/world.hpp"
#include "bench/support/default_profile.hpp"
#include "bench/support/loop_thread.hpp"
#include "framework/api/decode/decode.hpp"
#include "framework/api/decode/pack.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/port/api_writer.hpp"

namespace plimsoll::bench {
namespace {

constexpr size_t kNodes = 100;
constexpr size_t kPods = 50;    // hostile ones of each size
constexpr size_t kPlain = 200;  // of another tenant

// ---- what is written, as JSON

using Each = std::function<std::string(size_t i)>;

std::string listed(size_t count, const Each& each) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out.append(i == 0 ? "" : ",").append(each(i));
  return out;
}

std::string key(size_t i) {
  return "example.com/key-" + std::to_string(i);
}

// Labels that all pods of the kind have, and one of the pod's own.
std::string labels(size_t count, size_t pod) {
  return R"("own":"pod-)" + std::to_string(pod) + "\"" +
         (count == 0 ? ""
                     : "," + listed(count, [](size_t i) { return '"' + key(i) + R"(":"x")"; }));
}

std::string requirement(const std::string& of, const char* op, const std::string& values = {}) {
  return R"({"key":")" + of + R"(","operator":")" + op + '"' +
         (values.empty() ? "" : R"(,"values":[)" + values + "]") + "}";
}

// One that no other pod has, so that no table is shared.
std::string own_requirement(size_t pod) {
  return requirement("own", "NotIn", "\"of-" + std::to_string(pod) + '"');
}

std::string selector(const std::string& requirements, size_t pod) {
  return R"("labelSelector":{"matchExpressions":[)" + own_requirement(pod) +
         (requirements.empty() ? "" : "," + requirements) + "]}";
}

std::string spread(const std::string& requirements, size_t pod) {
  return R"("topologySpreadConstraints":[{"maxSkew":1000,"topologyKey":)"
         R"("topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule",)" +
         selector(requirements, pod) + "}]";
}

std::string term(const std::string& selector, bool everywhere) {
  return R"({"topologyKey":"topology.kubernetes.io/zone",)" + selector +
         (everywhere ? R"(,"namespaceSelector":{}})" : "}");
}

std::string anti_affinity(const std::string& terms) {
  return R"("affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[)" +
         terms + "]}}";
}

std::string preferred(const std::string& term) {
  return R"({"weight":1,"podAffinityTerm":)" + term + "}";
}

struct Kind {
  const char* name;
  std::function<std::string(size_t size, size_t pod)> labels;
  std::function<std::string(size_t size, size_t pod)> spec;
  bool runs = false;  // it is on a node already: a stranger may have had it bound by somebody else
};

std::vector<Kind> kinds() {
  const auto all_labels = [](size_t size, size_t pod) { return labels(size, pod); };
  const auto own_label = [](size_t, size_t pod) { return labels(0, pod); };
  const auto nothing = [](size_t, size_t) { return std::string(R"("priority":0)"); };
  const auto requiring = [](const char* op, const char* value) {
    return [=](size_t size, size_t pod) {
      return spread(listed(size, [&](size_t i) { return requirement(key(i), op, value); }), pod);
    };
  };
  const auto many_values = [](size_t size, size_t pod) {
    const auto value = [](size_t i) { return "\"value-" + std::to_string(i) + '"'; };
    return spread(requirement(key(0), "NotIn", listed(size, value)), pod);
  };
  const auto terms = [](const char* op, bool everywhere) {
    return [=](size_t size, size_t pod) {
      return anti_affinity(listed(size, [&](size_t i) {
        const std::string of = requirement("tenant-key-" + std::to_string(i), op,
                                           std::string(op) == "NotIn" ? "\"y\"" : "");
        return preferred(term(selector(of, pod), everywhere));
      }));
    };
  };
  const auto everywhere = [](size_t size, size_t pod) {
    return anti_affinity(preferred(term(
        selector(listed(size, [](size_t i) { return requirement(key(i), "NotIn", "\"y\""); }), pod),
        true)));
  };
  // Beside the label sets of all rows before it: from some number of requirements on it is refused.
  const auto everywhere_often = [](size_t size, size_t pod) {
    const std::string all =
        listed(size / 64, [](size_t i) { return requirement(key(i), "DoesNotExist"); });
    return anti_affinity(
        listed(64, [&](size_t) { return preferred(term(selector(all, pod), true)); }));
  };
  return {
      {"labels", all_labels, nothing},
      {"NotIn", own_label, requiring("NotIn", "\"y\"")},
      {"DoesNotExist", own_label, requiring("DoesNotExist", "")},
      {"values", all_labels, many_values},
      {"labels x NotIn", all_labels, requiring("NotIn", "\"y\"")},
      {"labels x In", all_labels, requiring("In", "\"x\"")},
      {"labels x Exists", all_labels, requiring("Exists", "")},
      {"labels x NotIn, everywhere", all_labels, everywhere},
      {"64 terms x label sets", own_label, everywhere_often},
      {"running: terms, own namespace", own_label, terms("NotIn", false), true},
      {"running: terms that want a key", own_label, terms("Exists", true), true},
      {"running: terms about everybody", own_label, terms("NotIn", true), true},
  };
}

// ---- the run

// Everything succeeds at once, and the watch shows it.
class Binds final : public ApiWriter {
 public:
  explicit Binds(std::function<void(const BindRequest&)> shown) : shown_(std::move(shown)) {}
  void bind(BindRequest request, Done done) override {
    done({});
    shown_(request);
    ++answered;
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch, Done done) override {
    ++answered;
    done({});
  }
  void request(ApiRequest, Answered done) override { done(500, "{}"); }
  std::atomic<size_t> answered{0};

 private:
  std::function<void(const BindRequest&)> shown_;
};

[[noreturn]] void fail_with(const std::string& why) {
  std::fprintf(stderr, "engine_bench: %s\n", why.c_str());
  std::exit(1);
}

struct Made {
  PodRef pod;
  size_t bytes;
};

class Run {
 public:
  explicit Run(const Modules& modules)
      : writer_([this](const BindRequest& request) { show(request); }), scheduler_(start(modules)) {
    for (size_t i = 0; i < kNodes; ++i) scheduler_->post(NodeUpserted{make_node(i, symbols_)});
    scheduler_.all_synced();
  }

  void measure(const Kind& kind, size_t size) {
    std::vector<Made> hostile;
    for (size_t i = 0; i < kPods; ++i) hostile.push_back(make(kind, size, i));
    size_t bytes = 0;
    for (const Made& each : hostile) bytes += each.bytes;
    const double one = cost_of(hostile, kind.runs);
    std::vector<Made> plain;
    for (size_t i = 0; i < kPlain; ++i) plain.push_back(make_plain(i));
    const double other = cost_of(plain, false);
    const double mb = static_cast<double>(bytes) / 1e6 / kPods;
    std::printf("%-31s  %6zu  %8.3f  %10.2f  %9.1f  %13.1f\n", kind.name, size, mb, one * 1e3,
                one * 1e3 / mb, other * 1e6);
    std::fflush(stdout);
  }

 private:
  std::unique_ptr<Scheduler> start(const Modules& modules) {
    auto profile = default_profile(modules, "topo");
    if (!profile) fail_with(profile.error().message);
    SchedulerOptions options;
    options.profiles.push_back(std::move(*profile));
    options.binder_threads = 1;
    auto made = Scheduler::create(std::move(options), modules, symbols_, writer_);
    if (!made) fail_with(made.error().message);
    told_ = made->get();
    return std::move(*made);
  }
  void show(const BindRequest& request) {
    PodRef pod;
    {
      const std::lock_guard lock(mutex_);
      pod = waiting_.at(request.name);
    }
    told_->post(PodUpserted{assigned_copy(pod, request.node)});
  }
  Made decoded(const std::string& json) {
    auto pod = decode_pod(json, symbols_);
    if (!pod) fail_with(pod.error().message);
    return {*pod, json.size()};
  }
  Made make(const Kind& kind, size_t size, size_t number) {
    const std::string name = "hostile-" + std::to_string(number);
    return decoded(R"({"metadata":{"namespace":"loud","name":")" + name + R"(","uid":")" + name +
                   R"(","labels":{)" + kind.labels(size, number) + R"(}},"spec":{)" +
                   (kind.runs ? R"("nodeName":"node-000001",)" : "") +
                   R"("schedulerName":"topo","containers":[{"name":"c","image":"i"}],)" +
                   kind.spec(size, number) + "}}");
  }
  Made make_plain(size_t number) {
    const std::string name = "plain-" + std::to_string(number);
    return decoded(R"({"metadata":{"namespace":"quiet","name":")" + name + R"(","uid":")" + name +
                   R"(","labels":{"app":"web","tier":"front"}},"spec":{"schedulerName":"topo",)" +
                   R"("containers":[{"name":"c","image":"i"}]}})");
  }
  // Seconds of the loop for a pod, until each is bound or refused.
  double cost_of(const std::vector<Made>& pods, bool running) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.clear();
      for (const Made& each : pods)
        waiting_[std::string(sdk::view(each.pod->meta.name))] = each.pod;
    }
    const size_t before = writer_.answered;
    const double began = scheduler_.cpu_seconds();
    for (const Made& each : pods) scheduler_->post(PodUpserted{each.pod});
    while (!running && writer_.answered - before < pods.size()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    scheduler_.on_loop([] {});
    return (scheduler_.cpu_seconds() - began) / static_cast<double>(pods.size());
  }

  SymbolTable symbols_;
  std::mutex mutex_;
  std::unordered_map<std::string, PodRef> waiting_;  // guarded by mutex_
  Scheduler* told_ = nullptr;
  Binds writer_;
  LoopThread scheduler_;
};

}  // namespace

void measure_hostile(const Modules& modules, const std::vector<size_t>& sizes) {
  std::printf("%-31s  %6s  %8s  %10s  %9s  %13s\n", "each of 50 pods has", "K", "MB/pod", "ms/pod",
              "ms/MB", "us/plain pod");
  for (const Kind& kind : kinds()) {
    for (const size_t size : sizes) Run(modules).measure(kind, size);
  }
}

}  // namespace plimsoll::bench
