#pragma once
// A kind as the API server addresses it. Pure; any thread.

#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll::informer {

struct ResourceType {
  std::string group;  // the core group is ""
  std::string version;
  std::string plural;

  // "/api/v1/pods", "/apis/topology.node.k8s.io/v1alpha2/..."
  [[nodiscard]] std::string path() const;
  // "pods", "noderesourcetopologies.v1alpha2.topology.node.k8s.io"
  [[nodiscard]] std::string text() const;

  // The inverse of text(), for kinds outside of the core group: "<plural>.<version>.<group>".
  [[nodiscard]] static Result<ResourceType> parse(std::string_view text);
};

}  // namespace plimsoll::informer
