// What it costs to fetch all pods of a cluster as JSON and as protobuf: bytes, time, CPU of the API
// server and of the client, and what decoding costs. The ratios decide in which encoding the
// informers ask for core kinds; docs/performance.md has the outcome.

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/wire_encoding/protobuf_walk.hpp"
#include "framework/api/decode.hpp"
#include "framework/api/symbols.hpp"
#include "informer/http_client.hpp"
#include "informer/wire.hpp"
#include "tests/kube/kube_fixture.hpp"

namespace {

using namespace plimsoll;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kPath = "/api/v1/pods";
constexpr const char* kJson = "application/json";
constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "wire_encoding: " << why << "\n";
  std::exit(1);
}

// A pod as controllers make them: two containers with probes and environment, volumes, a status.
json pod(int number) {
  json containers = json::array();
  for (const char* name : {"server", "proxy"}) {
    json environment = json::array();
    for (int i = 0; i < 8; ++i) {
      environment.push_back({{"name", "SETTING_" + std::to_string(i)},
                             {"value", "value-of-it-" + std::to_string(i)}});
    }
    const json probe = {{"httpGet", {{"path", "/healthz"}, {"port", 8080}}}, {"periodSeconds", 10}};
    containers.push_back({{"name", name},
                          {"image", "registry.example.com/team/" + std::string(name) + ":v1.2.3"},
                          {"env", environment},
                          {"livenessProbe", probe},
                          {"readinessProbe", probe},
                          {"ports", {{{"containerPort", 8080}, {"name", "http"}}}},
                          {"resources",
                           {{"requests", {{"cpu", "250m"}, {"memory", "512Mi"}}},
                            {"limits", {{"cpu", "1"}, {"memory", "1Gi"}}}}},
                          {"volumeMounts", {{{"name", "config"}, {"mountPath", "/etc/config"}}}}});
  }
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", "web-" + std::to_string(number)},
            {"namespace", "default"},
            {"labels", {{"app", "web"}, {"tier", "front"}, {"pod-template-hash", "6d4cf56db6"}}},
            {"annotations", {{"example.com/checksum", std::string(64, 'c')}}}}},
          {"spec",
           {{"schedulerName", "nobody"},
            {"containers", containers},
            {"volumes", {{{"name", "config"}, {"configMap", {{"name", "web"}}}}}}}}};
}

json status_of() {
  const std::string now = "2026-01-01T00:00:00Z";
  json statuses = json::array();
  for (const char* name : {"server", "proxy"}) {
    statuses.push_back({{"name", name},
                        {"image", "registry.example.com/team/" + std::string(name) + ":v1.2.3"},
                        {"imageID", "registry.example.com/team/web@sha256:" + std::string(64, 'a')},
                        {"containerID", "containerd://" + std::string(64, 'b')},
                        {"ready", true},
                        {"restartCount", 0},
                        {"state", {{"running", {{"startedAt", now}}}}}});
  }
  json conditions = json::array();
  for (const char* type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    conditions.push_back({{"type", type}, {"status", "True"}, {"lastTransitionTime", now}});
  }
  return {{"status",
           {{"phase", "Running"},
            {"hostIP", "10.0.0.1"},
            {"podIP", "10.1.2.3"},
            {"startTime", now},
            {"conditions", conditions},
            {"containerStatuses", statuses}}}};
}

// Seconds of CPU of the API server, our child.
class ServerCpu {
 public:
  ServerCpu() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) {
        continue;
      }
      std::ifstream in(entry.path() / "stat");
      std::string text((std::istreambuf_iterator<char>(in)), {});
      const size_t end = text.rfind(')');
      if (end == text.npos || text.find("(kube-apiserver") == text.npos) continue;
      std::istringstream rest(text.substr(end + 2));
      char state = 0;
      int parent = 0;
      rest >> state >> parent;
      if (parent == ::getpid()) file_ = entry.path() / "stat";
    }
    if (file_.empty()) give_up("the API server's process was not found in /proc");
  }
  [[nodiscard]] double seconds() const {
    std::ifstream in(file_);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    std::istringstream rest(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) rest >> skipped;
    double user = 0;
    double system = 0;
    rest >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

 private:
  std::filesystem::path file_;
};

double own_cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Fetched {
  std::string body;
  double wall = 0;
  double server_cpu = 0;
  double client_cpu = 0;
};

