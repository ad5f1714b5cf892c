#pragma once
// The parts of a pod in an API server's answer that writes need, and the path of a pod.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "informer/http/http_client.hpp"

namespace plimsoll::informer {

struct PodAnswer {
  std::string uid;
  std::string resource_version;
  std::string node;       // empty: not bound
  bool deleting = false;  // it accepts no binding any more
  std::map<std::string, std::string> annotations;
};

[[nodiscard]] std::string pod_path(const std::string& ns, const std::string& name);

// Returns nothing if the text is not a pod.
[[nodiscard]] std::optional<PodAnswer> read_pod_answer(std::string_view body);

// Whether the answer to a GET tells the pod's state: the pod, or that it does not exist.
[[nodiscard]] bool answers_pod(const HttpResponse& response);

}  // namespace plimsoll::informer
