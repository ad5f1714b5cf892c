#pragma once
// A pod as an API server answers it, as far as writes look at it; and where it is found.

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
  bool deleting = false;  // no binding is taken any more
  std::map<std::string, std::string> annotations;
};

[[nodiscard]] std::string pod_path(const std::string& ns, const std::string& name);

// Nothing if the text is no pod.
[[nodiscard]] std::optional<PodAnswer> read_pod_answer(std::string_view body);

// Whether a GET says how the pod is: this one, or that there is none.
[[nodiscard]] bool answers_pod(const HttpResponse& response);

}  // namespace plimsoll::informer
