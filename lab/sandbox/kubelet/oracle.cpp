#include "lab/sandbox/kubelet/oracle.hpp"

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <plimsoll/plugin.hpp>
#include <unordered_map>

#include "plugins/topology/pod/pod_request.hpp"
#include "plugins/topology/pod/signature.hpp"
#include "plugins/topology/record/zones_annotation.hpp"
#include "plugins/topology/service/ledger_access.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;
using topology::LedgerAccess;

std::atomic<OracleScope*> world{nullptr};

// Cached answers for pods of one shape.
struct Shape {
  struct Answer {
    std::uint64_t version = 0;  // of the node at the time of the answer
    bool takes = false;
  };
  std::shared_ptr<const PodQuestion> question;
  std::vector<Answer> answers;  // by slot
};

class Oracle {
 public:
  static constexpr const char* kName = "NodeResourceTopologyMatch";

  Oracle(sdk::Host host, std::string_view)
      : host_(host),
        ledger_(host),
        refusal_(host.reason("the kubelet would refuse the pod")),
        interests_{
            {sdk::str("Pod"), PLIMSOLL_ACTION_DELETE, 0},
            {sdk::str("Node"), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE, 0},
            {sdk::str(topology::kNrtResource), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE, 0}} {}

  const std::vector<plimsoll_event_interest>& events() const { return interests_; }

  sdk::Hint hint(sdk::Pod pod, const plimsoll_event& event) {
    if (event.new_node != nullptr) return sdk::Hint::kQueue;
    const std::lock_guard lock(mutex_);
    const sdk::Node node =
        host_.node(sdk::view(event.old_pod != nullptr ? event.old_pod->node_name : event.name));
    return node && takes(shape_of(pod), node) ? sdk::Hint::kQueue : sdk::Hint::kSkip;
  }

  sdk::Status filter(const plimsoll_cycle&, sdk::Pod pod, sdk::Nodes nodes,
                     sdk::Verdicts verdicts) const {
    const std::lock_guard lock(mutex_);
    Shape& shape = shape_of(pod);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (verdicts.open(i) && !takes(shape, nodes[i])) {
        verdicts.set(i, sdk::Status::unschedulable(refusal_));
      }
    }
    return sdk::Status::success();
  }

  sdk::Status reserve(plimsoll_cycle& cycle, sdk::Pod pod, sdk::Node node) {
    const json object = object_of(pod);
    OracleScope* const scope = world.load();
    if (scope == nullptr || !object.is_object() ||
        !scope->kubelets.take(std::string(node.name()), object)) {
      return sdk::Status::unschedulable(refusal_);
    }
    std::vector<plimsoll_numa_charge> where;
    ledger_.service().reserve(node.slot(), *pod, true, where);
    const std::string zones = topology::zones_annotation(topology::PodRequest(*pod), where);
    if (!zones.empty()) host_.annotate(cycle, kZonesAnnotation, zones);
    return sdk::Status::success();
  }

  void unreserve(plimsoll_cycle&, sdk::Pod pod, std::string_view node_name) {
    if (OracleScope* const scope = world.load()) {
      scope->kubelets.give_back(std::string(node_name), std::string(sdk::view(pod->meta.uid)));
    }
    ledger_.service().unreserve(*pod);
  }

  void node_event(sdk::NodeEvent type, sdk::Node node, uint32_t) { ledger_.node_event(type, node); }
  void pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name) {
    ledger_.pod_event(type, pod, node_name);
  }
  void object_event(const sdk::ObjectEvent& event) { ledger_.object_event(event); }

 private:
  static json object_of(sdk::Pod pod) {
    OracleScope* const scope = world.load();
    if (scope == nullptr) return {};
    const auto stored = scope->store.get(
        kPods, {std::string(sdk::view(pod->meta.ns)), std::string(sdk::view(pod->meta.name))});
    return stored ? (*stored)->parse() : json();
  }

  Shape& shape_of(sdk::Pod pod) const {
    std::string key;
    sdk::Sink sink(
        [](void* to, const void* bytes, size_t length) {
          static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), length);
        },
        &key);
    topology::sign_requests(*pod, sink);
    const auto [found, fresh] = shapes_.try_emplace(std::move(key));
    OracleScope* const scope = world.load();
    if (found->second.question == nullptr && scope != nullptr) {
      const json object = object_of(pod);
      if (object.is_object()) found->second.question = scope->kubelets.question_of(object);
    }
    return found->second;
  }

  // Asks the kubelet again if something changed on its node.
  static bool takes(Shape& shape, sdk::Node node) {
    OracleScope* const scope = world.load();
    if (scope == nullptr || shape.question == nullptr) return false;
    if (shape.answers.size() <= node.slot()) shape.answers.resize(node.slot() + 1);
    Shape::Answer& answer = shape.answers[node.slot()];
    const std::string name(node.name());
    const std::uint64_t version = scope->kubelets.version_of(name);
    if (version != answer.version) {
      answer = {version, scope->kubelets.takes(name, *shape.question)};
    }
    return answer.takes;
  }

  sdk::Host host_;
  LedgerAccess ledger_;
  uint32_t refusal_;
  std::vector<plimsoll_event_interest> interests_;
  mutable std::mutex mutex_;  // Filter may run on several threads
  // Keyed by the scheduling requests of the pods.
  mutable std::unordered_map<std::string, Shape> shapes_;
};

}  // namespace

OracleScope::OracleScope(const ObjectStore& objects, SimulatedKubelets& nodes)
    : store(objects), kubelets(nodes) {
  world.store(this);
}

OracleScope::~OracleScope() {
  world.store(nullptr);
}

plimsoll_plugin_create_fn oracle_plugin() {
  return sdk::create_fn<Oracle>;
}

}  // namespace plimsoll::sandbox
