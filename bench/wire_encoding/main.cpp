// Measures the cost of reading all pods of a cluster, as JSON and as protobuf, listed and streamed:
// bytes, time, and CPU of the API server and of the informer. docs/performance.md has the results.

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/bindings/process_meter.hpp"
#include "bench/support/controller_pod.hpp"
#include "framework/api/symbols.hpp"
#include "informer/http/http_client.hpp"
#include "informer/watch/informer.hpp"
#include "tests/kube/kube_fixture.hpp"

namespace {

using namespace plimsoll;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kJson = "application/json";
constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "wire_encoding: " << why << "\n";
  std::exit(1);
}

double own_cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Posts the pods and their statuses over several connections.
void create(const test::KubeAccess& access, int count) {
  std::vector<test::KubeObject> objects;
  for (int i = 0; i < count; ++i) {
    objects.push_back({"/api/v1/namespaces/default/pods", bench::controller_pod(i).dump()});
  }
  if (auto made = test::create_all(access, objects); !made) give_up(made.error().message);
  const json status = bench::controller_pod_status();
  std::atomic<int> next{0};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      test::KubeClient client(access);
      for (int i = next++; i < count; i = next++) {
        const auto reply = client.patch(
            "/api/v1/namespaces/default/pods/web-" + std::to_string(i) + "/status", status);
        if (!reply.ok()) give_up(reply.body);
      }
    });
  }
}

// Counts messages, and reports when all pods have arrived.
class Counter final : public Inbox {
 public:
  void post(Message message) override {
    if (const auto* pod = std::get_if<PodUpserted>(&message)) {
      kept_.push_back(pod->pod);  // the scheduler keeps them too
    } else if (const auto* synced = std::get_if<KindSynced>(&message)) {
      if (synced->resource == "pods") done_.set_value();
    }
  }
  size_t wait() {
    done_.get_future().wait();
    return kept_.size();
  }

 private:
  std::vector<PodRef> kept_;  // on the I/O thread until done
  std::promise<void> done_;
};

struct Cost {
  double wall = 0;
  double server_cpu = 0;
  double client_cpu = 0;
};

// Everything that the scheduler's informer does until all pods are known.
Cost follow(const informer::ServerAccess& access, pid_t server, bool protobuf, bool streaming,
            size_t pods) {
  auto client =
      informer::HttpClient::create(access, std::make_shared<informer::CredentialSource>(access));
  if (!client) give_up(client.error().message);
  Counter counter;
  SymbolTable symbols;
  informer::InformerOptions options;
  options.protobuf = protobuf;
  options.reflector.streaming_list = streaming;
  informer::ApiServerInformer informer(**client, counter, symbols, options);
  const double server_before = bench::cpu_seconds(server);
  const double own_before = own_cpu();
  const auto began = Clock::now();
  informer.start();
  const size_t seen = counter.wait();
  Cost cost;
  cost.wall = std::chrono::duration<double>(Clock::now() - began).count();
  cost.client_cpu = own_cpu() - own_before;
  cost.server_cpu = bench::cpu_seconds(server) - server_before;
  informer.stop();
  (*client)->stop();
  if (seen != pods) give_up("only " + std::to_string(seen) + " pods arrived");
  return cost;
}

size_t body_size(const informer::ServerAccess& access, const char* accept) {
  auto client =
      informer::HttpClient::create(access, std::make_shared<informer::CredentialSource>(access));
  if (!client) give_up(client.error().message);
  informer::HttpRequest request;
  request.path = "/api/v1/pods?limit=500";
  request.accept = accept;
  informer::HttpHandlers handlers;
  std::promise<size_t> size;
  handlers.on_done = [&](Result<informer::HttpResponse> answer) {
    size.set_value(answer && answer->ok() ? answer->body.size() : 0);
  };
  (*client)->submit(std::move(request), std::move(handlers));
  const size_t result = size.get_future().get();
  (*client)->stop();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 20'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--pods") == 0) count = std::atoi(argv[i + 1]);
  }
  if (count < 1) give_up("--pods takes a number above 0");
  auto cluster = test::KubeCluster::start();
  if (!cluster) give_up(cluster.error().message);
  std::fprintf(stderr, "creating %d pods\n", count);
  create((*cluster)->admin(), count);

  informer::KubeconfigOptions kubeconfig;
  kubeconfig.path = (*cluster)->kubeconfig().string();
  const auto access = informer::load_server_access(kubeconfig);
  if (!access) give_up(access.error().message);
  const pid_t server = bench::child_named("kube-apiserver");
  if (server < 0) give_up("the API server's process was not found in /proc");
  const auto pods = static_cast<size_t>(count);
  struct Mode {
    const char* name;
    bool protobuf;
    bool streaming;
    Cost best;
  };
  std::vector<Mode> modes{{"JSON, list", false, false, {}},
                          {"JSON, streamed list", false, true, {}},
                          {"protobuf, list", true, false, {}},
                          {"protobuf, streamed list", true, true, {}}};
  for (int round = 0; round < 4; ++round) {
    for (Mode& mode : modes) {
      const Cost cost = follow(*access, server, mode.protobuf, mode.streaming, pods);
      if (round == 0) continue;  // warms up connections and caches
      if (round == 1 || cost.wall < mode.best.wall) mode.best = cost;
    }
  }
  const auto sample = static_cast<double>(std::min(count, 500));
  const double json_kib = static_cast<double>(body_size(*access, kJson)) / sample / 1024;
  const double protobuf_kib = static_cast<double>(body_size(*access, kProtobuf)) / sample / 1024;
  std::printf(
      "%d pods until the informer has them all, best of 3 rounds\n\n"
      "| encoding | KiB a pod | time | to JSON list | API server CPU | informer CPU |\n"
      "| --- | --- | --- | --- | --- | --- |\n",
      count);
  for (const Mode& mode : modes) {
    std::printf("| %s | %.1f | %.2f s | %.2f | %.2f s | %.2f s |\n", mode.name,
                mode.protobuf ? protobuf_kib : json_kib, mode.best.wall,
                mode.best.wall / modes[0].best.wall, mode.best.server_cpu, mode.best.client_cpu);
  }
  return 0;
}
