#include "informer/watch/resource_type.hpp"

namespace plimsoll::informer {

std::string ResourceType::path() const {
  return (group.empty() ? "/api/" + version : "/apis/" + group + "/" + version) + "/" + plural;
}

std::string ResourceType::text() const {
  return group.empty() ? plural : plural + "." + version + "." + group;
}

Result<ResourceType> ResourceType::parse(std::string_view text) {
  const std::size_t first = text.find('.');
  const std::size_t second =
      first == std::string_view::npos ? std::string_view::npos : text.find('.', first + 1);
  if (second == std::string_view::npos || first == 0 || second == first + 1 ||
      second + 1 == text.size()) {
    return fail(ErrorCode::kInvalid,
                "'" + std::string(text) +
                    "' does not name a kind; expected <plural>.<version>.<group>, for example "
                    "noderesourcetopologies.v1alpha2.topology.node.k8s.io");
  }
  return ResourceType{std::string(text.substr(second + 1)),
                      std::string(text.substr(first + 1, second - first - 1)),
                      std::string(text.substr(0, first))};
}

}  // namespace plimsoll::informer
