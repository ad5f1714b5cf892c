#include "plugins/topology/ledger.hpp"

#include <algorithm>

#include "plugins/topology/fingerprint.hpp"
#include "plugins/topology/placement.hpp"

namespace plimsoll::topology {
namespace {

constexpr size_t kLine = 64;  // bytes

}  // namespace

Ledger::PodKey Ledger::key_of(std::string_view uid) {
  return {xxh64(uid, 1), xxh64(uid, 2)};
}

Ledger::NodeRecord& Ledger::record_of(std::string_view name) {
  auto& record = nodes_[std::string(name)];
  if (!record) {
    record = std::make_unique<NodeRecord>();
    record->name = name;
  }
  return *record;
}

// Updates the sums of doubts() for one node.
void Ledger::recount(NodeRecord& node) {
  const auto change = [](size_t& sum, bool& counted, bool now) {
    if (counted == now) return;
    sum += now ? 1 : -size_t{1};
    counted = now;
  };
  change(doubts_.several_worlds, node.counted_worlds, node.since.worlds.size() > 1);
  change(doubts_.blurred, node.counted_blurred, node.since.blurred);
  change(doubts_.refused, node.counted_refused, node.refused_one);
}

void Ledger::forget_if_idle(NodeRecord& node) {
  if (node.slot != UINT32_MAX || node.reported || node.malformed || !node.pods.empty()) return;
  node.since = {};
  node.refused_one = false;
  recount(node);
  set_due(node);
  nodes_.erase(std::string(node.name));
}

void Ledger::touch(NodeRecord& node, Ease ease) {
  recount(node);
  set_due(node);
  node.change = ++change_;
  if (ease == Ease::kYes) {
    node.eased = event_;
    // Pods that wait for more certainty may be tried again.
    if (certain(node)) node.told_uncertain.store(false, std::memory_order_relaxed);
  }
  if (node.slot == UINT32_MAX) return;
  node.zones.header().promises = static_cast<uint32_t>(
      std::count_if(node.pods.begin(), node.pods.end(),
                    [](const PodRecord& pod) { return !pod.covered && !pod.charges.empty(); }));
  node.zones.header().leaving = static_cast<uint32_t>(std::count_if(
      node.gone.begin(), node.gone.end(),
      [](const GonePod& gone) { return gone.seen && !gone.refund && gone.request != nullptr; }));
  look(node);
  touched_.push_back(node.slot);
}

// Every change of a node ends in touch(), and so here.
void Ledger::look(const NodeRecord& node) {
  const Since& since = node.since;
  node.beside.store(NodeRecord::Beside::kUnknown, std::memory_order_relaxed);
  Glance& glance = glances_[node.slot];
  glance = {};
  const bool clear = node.reported && !node.refused_one && node.refusals.empty() &&
                     node.whole_cores_ms == 0 && since.worlds.size() == 1 && !since.blurred &&
                     !since.open_ended && since.unbound.empty();
  if (!clear) return columns_.remove(node.slot);
  glance.model = node.model.get();
  glance.count = node.model->groups_at;
  GlanceCells& own = glance_cells_[node.slot];
  if (own.count != glance.count) {
    if (own.cells != nullptr) memory_.deallocate(own.cells, own.count * sizeof(int64_t), kLine);
    own = {};
    own.cells = static_cast<int64_t*>(memory_.allocate(glance.count * sizeof(int64_t), kLine));
    own.count = glance.count;
  }
  std::copy_n(since.worlds.front().counts(), glance.count, own.cells);
  glance.counts = own.cells;
  glance.brief = kubelet::Brief(*node.model, since.worlds.front());
  glance.leaving = node.zones.view().leaving != 0;
  columns_.put(node.slot, node.model, glance.brief, glance.counts, node.zones.view());
}

Ledger::Changes Ledger::take_changes() {
  Changes changes;
  take_changes(changes);
  return changes;
}

void Ledger::take_changes(Changes& into) {
  into.slots.clear();
  into.freed.clear();
  std::swap(into.slots, touched_);
  std::swap(into.freed, freed_);
  std::sort(into.slots.begin(), into.slots.end());
  into.slots.erase(std::unique(into.slots.begin(), into.slots.end()), into.slots.end());
}

void Ledger::node_added(std::string_view name, uint32_t slot) {
  ++event_;
  NodeRecord& node = record_of(name);
  if (node.slot != UINT32_MAX && node.slot != slot) node_removed(name);
  NodeRecord& record = record_of(name);
  if (slot >= slots_.size()) {
    slots_.resize(slot + 1, nullptr);
    views_.resize(slot + 1, nullptr);
    glances_.resize(slot + 1);
    glance_cells_.resize(slot + 1);
  }
  if (slots_[slot] != nullptr) slots_[slot]->slot = UINT32_MAX;  // reused
  record.slot = slot;
  slots_[slot] = &record;
  views_[slot] = record.reported ? &record.zones.view() : nullptr;
  touch(record, Ease::kYes);
}

void Ledger::node_removed(std::string_view name) {
  const auto at = nodes_.find(std::string(name));
  if (at == nodes_.end() || at->second->slot == UINT32_MAX) return;
  NodeRecord& node = *at->second;
  slots_[node.slot] = nullptr;
  views_[node.slot] = nullptr;
  glances_[node.slot] = {};
  columns_.remove(node.slot);
  node.slot = UINT32_MAX;
  forget_if_idle(node);
}

// Whether the counts show everything that the kubelet knows.
bool Ledger::says_all(const kubelet::NodeModel& model, const kubelet::NodeState& state) {
  if (model.cpu_static && !state.knows_cpus()) return false;
  if (model.memory_static && !state.knows_groups()) return false;
  return std::all_of(model.devices.begin(), model.devices.end(), [](const auto& type) {
    const auto none = [](int64_t total) { return total == 0; };
    return type.listed() || std::all_of(type.totals.begin(), type.totals.end(), none);
  });
}

// The same problems are noted once: exporters write every few seconds.
void Ledger::note_problems(NodeRecord& node, std::vector<std::string> problems) {
  if (problems == node.problems) return;
  for (const std::string& problem : problems) {
    notes_.push_back("NodeResourceTopology " + node.name + ": " + problem);
  }
  node.problems = std::move(problems);
}

void Ledger::report(const NrtObject& nrt, int64_t now_ms) {
  now_ms_ = now_ms;
  ++event_;
  NodeRecord& node = record_of(nrt.name);
  if (node.reported && !nrt.resource_version.empty() && node.version == nrt.resource_version) {
    return;  // a relist: the same object again
  }
  ++stats_.reports;
  Before before;
  before.had = node.reported;
  before.doubted = node.malformed || node.refused_one || node.lost_track;
  before.since = std::move(node.since);
  before.explained = node.explained;
  before.exact = node.exact;
  before.zones = std::move(node.zones);
  before.model = node.model;
  before.state = std::move(node.state);
  node.zones = NumaNode(nrt, index_, nrt.written_ms != 0 ? nrt.written_ms : now_ms, &memory_);
  kubelet::NodeFacts facts = facts_.read(nrt);
  if (facts.model != node.model) node.counts = counts_model(facts.model);
  node.model = std::move(facts.model);
  node.state = std::move(facts.state);
  node.exact = !nrt.free_facts.empty() && says_all(*node.model, node.state);
  note_problems(node, std::move(facts.problems));
  if (nrt.contradiction != node.contradiction) {
    if (!nrt.contradiction.empty())
      warnings_.push_back("NodeResourceTopology " + node.name + ": " + nrt.contradiction);
    node.contradiction = nrt.contradiction;
  }
  node.version = nrt.resource_version;
  node.fingerprint = nrt.fingerprint;
  node.method = nrt.method;
  node.reported = node.new_report = true;
  node.malformed = node.refused_one = node.lost_track = false;
  // Pods that left before the ledger knew the node are unknown.
  if (!before.had) node.doubt_until_ms = now_ms + kDoubtMs;
  if (node.doubt_until_ms <= now_ms) node.doubt_until_ms = 0;
  if (!before.had) settle_places(node);
  settle_report(node, before);
  const bool unlearned = unlearn_by_report(node);
  replan(node);
  if (node.slot != UINT32_MAX) views_[node.slot] = &node.zones.view();
  touch(node, unlearned || eases(node, before) ? Ease::kYes : Ease::kNo);
}

void Ledger::report_deleted(std::string_view node_name) {
  ++event_;
  const auto at = nodes_.find(std::string(node_name));
  if (at == nodes_.end() || (!at->second->reported && !at->second->malformed)) return;
  NodeRecord& node = *at->second;
  node.reported = node.malformed = false;
  node.explained = false;
  node.zones = NumaNode();
  node.model = node.counts = nullptr;
  node.state = {};
  node.exact = node.refused_one = node.lost_track = false;
  node.refusals.clear();
  node.whole_cores_ms = node.doubt_until_ms = 0;
  node.since = {};
  node.version.clear();
  node.fingerprint.clear();
  node.problems.clear();
  node.contradiction.clear();
  node.gone.clear();
  // Without the report, no pod is covered.
  for (PodRecord& pod : node.pods) {
    if (pod.covered && !pod.charges.empty()) ++pending_;
    pod.covered = false;
    pod.located = false;
    pod.held = nullptr;
    pod.given = nullptr;
  }
  if (node.slot != UINT32_MAX) views_[node.slot] = nullptr;
  touch(node, Ease::kYes);
  forget_if_idle(node);
}

bool Ledger::report_malformed(std::string_view node_name) {
  ++event_;
  NodeRecord& node = record_of(node_name);
  if (node.reported) return false;
  if (!node.malformed) {
    node.malformed = true;
    touch(node, Ease::kNo);
  }
  return true;
}

size_t Ledger::remembered_gone(std::string_view node_name) const {
  const auto at = nodes_.find(std::string(node_name));
  return at == nodes_.end() ? 0 : at->second->gone.size();
}

std::string_view Ledger::report_version(std::string_view node_name) const {
  const auto at = nodes_.find(std::string(node_name));
  return at == nodes_.end() || !at->second->reported ? std::string_view() : at->second->version;
}

}  // namespace plimsoll::topology
