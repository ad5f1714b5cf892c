#pragma once
// The messages of NRI (github.com/containerd/nri, pkg/api/api.proto) that a plugin needs which
// gives containers devices: what is read of them, and how answers are written. Field numbers are in
// the source. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"
#include "node/hook/pod_devices.hpp"

namespace plimsoll::node::nri {

inline constexpr const char* kPluginService = "nri.pkg.api.v1alpha1.Plugin";
inline constexpr const char* kRuntimeService = "nri.pkg.api.v1alpha1.Runtime";
// On each container that was given devices: it says that the hook was there.
inline constexpr const char* kMark = "plimsoll.io/devices-given";

// ttrpc's Request and Response.
struct Request {
  std::string service, method, payload;
};
[[nodiscard]] std::string encode(const Request& request);
[[nodiscard]] Result<Request> decode_request(std::string_view message);
[[nodiscard]] std::string encode_response(std::string_view payload);
[[nodiscard]] std::string encode_error(const std::string& text);
// Fails with what the other side says.
[[nodiscard]] Result<void> check_response(std::string_view message);

struct Pod {
  std::string id;  // the runtime's
  std::string name, uid, ns;
  std::string allocated;  // its annotation device-allocated
};
struct Container {
  std::string id, pod_id, name;
  bool marked = false;
};

[[nodiscard]] std::string encode_registration(const std::string& name, const std::string& index);
// Configure's answer: the hook wants to hear of containers that are made, and of nothing else. One
// for which it could not answer is not to be made (NRI 0.12.5 and later).
[[nodiscard]] std::string encode_subscription();

struct Runtime {
  std::string name, version;  // "containerd", "v2.1.4"
};
[[nodiscard]] Result<Runtime> decode_runtime(std::string_view message);  // of Configure

struct NewContainer {
  Pod pod;
  Container container;
};
[[nodiscard]] Result<NewContainer> decode_new_container(std::string_view message);
[[nodiscard]] std::string encode_adjustment(const PodDevices& devices);

struct Inventory {
  std::vector<Pod> pods;
  std::vector<Container> containers;
  bool more = false;  // another message follows
};
[[nodiscard]] Result<Inventory> decode_inventory(std::string_view message);
[[nodiscard]] std::string encode_inventory_answer(bool more);

}  // namespace plimsoll::node::nri
