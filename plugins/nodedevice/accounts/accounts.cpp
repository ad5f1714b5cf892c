#include "plugins/nodedevice/accounts/accounts.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace plimsoll::devices {

Accounts::Accounts(const DeviceTypes& types, std::function<void(uint32_t slot)> changed)
    : types_(types), changed_(std::move(changed)) {}

// ---- nodes

Accounts::NodeEntry* Accounts::find_entry(std::string_view node) {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? nullptr : it->second.get();
}

Accounts::NodeEntry& Accounts::entry(std::string_view node) {
  if (NodeEntry* found = find_entry(node)) return *found;
  auto made = std::make_unique<NodeEntry>(NodeEntry{NodeState(types_), kNoSlot, {}, {}});
  made->state.name = std::string(node);
  return *nodes_.emplace(std::string(node), std::move(made)).first->second;
}

void Accounts::drop_if_empty(NodeEntry& entry) {
  const NodeState& state = entry.state;
  if (entry.slot != kNoSlot || state.object != nullptr || state.malformed || !entry.pods.empty())
    return;
  nodes_.erase(nodes_.find(std::string_view(state.name)));
}

void Accounts::changed(const NodeEntry& entry) const {
  if (entry.slot != kNoSlot && changed_) changed_(entry.slot);
}

void Accounts::node_added(std::string_view name, uint32_t slot) {
  NodeEntry& node = entry(name);
  if (node.slot == slot) return;
  if (node.slot != kNoSlot) slots_[node.slot] = nullptr;
  if (slot >= slots_.size()) slots_.resize(slot + 1, nullptr);
  if (NodeEntry* before = slots_[slot]) {
    before->slot = kNoSlot;
    if (before->state.gone) before->state.set_object(nullptr);
    drop_if_empty(*before);
  }
  node.slot = slot;
  slots_[slot] = &node;
  changed(node);  // whatever was remembered of the slot was about another node
}

void Accounts::node_removed(std::string_view name) {
  NodeEntry* node = find_entry(name);
  if (node == nullptr) return;
  if (node->slot != kNoSlot) slots_[node->slot] = nullptr;
  node->slot = kNoSlot;
  node->links.reset();
  node->state.links_problem.clear();
  node->state.set_node_links(nullptr);
  if (node->state.gone) node->state.set_object(nullptr);  // one that is made anew is another
  drop_if_empty(*node);
}

std::string Accounts::node_links(std::string_view name, std::optional<std::string_view> json) {
  NodeEntry& node = entry(name);
  if (node.links == json) return {};
  node.links = json;
  node.state.links_problem.clear();
  std::shared_ptr<LinkTable> table;
  if (json) {
    auto parsed = parse_links(types_, *json);
    if (!parsed)
      node.state.links_problem =
          "annotation " + std::string(kLinksAnnotation) + ": " + parsed.error();
    table = std::make_shared<LinkTable>(parsed ? *std::move(parsed) : LinkTable{});
  }
  node.state.set_node_links(std::move(table));
  changed(node);
  return node.state.links_problem;
}

const NodeState* Accounts::find(std::string_view node) const {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? nullptr : &it->second->state;
}

// ---- Device objects

std::vector<std::string> Accounts::device_changed(std::string_view node, std::string_view json) {
  NodeEntry& known = entry(node);
  auto parsed = parse_device_object(types_, json);
  std::vector<std::string> problems;
  if (parsed && parsed->name != node)
    parsed = fail("Device " + parsed->name + ": metadata.name: is not the name of node " +
                  std::string(node));
  // Reports repeat every few seconds: one that says nothing new must not wake anybody.
  if (!parsed) {
    if (known.state.malformed && known.state.problem == parsed.error()) return {};
    known.state.set_object(nullptr);
    known.state.malformed = true;
    known.state.problem = parsed.error();
    problems.push_back(parsed.error());
  } else {
    for (const std::string& unreadable : parsed->unreadable)
      problems.push_back("Device " + parsed->name + ": " + unreadable);
    for (const std::string& warning : parsed->warnings)
      problems.push_back("Device " + parsed->name + ": " + warning + "; that part is ignored");
    if (known.state.object != nullptr && *known.state.object == *parsed) return {};
    const uint32_t shape = shapes_.intern(*parsed);
    known.state.set_object(std::make_shared<const NodeDevices>(*std::move(parsed)));
    known.state.shape = shape;
  }
  reresolve(known);
  changed(known);
  return problems;
}

