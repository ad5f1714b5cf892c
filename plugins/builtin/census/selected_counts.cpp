#include "plugins/builtin/census/selected_counts.hpp"

namespace plimsoll::builtin {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kBytesOfCrowd = sizeof(Tally::Member) + sizeof(Crowd::Link);
constexpr size_t kBytesBeside = 1024;  // of a table: keys, a copy of the selection, index entries

}  // namespace

SelectedCountsRef SelectedTables::find(std::string_view key, int64_t now_ms) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  const auto entry = found->second;
  entry->asked_ms = now_ms;
  measure(*entry);
  tables_.splice(tables_.begin(), tables_, entry);
  return entry->table;
}

SelectedCountsRef SelectedTables::add(std::string key, SelectedPodsRef pods, CountedNodesRef nodes,
                                      int64_t now_ms) {
  auto table = std::make_shared<SelectedCounts>(std::move(pods), std::move(nodes));
  table->id = ++last_id_;
  table->pods->add_view(table->counts);
  tables_.push_front({std::move(key), table, now_ms, 0});
  by_key_.emplace(tables_.front().key, tables_.begin());
  measure(tables_.front());
  while (bytes_ > kMostBytes && tables_.size() > 1) drop_last();
  return table;
}

SelectedPodsRef SelectedTables::select(const SelectionSpec& selection) {
  bytes_of_selection_.clear();
  selection.sign(bytes_of_selection_);
  auto& kept = pods_[bytes_of_selection_];
  if (kept != nullptr) return kept;
  kept = std::make_shared<SelectedPods>(selection);
  kept->key = bytes_of_selection_;
  index_.add(*kept);
  for (LabelCrowd* crowd : crowds_.selected_by(kept->spec(), namespaces_)) crowd->join(*kept);
  return kept;
}

void SelectedTables::measure(Entry& entry) {
  bytes_ -= entry.bytes;
  const SelectedPods& pods = *entry.table->pods;
  entry.bytes = kBytesBeside + entry.key.size() + entry.table->counts.bytes() +
                (3 * pods.key.size() + kBytesOfCrowd * pods.crowds.size()) / pods.views.size();
  bytes_ += entry.bytes;
}

void SelectedTables::sweep(int64_t now_ms) {
  while (!tables_.empty() && now_ms - tables_.back().asked_ms > kLongestMs) drop_last();
}

void SelectedTables::drop_last() {
  Entry& last = tables_.back();
  SelectedPods& pods = *last.table->pods;
  pods.remove_view(last.table->counts);
  if (pods.views.empty()) {
    index_.remove(pods);
    while (!pods.crowds.empty()) pods.crowds.back().crowd->leave(pods.crowds.back().link);
    pods_.erase(pods_.find(pods.key));
  }
  bytes_ -= last.bytes;
  by_key_.erase(last.key);
  tables_.pop_back();
}

void SelectedTables::admit(LabelCrowd& crowd) {
  index_.for_each_candidate(crowd.traits, [&](SelectedPods& pods) {
    const bool is_known = !pods.crowds.empty() && pods.crowds.back().crowd == &crowd;
    if (!is_known && pods.spec().select(crowd.traits, namespaces_)) crowd.join(pods);
  });
}

void SelectedTables::expel(LabelCrowd& crowd) {
  while (!crowd.tallies.empty()) crowd.leave_last();
}

void SelectedTables::namespace_changed(std::string_view ns) {
  for (const auto& entry : pods_) {
    const auto& pods = entry.second;
    if (!pods->spec().need_namespaces()) continue;
    crowds_.for_each_in(sdk::str(ns), [&](LabelCrowd& crowd) {
      const size_t link = crowd.link_to(*pods);
      const bool is_counted = link != crowd.tallies.size();
      if (pods->spec().select(crowd.traits, namespaces_) == is_counted) return;
      if (is_counted) {
        crowd.leave(link);
      } else {
        crowd.join(*pods);
      }
    });
  }
}

}  // namespace plimsoll::builtin
