#include "node/hook/device_hook.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "framework/base/log.hpp"
#include "node/hook/mux.hpp"

namespace plimsoll::node {
namespace {

constexpr const char* kIndex = "90";  // after others that adjust containers

int connect_to(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = socket.native();
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Of "v2.1.4" the first two numbers; nothing: it is not one.
std::pair<int, int> version_of(const std::string& text) {
  std::pair<int, int> version{-1, -1};
  if (std::sscanf(text.c_str() + (text.starts_with('v') ? 1 : 0), "%d.%d", &version.first,
                  &version.second) != 2) {
    return {-1, -1};
  }
  return version;
}

}  // namespace

DeviceHook::DeviceHook(HookOptions options, metrics::Registry* registry)
    : options_(std::move(options)) {
  if (registry != nullptr) {
    containers_ = registry->counters({"plimsoll_node_hook_containers_total",
                                      "Containers of pods with devices, by outcome (given, "
                                      "refused).",
                                      {"outcome"}});
    missed_count_ =
        registry
            ->gauges({"plimsoll_node_hook_missed_containers",
                      "Containers that were made without the hook, at the last connect, "
                      "though their pods have devices.",
                      {}})
            .with({});
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

DeviceHook::~DeviceHook() = default;

void DeviceHook::know(const std::string& uid, const AllocatedPod* pod) {
  const std::lock_guard lock(mutex_);
  if (pod == nullptr) {
    pods_.erase(uid);
    return;
  }
  pods_[uid] = *pod;
  changed_.notify_all();
}

void DeviceHook::judge_by(Judge judge) {
  const std::lock_guard lock(mutex_);
  judge_ = std::move(judge);
  changed_.notify_all();
}

std::vector<MissedContainer> DeviceHook::missed() const {
  const std::lock_guard lock(mutex_);
  return missed_;
}

std::string DeviceHook::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void DeviceHook::set_trouble(std::string trouble) {
  const std::lock_guard lock(mutex_);
  if (trouble != trouble_) {
    if (trouble.empty()) {
      log_info("containers are given their devices");
    } else {
      log_warn("containers are not given their devices", {{"reason", trouble}});
    }
  }
  trouble_ = std::move(trouble);
}

void DeviceHook::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const std::string where = "the container runtime's plugin socket " + options_.socket.string();
    const int fd = connect_to(options_.socket);
    if (fd < 0) {
      set_trouble(where + ": " + std::strerror(errno) + "; is NRI switched on?");
    } else {
      std::string why = serve(fd, stop);
      ::close(fd);
      if (!stop.stop_requested()) set_trouble(where + ": " + why);
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, options_.reconnect, [] { return false; });
  }
}

std::string DeviceHook::serve(int fd, const std::stop_token& stop) {
  inventory_ = {};
  by_name_ = false;
  const nri::Request registration{nri::kRuntimeService, "RegisterPlugin",
                                  nri::encode_registration(kName, kIndex)};
  if (!send_all(fd, mux::frame(mux::kRuntime, 1, mux::kRequest, nri::encode(registration)))) {
    return "the connection has ended";
  }
  const std::stop_callback end(stop, [fd] { ::shutdown(fd, SHUT_RDWR); });
  mux::Reader reader;
  std::array<char, 65536> buffer;
  while (!stop.stop_requested()) {
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return "the connection has ended";
    if (!reader.add({buffer.data(), static_cast<std::size_t>(size)})) {
      return "what it sends is no message";
    }
    while (auto message = reader.next()) {
      if (message->connection == mux::kRuntime) {
        if (auto done = nri::check_response(message->data); !done) {
          return "it refuses the plugin: " + done.error().message;
        }
        continue;
      }
      if (message->type != mux::kRequest) continue;
      const auto request = nri::decode_request(message->data);
      auto answered = request ? answer(*request, stop) : fail(request.error());
      const std::string response =
          answered ? nri::encode_response(*answered) : nri::encode_error(answered.error().message);
      if (!send_all(fd, mux::frame(mux::kPlugin, message->stream, mux::kResponse, response))) {
        return "the connection has ended";
      }
    }
  }
  return "stopped";
}

Result<std::string> DeviceHook::answer(const nri::Request& request, const std::stop_token& stop) {
  if (request.method == "Configure") {
    const auto runtime = nri::decode_runtime(request.payload);
    if (!runtime) return fail(runtime.error());
    const auto since = options_.by_name_since.find(runtime->name);
    by_name_ =
        since != options_.by_name_since.end() && version_of(runtime->version) >= since->second;
    return nri::encode_subscription();
  }
  if (request.method == "Synchronize") {
    auto piece = nri::decode_inventory(request.payload);
    if (!piece) return fail(piece.error());
    return synchronize(std::move(*piece));
  }
  if (request.method == "CreateContainer") {
    const auto made = nri::decode_new_container(request.payload);
    if (!made) return fail(made.error());
    return give(*made, stop);
  }
  return std::string();
}

PodDevices DeviceHook::devices_of(const nri::Pod& pod, const std::stop_token& stop) {
  PodDevices devices;
  if (pod.allocated.size() > kLongestAnnotation) {
    devices.refusal = "its annotation is longer than any that a scheduler writes";
    return devices;
  }
  std::unique_lock lock(mutex_);
  // Others wait meanwhile. An annotation that differs is no reason to: a binding writes it.
  const bool known = changed_.wait_for(lock, stop, options_.patience,
                                       [&] { return judge_ && pods_.contains(pod.uid); });
  if (!known || pods_[pod.uid].annotation != pod.allocated) {
    devices.refusal = judge_ ? "the API server does not show the annotation that its kubelet shows"
                             : "the devices of the node are not known yet";
    return devices;
  }
  const AllocatedPod shown = pods_[pod.uid];
  const Judge judge = judge_;
  lock.unlock();
  try {
    devices = judge(shown, by_name_);
  } catch (const std::exception& error) {
    devices.refusal = error.what();
  }
  return devices;
}

// Kubelets get a pod's annotations with the pod: one that shows none was given nothing.
Result<std::string> DeviceHook::give(const nri::NewContainer& made, const std::stop_token& stop) {
  const nri::Pod& pod = made.pod;
  if (pod.allocated.empty() || pod.allocated == "{}") return std::string();
  const PodDevices devices = devices_of(pod, stop);
  const bool given = devices.refusal.empty();
  if (containers_) containers_.with({given ? "given" : "refused"}).add();
  if (given) return nri::encode_adjustment(devices);
  const std::string who = "pod " + pod.ns + "/" + pod.name;
  log_warn("a container is not made", {{"pod", who}, {"reason", devices.refusal}});
  return fail(ErrorCode::kConflict, "plimsoll: " + who + ": " + devices.refusal);
}

std::string DeviceHook::synchronize(nri::Inventory piece) {
  std::move(piece.pods.begin(), piece.pods.end(), std::back_inserter(inventory_.pods));
  std::move(piece.containers.begin(), piece.containers.end(),
            std::back_inserter(inventory_.containers));
  if (piece.more) return nri::encode_inventory_answer(true);
  const nri::Inventory all = std::exchange(inventory_, {});
  std::map<std::string, const nri::Pod*> pods;
  for (const nri::Pod& pod : all.pods) {
    if (!pod.allocated.empty() && pod.allocated != "{}") pods[pod.id] = &pod;
  }
  std::vector<MissedContainer> missed;
  for (const nri::Container& container : all.containers) {
    const auto pod = pods.find(container.pod_id);
    if (pod == pods.end() || container.marked) continue;
    missed.push_back({container.id, container.name, *pod->second});
    log_warn("a container was made without its devices: make its pod anew",
             {{"pod", pod->second->ns + "/" + pod->second->name}, {"container", container.name}});
  }
  if (missed_count_) missed_count_.set(static_cast<double>(missed.size()));
  {
    const std::lock_guard lock(mutex_);
    missed_ = std::move(missed);
  }
  set_trouble("");
  return nri::encode_inventory_answer(false);
}

}  // namespace plimsoll::node
