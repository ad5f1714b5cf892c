// NodeResourcesFit: a node must have what the pod requests; scores by how full it would be.
#include <plimsoll/services/claimed_resources.h>

#include <cmath>
#include <plimsoll/kinds.hpp>

#include "framework/api/readable_amount.hpp"
#include "framework/api/requests.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/node_resources.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

constexpr int64_t kMaxNodeScore = 100;

// v1.ResourceDeviceClassPrefix
constexpr const char* kDeviceClassPrefix = "deviceclass.resource.kubernetes.io/";

// 100 * part / whole without overflow.
int64_t percent(int64_t part, int64_t whole) {
  return static_cast<int64_t>(static_cast<__int128>(part) * kMaxNodeScore / whole);
}

int64_t least_allocated(const Load& load) {
  return load.requested > load.allocatable
             ? 0
             : percent(load.allocatable - load.requested, load.allocatable);
}

int64_t most_allocated(const Load& load) {
  return percent(std::min(load.requested, load.allocatable), load.allocatable);
}

// What a pod wants of one resource. Mostly few, so a bit mask says which a node lacks.
struct Need {
  uint32_t index;
  int64_t amount;
  std::string_view name;
  bool claimed = false;  // a node that has none may give devices for it
};

// What a pod wants: of what nodes may have, and of what none has, which is lacking everywhere,
// however much of it there is.
struct Needs {
  std::vector<Need> some;
  std::vector<Need> of_no_node;
  bool any_claimed = false;  // of `some`
};

// In a list as pods and nodes have it, sorted by position.
int64_t amount_of(Resources resources, uint32_t index) {
  const auto at = std::lower_bound(
      resources.begin(), resources.end(), index,
      [](const plimsoll_resource& each, uint32_t wanted) { return each.index < wanted; });
  return at != resources.end() && at->index == index ? at->value : 0;
}

class NodeResourcesFit {
 public:
  static constexpr const char* kName = "NodeResourcesFit";
  static constexpr const char* kDefaultArgs = kFitDefaults;
  static constexpr uint32_t filter_aspects =
      PLIMSOLL_ASPECT_ALLOCATABLE | PLIMSOLL_ASPECT_REQUESTED;
  static constexpr uint32_t score_aspects = filter_aspects;

  NodeResourcesFit(const Host& host, std::string_view args_json)
      : host_(host),
        args_(read_fit_args(host, args_json)),
        resources_(resolve(host, args_.resources)) {}