void Accounts::device_deleted(std::string_view node) {
  NodeEntry* known = find_entry(node);
  if (known == nullptr) return;
  const bool was_there = known->state.object != nullptr || known->state.malformed;
  const bool gone = known->slot != kNoSlot && (was_there || known->state.gone);
  known->state.set_object(nullptr);
  known->state.gone = gone;
  reresolve(*known);
  changed(*known);
  drop_if_empty(*known);
}

// A new object may bring, or take back, what the kubelet's checkpoint says about pods.
void Accounts::reresolve(NodeEntry& entry) {
  for (const std::string& uid : entry.pods) {
    PodRecord& record = pods_.find(uid)->second;
    if (!record.from_requests) continue;
    apply(entry.state, record, -1);
    resolve_by_checkpoint(uid, entry.state, record);
    apply(entry.state, record, +1);
  }
  name_for_unknown(entry);
}

// ---- pods

void Accounts::apply(NodeState& state, const PodRecord& record, int sign) {
  if (sign > 0)
    state.add(record.shares);
  else
    state.remove(record.shares);
  for (int t = 0; t < kMaxTypes; ++t) {
    const int64_t unknown = record.unknown[static_cast<size_t>(t)];
    if (unknown != 0) state.add_unknown(t, sign * unknown);
    if ((record.blocked >> t & 1U) != 0) state.add_blocked(t, sign);
  }
}

void Accounts::erase(Pods::iterator it) {
  NodeEntry* node = find_entry(it->second.node);
  apply(node->state, it->second, -1);
  node->pods.erase(node->pods.find(it->first));
  pods_.erase(it);
  name_for_unknown(*node);
  changed(*node);
  drop_if_empty(*node);
}

void Accounts::put(std::string_view uid, PodRecord record) {
  const auto before = pods_.find(uid);
  if (before != pods_.end()) {
    if (before->second.node == record.node && before->second.shares == record.shares &&
        before->second.unknown == record.unknown && before->second.blocked == record.blocked &&
        before->second.from_requests == record.from_requests) {
      before->second = std::move(record);
      return;
    }
    erase(before);
  }
  NodeEntry& node = entry(record.node);
  apply(node.state, record, +1);
  node.pods.emplace(uid);
  pods_.emplace(std::string(uid), std::move(record));
  name_for_unknown(node);
  changed(node);
}

void Accounts::reserve(std::string_view uid, std::string_view node, Allocation allocation,
                       std::string_view name, const Elsewhere& elsewhere) {
  if (allocation.empty() && !uses_any(elsewhere)) return;
  PodRecord record;
  for (size_t t = 0; t < elsewhere.size(); ++t)
    if (elsewhere[t] == kAnyNumber)
      record.blocked |= 1U << t;
    else
      record.unknown[t] = elsewhere[t];
  record.name = std::string(name);
  record.node = std::string(node);
  for (DeviceShare& share : allocation) share.keep_only(types_.type(share.type), share.asked());
  record.shares = std::move(allocation);
  record.assumed = true;
  put(uid, std::move(record));
}

void Accounts::reserve_unknown(const AssignedPod& pod) {
  const Entitlements entitled = entitlements_of(types_, pod.requests, pod.hints, pod.containers);
  if (!any_of(entitled)) return;
  PodRecord record = record_of_requests(pod, entitled, entry(pod.node).state);
  record.assumed = true;
  put(pod.uid, std::move(record));
}

void Accounts::unreserve(std::string_view uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return;
  if (it->second.assumed) return erase(it);
  if (!it->second.unshown) return;
  // An earlier binding was carried out, whose answer was lost: this promise was never written.
  PodRecord shown;
  shown.node = it->second.node;
  shown.name = it->second.name;
  shown.from_requests = true;
  shown.asked = it->second.asked;
  shown.unbounded = it->second.unbounded;
  resolve_by_checkpoint(uid, entry(shown.node).state, shown);
  put(uid, std::move(shown));
}