Fetched fetch(informer::HttpClient& client, const ServerCpu& server, const char* accept) {
  Fetched result;
  informer::HttpRequest request;
  request.path = std::string(kPath) + "?resourceVersion=0";
  request.accept = accept;
  request.timeout = std::chrono::milliseconds(0);
  informer::HttpHandlers handlers;
  std::promise<std::string> done;
  handlers.on_data = [&](std::string_view chunk) { result.body.append(chunk); };
  handlers.on_done = [&](Result<informer::HttpResponse> answer) {
    done.set_value(!answer        ? answer.error().message
                   : answer->ok() ? ""
                                  : "HTTP " + std::to_string(answer->status));
  };
  const double server_before = server.seconds();
  const double own_before = own_cpu();
  const auto began = Clock::now();
  client.submit(std::move(request), std::move(handlers));
  if (const std::string error = done.get_future().get(); !error.empty()) give_up(error);
  result.wall = std::chrono::duration<double>(Clock::now() - began).count();
  result.client_cpu = own_cpu() - own_before;
  result.server_cpu = server.seconds() - server_before;
  return result;
}

struct Decoded {
  uint64_t pods = 0;
  double framing = 0;  // seconds of CPU
  double decoding = 0;
};

Decoded decode_json(const std::string& body) {
  Decoded result;
  informer::ListFramer framer;
  std::vector<std::string> items;
  double before = own_cpu();
  for (size_t at = 0; at < body.size(); at += 64 << 10) {
    const auto fed = framer.feed(std::string_view(body).substr(at, 64 << 10),
                                 [&](std::string_view item) { items.emplace_back(item); });
    if (!fed) give_up(fed.error().message);
  }
  result.framing = own_cpu() - before;
  SymbolTable symbols;
  std::vector<PodRef> pods;
  pods.reserve(items.size());
  before = own_cpu();
  for (const std::string& item : items) {
    auto decoded = decode_pod(item, symbols);
    if (!decoded) give_up(decoded.error().message);
    pods.push_back(std::move(*decoded));
  }
  result.decoding = own_cpu() - before;
  result.pods = pods.size();
  return result;
}

void row(const char* what, const Fetched& fetched, double decoding, double pods, bool bound) {
  std::printf("| %s | %.2f | %.1f | %.1f | %.1f | %s%.1f |\n", what,
              static_cast<double>(fetched.body.size()) / pods / 1024, fetched.wall / pods * 1e6,
              fetched.server_cpu / pods * 1e6, fetched.client_cpu / pods * 1e6, bound ? ">= " : "",
              decoding / pods * 1e6);
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
  std::vector<test::KubeObject> objects;
  for (int i = 0; i < count; ++i) {
    objects.push_back({"/api/v1/namespaces/default/pods", pod(i).dump()});
  }
  std::fprintf(stderr, "creating %d pods\n", count);
  if (auto made = test::create_all((*cluster)->admin(), objects); !made) {
    give_up(made.error().message);
  }
  {
    test::KubeClient client((*cluster)->admin());
    const json status = status_of();
    for (int i = 0; i < count; ++i) {
      const auto reply = client.patch(
          "/api/v1/namespaces/default/pods/web-" + std::to_string(i) + "/status", status);
      if (!reply.ok()) give_up(reply.body);
    }
  }

  informer::KubeconfigOptions kubeconfig;
  kubeconfig.path = (*cluster)->kubeconfig().string();
  const auto access = informer::load_server_access(kubeconfig);
  if (!access) give_up(access.error().message);
  auto client =
      informer::HttpClient::create(*access, std::make_shared<informer::CredentialSource>(*access));
  if (!client) give_up(client.error().message);
  const ServerCpu server;

  std::printf(
      "%d pods, best of 3, per pod\n\n| encoding | KiB | wall us | API server CPU us | receiving "
      "CPU us | decoding CPU us |\n| --- | --- | --- | --- | --- | --- |\n",
      count);
  fetch(**client, server, kJson);  // the watch cache is filled, the connection is open
  Fetched best_json;
  Fetched best_protobuf;
  for (int round = 0; round < 3; ++round) {
    Fetched one = fetch(**client, server, kJson);
    if (round == 0 || one.wall < best_json.wall) best_json = std::move(one);
    one = fetch(**client, server, kProtobuf);
    if (round == 0 || one.wall < best_protobuf.wall) best_protobuf = std::move(one);
  }
  const Decoded decoded = decode_json(best_json.body);
  const double before = own_cpu();
  const bench::WalkedPods walked = bench::walk_pod_list(best_protobuf.body);
  const double walking = own_cpu() - before;
  if (!walked.valid || walked.pods != decoded.pods) {
    give_up("the protobuf list could not be walked");
  }
  const auto pods = static_cast<double>(decoded.pods);
  row("JSON", best_json, decoded.framing + decoded.decoding, pods, false);
  row("protobuf", best_protobuf, walking, pods, true);
  std::printf(
      "\nDecoding JSON: %.1f us to cut the list into objects, %.1f us to make pods of them.\n"
      "Protobuf: only finding the %.0f fields of a pod that are read (a lower bound).\n",
      decoded.framing / pods * 1e6, decoded.decoding / pods * 1e6,
      static_cast<double>(walked.fields) / pods);
  (*client)->stop();
  return 0;
}
