#include "tests/kubelet/real_kubelet.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <thread>

#include "node/kubelet/pod_resources.hpp"
#include "tests/kubelet/node_file.hpp"
#include "tests/support/free_port.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

struct Answer {
  long status = 0;  // 0: none, and `text` says why
  std::string text;
};

std::size_t append_text(char* data, std::size_t size, std::size_t count, void* text) {
  static_cast<std::string*>(text)->append(data, size * count);
  return size * count;
}

// One request; over a unix socket if one is named.
Answer ask(const std::string& url, const std::filesystem::path& socket = {},
           const char* method = "GET") {
  Answer answer;
  CURL* curl = curl_easy_init();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
  if (!socket.empty()) curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 30L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);  // a kubelet signs its own certificate
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append_text);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.text);
  const CURLcode result = curl_easy_perform(curl);
  if (result == CURLE_OK) {
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  } else {
    answer.text = curl_easy_strerror(result);
  }
  curl_easy_cleanup(curl);
  return answer;
}

Result<std::string> ask_control(const TempDir& dir, const std::string& path, const char* method) {
  const Answer answer = ask("http://kubelet" + path, dir / "control.sock", method);
  if (answer.status == 200) return answer.text;
  const ErrorCode code = answer.status == 404   ? ErrorCode::kNotFound
                         : answer.status == 409 ? ErrorCode::kConflict
                                                : ErrorCode::kUnavailable;
  return fail(code, std::string(method) + " " + path + ": " + answer.text);
}

Result<void> post(const TempDir& dir, const std::string& path) {
  return ask_control(dir, path, "POST").map([](const std::string&) {});
}

// The kubelet limits its clients together: asks again until it is heard.
template <typename Call>
auto until_heard(const Call& call) {
  auto answer = call();
  while (!answer && answer.error().code == ErrorCode::kThrottled) {
    std::this_thread::sleep_for(20ms);
    answer = call();
  }
  return answer;
}

std::string name_of_pod(const json& pod) {
  const json& metadata = pod["metadata"];
  return metadata["namespace"].get<std::string>() + "/" + metadata["name"].get<std::string>();
}

}  // namespace

Result<std::filesystem::path> find_real_kubelet() {
  const std::filesystem::path build =
      std::filesystem::absolute(PLIMSOLL_SOURCE_DIR) / "tests/kubelet/build";
  const Result<Finished> finished =
      run({.argv = {build.string(), "--if-present"}, .stderr_file = "/dev/null"});
  if (!finished) return fail(finished.error().within("looking for real-kubelet"));
  if (finished->status != ExitStatus::exited(0)) {
    return fail(ErrorCode::kNotFound, "no real-kubelet: run tests/kubelet/build");
  }
  std::string folder = finished->out;
  while (!folder.empty() && folder.back() == '\n') folder.pop_back();
  return std::filesystem::path(folder) / "real-kubelet";
}

Result<void> check_namespaces(const std::filesystem::path& program) {
  const Result<Finished> finished = run({.argv = {program.string(), "-check"}});
  if (!finished) return fail(finished.error());
  if (finished->status == ExitStatus::exited(0)) return {};
  return fail(ErrorCode::kUnavailable, finished->out);
}

std::vector<std::string> ContainerRecord::devices(const std::string& resource) const {
  std::string name = "DEVICES_";
  for (const char c : resource) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    name.push_back(letter ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : '_');
  }
  std::vector<std::string> ids;
  const auto found = environment.find(name);
  if (found == environment.end()) return ids;
  std::string rest = found->second;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    ids.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

RealKubelet::RealKubelet(const KubeCluster& cluster, RealKubeletSettings settings)
    : access_(cluster.admin()), settings_(std::move(settings)) {}

RealKubelet::~RealKubelet() {
  stop();
}

Result<std::unique_ptr<RealKubelet>> RealKubelet::start(const KubeCluster& cluster,
                                                        RealKubeletSettings settings) {
  const Result<std::filesystem::path> program = find_real_kubelet();
  if (!program) return fail(program.error());
  const Result<std::uint16_t> port = free_port();
  if (!port) return fail(port.error());
  std::unique_ptr<RealKubelet> kubelet(new RealKubelet(cluster, std::move(settings)));
  kubelet->port_ = *port;
  const TempDir& dir = kubelet->dir_;
  const json file = node_file(kubelet->settings_, dir.path(), cluster.kubeconfig(), *port);
  const Result<void> written = write_file(dir / "node.json", file.dump(2));
  if (!written) return fail(written.error());
  Result<ChildProcess> started =
      ChildProcess::start({.argv = {program->string(), "-v=2", (dir / "node.json").string()},
                           .working_dir = dir.path(),
                           .stdout_file = dir / "kubelet.log"});
  if (!started) return fail(started.error());
  kubelet->process_.emplace(std::move(*started));
  return kubelet;
}