PodRecord Accounts::record_of_annotation(const AssignedPod& pod, const Entitlements& entitled,
                                         AnnotationProblems& problems) const {
  PodRecord record;
  record.node = std::string(pod.node);
  record.name = std::string(pod.name);
  BoundedAllocation bounded = bounded_allocation(types_, *pod.allocated, entitled);
  for (int t = 0; t < types_.count(); ++t) {
    const auto index = static_cast<size_t>(t);
    if ((bounded.left_out >> t & 1U) != 0) problems.ignored.push_back(types_.type(t).name);
    record.asked[index] = entitled[index].count;
  }
  record.blocked = record.unbounded = bounded.unbounded;
  record.shares = std::move(bounded.shares);
  record.unknown = bounded.unknown;
  record.problems = problems.unreadable = bounded.problems.texts();
  return record;
}

PodRecord Accounts::record_of_requests(const AssignedPod& pod, const Entitlements& entitled,
                                       const NodeState& node) const {
  PodRecord record;
  record.node = std::string(pod.node);
  record.name = std::string(pod.name);
  record.from_requests = true;
  for (size_t t = 0; t < entitled.size(); ++t) {
    record.asked[t] = entitled[t].count;
    if (entitled[t].unbounded || entitled[t].at_most == kAnyNumber) record.unbounded |= 1U << t;
  }
  resolve_by_checkpoint(pod.uid, node, record);
  return record;
}

AnnotationProblems Accounts::pod_assigned(const AssignedPod& pod) {
  AnnotationProblems problems;
  const auto before = pods_.find(pod.uid);
  const Entitlements entitled = entitlements_of(types_, pod.requests, pod.hints, pod.containers);
  if (!any_of(entitled)) {
    if (pod.allocated) problems.ignored.emplace_back("all of it");
    if (before != pods_.end()) erase(before);
    return problems;
  }
  PodRecord record = pod.allocated ? record_of_annotation(pod, entitled, problems)
                                   : record_of_requests(pod, entitled, entry(pod.node).state);
  // The API server does not show what the pod was given, or shows what cannot be true; what is
  // known of it is still known best.
  const bool says_nothing = !pod.allocated || !record.problems.empty();
  if (says_nothing && before != pods_.end() && !before->second.from_requests &&
      before->second.node == pod.node && before->second.problems.empty()) {
    before->second.assumed = false;
    before->second.unshown = true;
    before->second.asked = record.asked;
    before->second.unbounded = record.unbounded;
    return problems;
  }
  put(pod.uid, std::move(record));
  return problems;
}

void Accounts::pod_removed(std::string_view uid) {
  const auto it = pods_.find(uid);
  if (it != pods_.end()) erase(it);
}

const Allocation* Accounts::allocation_of(std::string_view uid) const {
  const auto it = pods_.find(uid);
  return it == pods_.end() || it->second.shares.empty() ? nullptr : &it->second.shares;
}

const NodeState* Accounts::node_of(std::string_view uid) const {
  const auto it = pods_.find(uid);
  return it == pods_.end() ? nullptr : find(it->second.node);
}

void Accounts::take_from(NodeState& state, std::string_view uid) const {
  const auto it = pods_.find(uid);
  if (it != pods_.end() && it->second.node == state.name) apply(state, it->second, -1);
}

Accounts::PodsOfNode Accounts::pods_of(const NodeEntry& entry) const {
  PodsOfNode pods;
  for (const std::string& uid : entry.pods) pods.emplace_back(uid, &pods_.find(uid)->second);
  return pods;
}

Accounts::PodsOfNode Accounts::pods_on(const NodeState& node) const {
  const auto known = nodes_.find(node.name);
  return known == nodes_.end() ? PodsOfNode() : pods_of(*known->second);
}

Accounts::PodsOfNode Accounts::pods_on(uint32_t slot) const {
  return at_slot(slot) == nullptr ? PodsOfNode() : pods_of(*slots_[slot]);
}

void Accounts::each_node(
    const std::function<void(const NodeState&, const PodsOfNode&)>& use) const {
  std::map<std::string_view, const NodeState*> ordered;
  for (const auto& [name, node] : nodes_) ordered.emplace(name, &node->state);
  for (const auto& [name, state] : ordered) use(*state, pods_on(*state));
}

}  // namespace plimsoll::devices
