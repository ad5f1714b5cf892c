#pragma once
// What the topology plugins' Filter and Score read of a pod: QoS class, requests and limits of
// every container by kind, overhead, pod-level resources. Pods with equal bytes get equal verdicts
// and scores.

#include <plimsoll/arguments.hpp>

namespace plimsoll::topology {

inline void sign_resources(const plimsoll_list& list, sdk::Sink& sink) {
  sink.put_value(list.count);
  for (const plimsoll_resource& resource : sdk::List<plimsoll_resource>(list)) {
    sink.put_field(sdk::view(resource.name));
    sink.put_value(resource.value);
  }
}

inline void sign_requests(const plimsoll_pod& pod, sdk::Sink& sink) {
  sink.put_value(pod.qos);
  for (const plimsoll_list& containers : {pod.init_containers, pod.containers}) {
    sink.put_value(containers.count);
    for (const plimsoll_container& container : sdk::List<plimsoll_container>(containers)) {
      sink.put_value(container.kind);
      sign_resources(container.requests, sink);
      sign_resources(container.limits, sink);  // devices are asked for by limits
    }
  }
  sign_resources(pod.overhead, sink);
  sign_resources(pod.pod_requests, sink);
  sign_resources(pod.pod_limits, sink);
}

}  // namespace plimsoll::topology
