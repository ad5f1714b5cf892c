#include "plugins/builtin/node_resources.hpp"

#include "framework/api/requests.hpp"
#include "plugins/builtin/signing.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;
using Kind = ScoredResource::Kind;

constexpr int64_t kDefaultMilliCpu = 100;
constexpr int64_t kDefaultMemory = int64_t{200} << 20;

Kind kind_of(std::string_view name) {
  if (name == "cpu") return Kind::kCpu;
  if (name == "memory") return Kind::kMemory;
  if (name == "ephemeral-storage") return Kind::kEphemeralStorage;
  return name != "pods" && is_node_resource(name) ? Kind::kScalar : Kind::kOther;
}

int64_t container_amount(const plimsoll_container& container, uint32_t index, int64_t missing) {
  const plimsoll_resource* named = Resources(container.requests).find(index);
  return named != nullptr ? named->value : missing;
}

// PodRequests of one resource from the containers alone, where those that do not name it count with
// `missing`.
int64_t with_defaults(Pod pod, uint32_t index, int64_t missing) {
  int64_t total = 0;
  for (const plimsoll_container& container : pod.containers()) {
    total += container_amount(container, index, missing);
  }
  int64_t sidecars = 0;
  int64_t peak = 0;
  for (const plimsoll_container& container : pod.init_containers()) {
    const int64_t amount = container_amount(container, index, missing);
    if (container.kind == PLIMSOLL_CONTAINER_SIDECAR) {
      sidecars += amount;
      peak = std::max(peak, sidecars);
    } else {
      peak = std::max(peak, sidecars + amount);
    }
  }
  return std::max(total + sidecars, peak) + Resources(pod->overhead).amount(index);
}

// What the pod counts for in the scores of NodeResourcesFit. As in Kubernetes, pod-level resources
// do not count there; without them it is what the node will count for the pod.
int64_t fit_amount(Pod pod, const ScoredResource& resource) {
  const bool pod_level = pod->pod_requests.count != 0;
  switch (resource.kind) {
    case Kind::kCpu:
      return pod_level ? with_defaults(pod, resource.index, kDefaultMilliCpu) : pod->nonzero_cpu;
    case Kind::kMemory:
      return pod_level ? with_defaults(pod, resource.index, kDefaultMemory) : pod->nonzero_memory;
    default:
      return pod_level ? with_defaults(pod, resource.index, 0)
                       : pod.requests().amount(resource.index);
  }
}

}  // namespace

int64_t on_shape(const std::vector<ShapePoint>& shape, int64_t utilization) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    if (i == 0) return shape[0].score;
    const ShapePoint& a = shape[i - 1];
    const ShapePoint& b = shape[i];
    return a.score +
           (b.score - a.score) * (utilization - a.utilization) / (b.utilization - a.utilization);
  }
  return shape.back().score;
}

std::vector<ScoredResource> resolve(const Host& host,
                                    const std::vector<ResourceWeight>& resources) {
  std::vector<ScoredResource> resolved;
  for (const ResourceWeight& resource : resources) {
    resolved.push_back(
        {kind_of(resource.name), host.resource_index(resource.name), resource.weight});
  }
  return resolved;
}

void pod_amounts(const std::vector<ScoredResource>& resources, Pod pod, bool nonzero,
                 std::vector<int64_t>& out) {
  out.clear();
  for (const ScoredResource& resource : resources) {
    out.push_back(nonzero ? fit_amount(pod, resource)
                          : Resources(pod->used).amount(resource.index));
  }
}

void DevicesInstead::start(const Host& host, const std::vector<ResourceWeight>& resources) {
  const auto is_extended = [](const ResourceWeight& resource) {
    return is_extended_resource(resource.name);
  };
  if (std::ranges::none_of(resources, is_extended)) return;
  claimed_ = host.find_service<plimsoll_claimed_resources>(PLIMSOLL_CLAIMED_RESOURCES_SERVICE,
                                                           PLIMSOLL_CLAIMED_RESOURCES_VERSION);
  if (claimed_ != nullptr && !PLIMSOLL_HAS(claimed_, devices)) claimed_ = nullptr;
}

std::vector<size_t> DevicesInstead::of(Pod pod, const std::vector<ResourceWeight>& resources,
                                       const std::vector<int64_t>& adds) const {
  std::vector<size_t> found;
  for (size_t i = 0; claimed_ != nullptr && i < resources.size(); ++i) {
    const bool asks = adds[i] != 0 && is_extended_resource(resources[i].name);
    if (asks && claimed_->decides(claimed_->self, &*pod, str(resources[i].name)) != 0)
      found.push_back(i);
  }
  return found;
}

void DevicesInstead::put(Node node, const std::vector<ResourceWeight>& resources,
                         const std::vector<int64_t>& adds, const std::vector<size_t>& which,
                         std::vector<Load>& loads) const {
  for (const size_t at : which) {
    Load& load = loads[at];
    if (load.allocatable != 0) continue;
    claimed_->devices(claimed_->self, &*node, str(resources[at].name), &load.allocatable,
                      &load.allocated);
    load.requested = sum_of(load.allocated, adds[at]);
  }
}

bool two_columns(Nodes nodes, const std::vector<ScoredResource>& resources,
                 const std::vector<int64_t>& adds, bool nonzero, TwoColumns& out) {
  if (resources.size() != 2 || !have_arrays(nodes, resources)) return false;
  const plimsoll_columns& columns = *nodes.columns();
  for (size_t i = 0; i < 2; ++i) {
    const ScoredResource& resource = resources[i];
    if (resource.kind == Kind::kOther || resource.kind == Kind::kScalar) return false;
    LoadColumn& column = i == 0 ? out.first : out.second;
    column = {columns.allocatable[resource.index], columns.requested[resource.index], adds[i]};
    if (nonzero && resource.kind == Kind::kCpu) column.allocated = columns.nonzero_cpu;
    if (nonzero && resource.kind == Kind::kMemory) column.allocated = columns.nonzero_memory;
  }
  return true;
}

void sign_resources(Sink& sink, Pod pod) {
  builtin::sign(sink, Resources(pod->requests));
  builtin::sign(sink, Resources(pod->used));
  sink.put_value(pod->nonzero_cpu);
  sink.put_value(pod->nonzero_memory);
  // Beside pod-level resources, scores rest on each container.
  sink.put_value(pod->pod_requests.count);
  if (pod->pod_requests.count == 0) return;
  for (const auto* containers : {&pod->init_containers, &pod->containers}) {
    for (const plimsoll_container& container : List<plimsoll_container>(*containers)) {
      sink.put_value(container.kind);
      builtin::sign(sink, Resources(container.requests));
    }
  }
  builtin::sign(sink, Resources(pod->overhead));
}

}  // namespace plimsoll::builtin