  void start() {
    claimed_ = host_.find_service<plimsoll_claimed_resources>(PLIMSOLL_CLAIMED_RESOURCES_SERVICE,
                                                              PLIMSOLL_CLAIMED_RESOURCES_VERSION);
    instead_.start(host_, args_.resources);
  }

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (view(event.resource) == kDeviceClasses.resource) return queue_if(class_helps(pod, event));
    if (event.new_node != nullptr) return queue_if(node_helps(pod, event));
    if (event.old_pod == nullptr) return Hint::kQueue;
    if (event.new_pod == nullptr) {
      const plimsoll_str& bound = event.old_pod->node_name;
      const plimsoll_str& left = bound.len != 0 ? bound : event.old_pod->nominated_node_name;
      return queue_if(left.len != 0 && may_ever_take(left, pod));
    }
    return queue_if(is_about(event, pod) ||
                    (event.new_pod->node_name.len != 0 && frees(pod, event) &&
                     may_ever_take(event.new_pod->node_name, pod)));
  }

  Status filter(const plimsoll_cycle&, Pod pod, Nodes nodes, Verdicts verdicts) const {
    thread_local Needs needs;  // kept, so that a call allocates nothing
    find_needs(pod, needs);
    std::vector<std::pair<uint64_t, uint32_t>> reasons;  // by mask: few differ in one call
    const auto look_at = [&](size_t i, const auto& node) {
      if (!verdicts.open(i)) return;
      bool never = false;
      const uint64_t lacking = missing(needs, node, &never);
      if (lacking == 0) return;
      auto at = std::find_if(reasons.begin(), reasons.end(),
                             [&](const auto& known) { return known.first == lacking; });
      if (at == reasons.end()) at = reasons.insert(at, {lacking, reason_of(needs, lacking)});
      verdicts.set(i, never ? Status::unresolvable(at->second) : Status::unschedulable(at->second));
    };
    if (!have_arrays(nodes, needs.some) || !needs.of_no_node.empty() || needs.any_claimed) {
      for (size_t i = 0; i < nodes.size(); ++i) look_at(i, RowAmounts(nodes[i]));
      return Status::success();
    }
    thread_local std::vector<uint8_t> lacks;  // as `needs`
    mark_lacking(needs.some, nodes, lacks);
    const auto slots = nodes.slots();
    for (size_t i = next_marked(lacks.data(), 0, slots.size()); i < slots.size();
         i = next_marked(lacks.data(), i + 1, slots.size())) {
      look_at(i, SlotAmounts(*nodes.columns(), slots[i]));
    }
    return Status::success();
  }

  // "cpu: need 9, 6 free of 16; memory: ..." of what is short.
  void explain(const plimsoll_cycle&, Pod pod, Node node, Sink& sink) const {
    std::string text;
    const auto add = [&text](const std::string& part) {
      text += (text.empty() ? "" : "; ") + part;
    };
    const RowAmounts amounts(node);
    if (const int64_t most = amounts.allocatable(PLIMSOLL_RESOURCE_PODS);
        amounts.pod_count() + 1 > most) {
      add("pods: " + std::to_string(amounts.pod_count()) + " of " + std::to_string(most));
    }
    for (const plimsoll_resource& request : pod.requests()) {
      if (request.value <= 0 || request.index == PLIMSOLL_RESOURCE_PODS) continue;
      if (text.size() > kLongText) {  // everybody may name resources as he likes
        add("and more");
        break;
      }
      const bool nowhere = request.index == PLIMSOLL_RESOURCE_OF_NO_NODE;
      const std::string_view name = view(request.name);
      const int64_t allocatable = nowhere ? 0 : amounts.allocatable(request.index);
      const int64_t free = nowhere ? 0 : allocatable - amounts.requested(request.index);
      if (request.value <= free || ignored(name)) continue;
      if (allocatable == 0 && claimed(pod, name)) continue;
      add(std::string(name) + ": need " + readable_amount(name, request.value) +
          (nowhere ? ", no node has it"
                   : ", " + readable_amount(name, std::max<int64_t>(free, 0)) + " free of " +
                         readable_amount(name, allocatable)));
    }
    sink.put(text);
  }

  Status score(const plimsoll_cycle&, Pod pod, Nodes nodes, std::span<int64_t> scores) const {
    thread_local std::vector<int64_t> adds;  // kept, so that a call allocates nothing
    pod_amounts(resources_, pod, true, adds);
    const std::vector<size_t> devices = instead_.of(pod, args_.resources, adds);
    std::vector<Load> loads;
    const auto score_node = [&](size_t i, const auto& node) {
      node_loads(resources_, adds, node, true, loads);
      if (!devices.empty()) instead_.put(nodes[i], args_.resources, adds, devices, loads);
      scores[i] = score_of(loads);
    };
    TwoColumns two{};
    const bool even =
        devices.empty() && resources_.size() == 2 && resources_[0].weight == resources_[1].weight;
    if (even && args_.strategy != Strategy::kRequestedToCapacityRatio &&
        two_columns(nodes, resources_, adds, true, two)) {
      const bool least = args_.strategy == Strategy::kLeastAllocated;
      score_by_columns(nodes, two, least ? score_least_allocated : score_most_allocated, scores,
                       score_node);
    } else {
      for_each_amounts(nodes, resources_, score_node);
    }
    return Status::success();
  }

  // Devices that are given away change no amount of a node.
  Status sign(Pod pod, Sink& sink) {
    thread_local std::vector<int64_t> adds;
    pod_amounts(resources_, pod, true, adds);
    if (!instead_.of(pod, args_.resources, adds).empty()) return Status::skip();
    sign_resources(sink, pod);
    return Status::success();
  }

 private:
  static constexpr uint64_t kTooManyPods = 1;
  static constexpr uint64_t kLastBit = uint64_t{1} << 63;  // for all that come after it, too
  static constexpr uint64_t kOfNoNode = uint64_t{1} << 62;
  static constexpr size_t kMostNamed = 64;   // of those that no node has
  static constexpr size_t kLongText = 1024;  // for people

  bool ignored(std::string_view name) const {
    if (!is_extended_resource(name)) return false;
    const auto listed = [](const std::vector<std::string>& list, std::string_view text) {
      return std::find(list.begin(), list.end(), text) != list.end();
    };
    return listed(args_.ignored_resources, name) ||
           listed(args_.ignored_groups, name.substr(0, name.find('/')));
  }

  // Since 1.4 plugins may stand for extended resources that a node itself lacks.
  bool claimed(Pod pod, std::string_view name) const {
    return claimed_ != nullptr && claimed_->decides(claimed_->self, &*pod, str(name)) != 0;
  }

  void find_needs(Pod pod, Needs& needs) const {
    needs.some.clear();
    needs.of_no_node.clear();
    needs.any_claimed = false;
    for (const plimsoll_resource& request : pod.requests()) {
      if (request.value <= 0 || request.index == PLIMSOLL_RESOURCE_PODS) continue;
      if (ignored(view(request.name))) continue;
      const bool nowhere = request.index == PLIMSOLL_RESOURCE_OF_NO_NODE;
      const bool scalar = request.index > PLIMSOLL_RESOURCE_PODS;
      const bool devices = scalar && claimed(pod, view(request.name));
      if (nowhere && devices) continue;
      needs.any_claimed = needs.any_claimed || devices;
      (nowhere ? needs.of_no_node : needs.some)
          .push_back({request.index, request.value, view(request.name), devices});
    }
  }

  // Which of the nodes lack anything; see missing().
  static void mark_lacking(const std::vector<Need>& needs, Nodes nodes,
                           std::vector<uint8_t>& lacks) {
    const plimsoll_columns& columns = *nodes.columns();
    const std::span<const uint32_t> slots = nodes.slots();
    lacks.assign(slots.size(), 0);
    for_each_run(slots, [&](size_t at, size_t count, uint32_t slot) {
      mark_too_many_pods(count, columns.pod_count + slot,
                         columns.allocatable[PLIMSOLL_RESOURCE_PODS] + slot, lacks.data() + at);
      for (const Need& need : needs) {
        mark_insufficient(count, need.amount, columns.allocatable[need.index] + slot,
                          columns.requested[need.index] + slot, lacks.data() + at);
      }
    });
  }

  template <typename Amounts>
  static uint64_t missing(const Needs& needs, const Amounts& node, bool* never) {
    uint64_t lacking = needs.of_no_node.empty() ? 0 : kOfNoNode;
    *never = lacking != 0;
    if (node.pod_count() + 1 > node.allocatable(PLIMSOLL_RESOURCE_PODS)) lacking |= kTooManyPods;
    uint64_t bit = kTooManyPods << 1;
    for (const Need& need : needs.some) {
      const int64_t allocatable = node.allocatable(need.index);
      if (need.claimed && allocatable == 0) {
        // whoever stands for it decides
      } else if (need.amount > allocatable - node.requested(need.index)) {
        lacking |= bit;
        *never = *never || need.amount > allocatable;
      }
      bit = bit == kOfNoNode >> 1 ? kLastBit : bit == kLastBit ? bit : bit << 1;
    }
    return lacking;
  }

  uint32_t reason_of(const Needs& needs, uint64_t lacking) const {
    std::vector<std::string> texts;
    const auto insufficient = [&](const Need& need) {
      texts.push_back("Insufficient " + std::string(need.name));
    };
    if ((lacking & kTooManyPods) != 0) texts.emplace_back("Too many pods");
    for (size_t i = 0; i < needs.some.size(); ++i) {
      const size_t bit = i + 1 < 62 ? i + 1 : 63;
      if ((lacking >> bit & 1) != 0) insufficient(needs.some[i]);
    }
    if ((lacking & kOfNoNode) == 0) return reason(texts);
    const size_t count = needs.of_no_node.size();
    const size_t named = std::min(count, kMostNamed);
    for (size_t i = 0; i < named; ++i) insufficient(needs.of_no_node[i]);
    if (named < count) texts.push_back(std::to_string(count - named) + " more that no node has");
    return reason(texts);
  }

  uint32_t reason(const std::vector<std::string>& texts) const {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    return host_.reason(std::span(views));
  }

  int64_t score_of(const std::vector<Load>& loads) const {
    int64_t sum = 0;
    int64_t weights = 0;
    const bool ratio = args_.strategy == Strategy::kRequestedToCapacityRatio;
    for (size_t i = 0; i < loads.size(); ++i) {
      const Load& load = loads[i];
      if (load.allocatable == 0) continue;
      int64_t score = 0;
      if (ratio) {
        score = on_shape(args_.shape, load.requested > load.allocatable
                                          ? kMaxNodeScore
                                          : percent(load.requested, load.allocatable));
        if (score <= 0) continue;
      } else {
        score = args_.strategy == Strategy::kLeastAllocated ? least_allocated(load)
                                                            : most_allocated(load);
      }
      sum += score * resources_[i].weight;
      weights += resources_[i].weight;
    }
    if (weights == 0) return 0;
    if (!ratio) return sum / weights;
    return static_cast<int64_t>(
        std::round(static_cast<double>(sum) / static_cast<double>(weights)));
  }

  // Whether an empty node has what the pod needs. kube-scheduler counts ignored resources here,
  // which Filter does not: where nodes do not list them, no node helps there.
  bool is_enough(Resources allocatable, Pod pod, Needs& needs) const {
    if (amount_of(allocatable, PLIMSOLL_RESOURCE_PODS) < 1) return false;
    find_needs(pod, needs);
    return needs.of_no_node.empty() &&
           std::all_of(needs.some.begin(), needs.some.end(), [&](const Need& need) {
             const int64_t amount = amount_of(allocatable, need.index);
             return need.amount <= amount || (need.claimed && amount == 0);
           });
  }

  // False: what other pods leave there is of no use to the pod. kube-scheduler's hint does not ask
  // that, and so tries a pod that fits nowhere each time when another one ends.
  bool may_ever_take(const plimsoll_str& node_name, Pod pod) const {
    const Node node = host_.node(view(node_name));
    thread_local Needs needs;
    return !node || is_enough(node.object().allocatable, pod, needs);
  }

  // A node that could never hold the pod, even empty, is no reason to try again; nor is one that
  // gained nothing the pod asks for.
  bool node_helps(Pod pod, const plimsoll_event& event) const {
    const Resources now = event.new_node->allocatable;
    thread_local Needs needs;
    if (!is_enough(now, pod, needs)) return false;
    if (event.old_node == nullptr) return true;
    const Resources before = event.old_node->allocatable;
    const auto grew = [&](uint32_t index) {
      return amount_of(now, index) > amount_of(before, index);
    };
    return grew(PLIMSOLL_RESOURCE_PODS) ||
           std::any_of(needs.some.begin(), needs.some.end(),
                       [&](const Need& need) { return grew(need.index); });
  }

  // isSchedulableAfterDeviceClassEvent: devices may stand for what the pod requests now. A class
  // has its own name for ever.
  static bool class_helps(Pod pod, const plimsoll_event& event) {
    const auto* before = reinterpret_cast<const plimsoll_device_class*>(event.old_object);
    const auto* now = reinterpret_cast<const plimsoll_device_class*>(event.new_object);
    if (now == nullptr) return false;
    const std::string_view name = view(now->extended_resource_name);
    if (before != nullptr && view(before->extended_resource_name) == name) return false;
    const std::string own =
        before == nullptr ? kDeviceClassPrefix + std::string(view(now->object.meta.name)) : "";
    const Resources requests = pod.requests();
    return std::any_of(requests.begin(), requests.end(), [&](const plimsoll_resource& each) {
      const std::string_view asked = view(each.name);
      return !asked.empty() && (asked == name || asked == own);
    });
  }

  static bool frees(Pod pod, const plimsoll_event& event) {
    const Resources before = event.old_pod->used;
    const Resources now = event.new_pod->used;
    for (const plimsoll_resource& request : Resources(pod->used)) {
      if (request.index == PLIMSOLL_RESOURCE_OF_NO_NODE) break;  // so are the rest
      if (request.value != 0 && amount_of(before, request.index) > amount_of(now, request.index)) {
        return true;
      }
    }
    return false;
  }

  Host host_;
  const plimsoll_claimed_resources* claimed_ = nullptr;
  DevicesInstead instead_;
  FitArgs args_;
  std::vector<ScoredResource> resources_;
  // Classes are watched by whoever gives devices. Where nobody does, none ever comes.
  std::array<plimsoll_event_interest, 3> events_{
      on_pod(PLIMSOLL_ACTION_DELETE | PLIMSOLL_ACTION_UPDATE_POD_SCALE_DOWN),
      on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE),
      {str(kDeviceClasses.resource), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE, 0}};
};

}  // namespace

StaticModule node_resources_fit() {
  return linked_in<NodeResourcesFit>();
}

}  // namespace plimsoll::builtin
