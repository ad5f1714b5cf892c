#include "plugins/topology/ledger/matcher.hpp"

#include <algorithm>

#include "plugins/topology/report/fingerprint.hpp"

namespace plimsoll::topology {
namespace {

constexpr size_t kMaxCuts = 12;          // latest changes that a report may not have seen
constexpr size_t kMaxSubsetChanges = 5;  // up to this many changes are tried in every combination

}  // namespace

Matcher::Matcher(const NodeRecord& node, FingerprintMethod method, uint64_t sum) : sum_(sum) {
  const auto counts = [&](const PodRecord& pod) {
    return method == FingerprintMethod::kAll || pod.exclusive();
  };
  for (size_t i = 0; i < node.pods.size(); ++i) {
    const PodRecord& pod = node.pods[i];
    if (!counts(pod)) continue;
    if (pod.covered && !pod.weak) {
      base_.push_back(pod.hash);
    } else {
      changes_.push_back({i, false, pod.order_ms, pod.hash});
    }
  }
  for (size_t i = 0; i < node.gone.size(); ++i) {
    const GonePod& gone = node.gone[i];
    if (counts(gone.pod)) changes_.push_back({i, true, gone.gone_ms, gone.pod.hash});
  }
  std::stable_sort(changes_.begin(), changes_.end(),
                   [](const Change& a, const Change& b) { return a.ms < b.ms; });
}

bool Matcher::matches() {
  hashes_ = base_;
  for (const Change& change : changes_) {
    if (change.counted) hashes_.push_back(change.hash);
  }
  return fingerprint_sum(hashes_) == sum_;
}

bool Matcher::find_state() {
  for (Change& change : changes_) change.counted = !change.gone;
  if (matches()) return true;
  const size_t cuts = std::min(changes_.size(), kMaxCuts);
  for (size_t i = 0; i < cuts; ++i) {  // one change earlier each time
    Change& change = changes_[changes_.size() - 1 - i];
    change.counted = change.gone;
    if (matches()) return true;
  }
  return false;
}

bool Matcher::find_subset() {
  if (changes_.size() > kMaxSubsetChanges) return false;
  for (uint32_t set = 0; set < 1u << changes_.size(); ++set) {
    for (size_t i = 0; i < changes_.size(); ++i) changes_[i].counted = (set >> i & 1) != 0;
    if (matches()) return true;
  }
  return false;
}

void Matcher::mark_ambiguous() {
  for (Change& change : changes_) {
    change.ambiguous = std::any_of(changes_.begin(), changes_.end(), [&](const Change& other) {
      return other.gone != change.gone && other.hash == change.hash &&
             other.counted != change.counted;
    });
  }
}

std::optional<std::vector<Matcher::Change>> Matcher::explain(const NodeRecord& node) {
  uint64_t sum = 0;
  if (!parse_fingerprint(node.report.fingerprint, sum)) return std::nullopt;
  const FingerprintMethod method = node.report.method;
  const FingerprintMethod other = method == FingerprintMethod::kAll
                                      ? FingerprintMethod::kExclusiveResources
                                      : FingerprintMethod::kAll;
  Matcher declared(node, method, sum);
  Matcher swapped(node, other, sum);
  Matcher* found = declared.find_state()    ? &declared
                   : swapped.find_state()   ? &swapped
                   : declared.find_subset() ? &declared
                                            : nullptr;
  if (found == nullptr) return std::nullopt;
  found->mark_ambiguous();
  return std::move(found->changes_);
}

}  // namespace plimsoll::topology
