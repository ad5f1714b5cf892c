#include "plugins/topology/pod/pod_request.hpp"

#include <algorithm>
#include <plimsoll/views.hpp>

#include "plugins/topology/base/amount.hpp"

namespace plimsoll::topology {
namespace {

using sdk::List;
using sdk::view;

Request* find(Requests& requests, uint32_t resource) {
  for (Request& request : requests) {
    if (request.resource == resource) return &request;
  }
  return nullptr;
}

void add(Requests& to, const Request& request) {
  Request* same = find(to, request.resource);
  if (same == nullptr) {
    to.push_back(request);
  } else {
    same->amount = add_amounts(same->amount, request.amount);
  }
}

void raise(Requests& to, const Request& request) {
  Request* same = find(to, request.resource);
  if (same == nullptr) {
    to.push_back(request);
  } else {
    same->amount = std::max(same->amount, request.amount);
  }
}

// The static CPU manager gives whole CPUs only; the memory manager and devices give any amount.
bool pins(const Request& request, bool guaranteed) {
  if (request.amount <= 0) return false;
  if (request.traits.extended) return true;
  if (!guaranteed || !request.traits.guaranteed_only) return false;
  return request.name != "cpu" || request.amount % 1000 == 0;
}

Request request_of(const plimsoll_resource& resource) {
  const std::string_view name = view(resource.name);
  return {resource.index, clamp_amount(resource.value), name, traits_of(name)};
}

ContainerRequest container_of(const plimsoll_container& container, bool guaranteed) {
  ContainerRequest made;
  made.kind = container.kind;
  made.name = view(container.name);
  for (const plimsoll_resource& resource : List<plimsoll_resource>(container.requests)) {
    const Request request = request_of(resource);
    made.requests.push_back(request);
    if (pins(request, guaranteed)) made.pinned.push_back(request);
  }
  return made;
}

}  // namespace

ResourceTraits traits_of(std::string_view name) {
  ResourceTraits traits;
  const bool hugepages = name.starts_with("hugepages-");
  const bool prefixed = name.find('/') != std::string_view::npos;
  const bool kubernetes = name.find("kubernetes.io/") != std::string_view::npos;
  traits.extended = prefixed && !kubernetes;
  traits.guaranteed_only = name == "cpu" || name == "memory" || hugepages;
  traits.host_level = name == "ephemeral-storage" || name == "storage" || traits.extended;
  traits.in_node_info = name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
                        name == "pods" || hugepages || name.starts_with("attachable-volumes-") ||
                        (prefixed && (kubernetes || !name.starts_with("requests.")));
  return traits;
}

PodRequest::PodRequest(const plimsoll_pod& pod)
    : qos(pod.qos), guaranteed(pod.qos == PLIMSOLL_QOS_GUARANTEED) {
  containers.reserve(pod.init_containers.count + pod.containers.count);
  for (const plimsoll_container& container : List<plimsoll_container>(pod.init_containers)) {
    containers.push_back(container_of(container, guaranteed));
    has_pinned_init = has_pinned_init || !containers.back().pinned.empty();
  }
  init_count = static_cast<uint32_t>(containers.size());
  for (const plimsoll_container& container : List<plimsoll_container>(pod.containers)) {
    containers.push_back(container_of(container, guaranteed));
    for (const Request& request : containers.back().requests) add(effective, request);
  }
  for (uint32_t i = 0; i < init_count; ++i) {
    for (const Request& request : containers[i].requests) raise(effective, request);
  }
  for (const plimsoll_resource& resource : List<plimsoll_resource>(pod.overhead)) {
    add(effective, request_of(resource));
  }
  for (const ContainerRequest& container : containers) {
    has_pinned = has_pinned || !container.pinned.empty();
    for (const Request& request : container.requests) {
      has_extended = has_extended || request.traits.extended;
    }
  }
}

PodRequest PodRequest::without_views() const {
  PodRequest kept(*this);
  for (ContainerRequest& container : kept.containers) {
    container.name = {};
    container.requests.clear();
    for (Request& part : container.pinned) part.name = {};
  }
  kept.effective.clear();
  return kept;
}

void PodRequest::keep_names(std::string& text) {
  const auto for_each_name = [&](const auto& visit) {
    for (ContainerRequest& container : containers) {
      visit(container.name);
      for (Request& part : container.requests) visit(part.name);
      for (Request& part : container.pinned) visit(part.name);
    }
    for (Request& part : effective) visit(part.name);
  };
  size_t length = 0;
  for_each_name([&](std::string_view name) { length += name.size(); });
  text.clear();
  text.reserve(length);
  for_each_name([&](std::string_view& name) {
    const size_t at = text.size();
    text += name;
    name = std::string_view(text).substr(at);
  });
}

int64_t PodRequest::pinned_total(uint32_t resource) const {
  int64_t sidecars = 0;
  int64_t init_peak = 0;
  int64_t apps = 0;
  for (const ContainerRequest& container : containers) {
    for (const Request& request : container.pinned) {
      if (request.resource != resource) continue;
      if (container.kind == PLIMSOLL_CONTAINER_INIT) {
        init_peak = std::max(init_peak, add_amounts(sidecars, request.amount));
      } else if (container.kind == PLIMSOLL_CONTAINER_SIDECAR) {
        sidecars = add_amounts(sidecars, request.amount);
      } else {
        apps = add_amounts(apps, request.amount);
      }
    }
  }
  return std::max(init_peak, add_amounts(apps, sidecars));
}

}  // namespace plimsoll::topology