// Empty if it is ready.
std::string RealKubelet::not_ready() {
  const KubeReply reply = KubeClient(access_).get("/api/v1/nodes/" + name());
  if (!reply.ok()) return "its Node: HTTP " + std::to_string(reply.status);
  const json object = reply.json();
  const json status = object.value("status", json::object());
  bool ready = false;
  for (const json& condition : status.value("conditions", json::array())) {
    ready = ready || (condition["type"] == "Ready" && condition["status"] == "True");
  }
  if (!ready) return "its Node is not Ready";
  node::Amounts healthy;
  for (const node::MachineDevice& device : machine().devices)
    healthy[device.resource] += device.healthy;
  const Result<node::Allocatable> allocatable =
      until_heard([&] { return node::PodResources(paths().socket()).allocatable(); });
  if (!allocatable) return allocatable.error().message;
  const auto on_node = node::parse_amounts(status.value("allocatable", json::object()));
  for (const auto& [resource, count] : healthy) {
    const auto listed = allocatable->devices.find(resource);
    const auto known = listed == allocatable->devices.end() ? 0 : std::ssize(listed->second);
    if (known != count)
      return "its pod-resources API names " + std::to_string(known) + " of " + resource;
    if (!on_node || node::amount_of(*on_node, resource) != count) {
      return "its Node does not have all of " + resource;
    }
  }
  return {};
}

Result<void> RealKubelet::wait_ready(std::chrono::seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::string why = not_ready();
  bool asked = false;  // the control socket comes right after the start
  while (!why.empty()) {
    const Answer alive = ask("http://kubelet/kubelet", dir_ / "control.sock");
    asked = asked || alive.status == 200;
    const bool ended = !process_ || !process_->running() || (asked && alive.status == 404);
    if (ended || std::chrono::steady_clock::now() > deadline) {
      return fail(ErrorCode::kUnavailable,
                  name() + (ended ? " has ended: " : " is not ready: ") + why + "\n" + log());
    }
    std::this_thread::sleep_for(50ms);
    why = not_ready();
  }
  return {};
}

Result<void> RealKubelet::kill() {
  return post(dir_, "/kubelet?signal=9");
}

Result<void> RealKubelet::start_again() {
  return post(dir_, "/kubelet");
}

Result<void> RealKubelet::set_health(const std::string& resource, const std::string& id,
                                     bool healthy) {
  for (node::MachineDevice& device : settings_.machine.devices) {
    if (device.resource == resource && device.id == id) device.healthy = healthy;
  }
  return post(dir_, "/health?resource=" + resource + "&id=" + id +
                        "&healthy=" + (healthy ? "true" : "false"));
}

Result<void> RealKubelet::end_container(const std::string& pod, const std::string& container,
                                        int exit_code) {
  return post(
      dir_, "/exit?pod=" + pod + "&container=" + container + "&code=" + std::to_string(exit_code));
}

Result<std::vector<ContainerRecord>> RealKubelet::containers() const {
  const Result<std::string> text = ask_control(dir_, "/containers", "GET");
  if (!text) return fail(text.error());
  std::vector<ContainerRecord> records;
  for (const json& one : json::parse(*text)) {
    records.push_back({one["pod"], one["uid"], one["name"], one["state"], one["cpus"], one["mems"],
                       one["environment"], one.value("given", json())});
  }
  return records;
}

Result<std::string> RealKubelet::configuration() const {
  Answer answer = ask(address() + "/configz");
  if (answer.status == 200) return std::move(answer.text);
  return fail(ErrorCode::kUnavailable,
              "/configz: HTTP " + std::to_string(answer.status) + ": " + answer.text);
}

Result<node::KubeletView> RealKubelet::view() const {
  return until_heard([&] { return node::read_kubelet(paths()); });
}

void RealKubelet::stop() {
  if (process_) process_->stop(10s);
  process_.reset();
}

std::string RealKubelet::log(std::size_t lines) const {
  const Result<std::string> text = read_file(dir_ / "kubelet.log");
  return "--- the end of the log of " + name() + ":\n" + (text ? tail(*text, lines) : "(none)\n");
}

Result<std::vector<Refusal>> refusals(KubeClient& client, const std::string& collection) {
  const auto pods = client.list(collection, "fieldSelector=status.phase%3DFailed");
  if (!pods) return fail(pods.error());
  std::vector<Refusal> refused;
  for (const json& pod : *pods) {
    // Pods that ran and failed have the states of their containers.
    const json& status = pod["status"];
    if (status.contains("containerStatuses") || !status.contains("reason")) continue;
    refused.push_back({name_of_pod(pod), status["reason"], status.value("message", "")});
  }
  return refused;
}

}  // namespace plimsoll::test
