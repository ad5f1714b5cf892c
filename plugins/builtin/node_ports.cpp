// NodePorts: two pods on a node cannot have the same host port.
#include <algorithm>
#include <vector>

#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

// Host ports of the containers that keep running: sidecars too, other init containers not.
std::vector<plimsoll_host_port> ports_of(Pod pod) {
  std::vector<plimsoll_host_port> ports;
  for (const auto* containers : {&pod->containers, &pod->init_containers}) {
    for (const plimsoll_container& container : List<plimsoll_container>(*containers)) {
      if (container.kind == PLIMSOLL_CONTAINER_INIT) continue;
      for (const auto& port : List<plimsoll_host_port>(container.ports)) ports.push_back(port);
    }
  }
  return ports;
}

bool by_number(const plimsoll_host_port& a, const plimsoll_host_port& b) {
  return a.port != b.port ? a.port < b.port : view(a.protocol) < view(b.protocol);
}

bool by_address(const plimsoll_host_port& a, const plimsoll_host_port& b) {
  return by_number(a, b) || (!by_number(b, a) && view(a.ip) < view(b.ip));
}

// Whether some port is in both, on the same address or on all of a node's (HostPortInfo). `wanted`
// is sorted by address: pods may ask for thousands of ports, all of one number.
bool overlap(const std::vector<plimsoll_host_port>& wanted, List<plimsoll_host_port> used) {
  constexpr std::string_view kEverywhere = "0.0.0.0";
  for (const plimsoll_host_port& taken : used) {
    const auto [first, last] = std::equal_range(wanted.begin(), wanted.end(), taken, by_number);
    if (first == last) continue;
    if (view(taken.ip) == kEverywhere) return true;
    plimsoll_host_port everywhere = taken;
    everywhere.ip = str(kEverywhere);
    if (std::binary_search(first, last, taken, by_address) ||
        std::binary_search(first, last, everywhere, by_address)) {
      return true;
    }
  }
  return false;
}

std::vector<plimsoll_host_port> sorted_ports_of(Pod pod) {
  std::vector<plimsoll_host_port> ports = ports_of(pod);
  std::sort(ports.begin(), ports.end(), by_address);
  return ports;
}

class NodePorts {
 public:
  static constexpr const char* kName = "NodePorts";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_PORTS;

  explicit NodePorts(const Host& host)
      : taken_(host.reason("node(s) didn't have free ports for the requested pod ports")) {}

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (event.old_pod == nullptr) return Hint::kQueue;  // a node was added
    if (event.old_pod->node_name.len == 0 && event.old_pod->nominated_node_name.len == 0) {
      return Hint::kSkip;
    }
    const auto freed = ports_of(Pod(event.old_pod));
    return queue_if(overlap(sorted_ports_of(pod), list_of(std::span(freed))));
  }
  Status pre_filter(plimsoll_cycle&, Pod pod) {
    return ports_of(pod).empty() ? Status::skip() : Status::success();
  }
  Status filter(const plimsoll_cycle&, Pod pod, Nodes nodes, Verdicts verdicts) const {
    const auto wanted = sorted_ports_of(pod);
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (verdicts.open(i) && overlap(wanted, nodes[i]->host_ports)) {
        verdicts.set(i, Status::unschedulable(taken_));
      }
    }
    return Status::success();
  }
  Status sign(Pod pod, Sink& sink) {
    for (const plimsoll_host_port& port : ports_of(pod)) {
      sink.put_field(view(port.ip));
      sink.put_field(view(port.protocol));
      sink.put_value(port.port);
    }
    return Status::success();
  }

 private:
  uint32_t taken_;
  std::array<plimsoll_event_interest, 2> events_{on_pod(PLIMSOLL_ACTION_DELETE),
                                                 on_node(PLIMSOLL_ACTION_ADD)};
};

}  // namespace

StaticModule node_ports() {
  return linked_in<NodePorts>();
}

}  // namespace plimsoll::builtin
