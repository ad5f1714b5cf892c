#include "plugins/builtin/census/label_crowds.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace plimsoll::builtin {

using namespace sdk;

namespace {

using Requirements = List<plimsoll_requirement>;

// From so many requirements and crowds on, asking each crowd about each is not worth it.
constexpr size_t kLookedUpFrom = 32;  // requirements are sorted then (kShortList)

// So few of one selection are not worth a closer look.
constexpr uint64_t kFewComparisons = 32'768;

void append_text(std::string& bytes, const plimsoll_str& text) {
  bytes.append(reinterpret_cast<const char*>(&text.len), sizeof text.len).append(view(text));
}

}  // namespace

LabelCrowd& LabelCrowds::of(const PodTraits& pod, bool& is_new) {
  key_.assign(1, pod.terminating ? '1' : '0');
  append_text(key_, pod.ns);
  for (const plimsoll_label& label : Labels(pod.labels)) {
    append_text(key_, label.key);
    append_text(key_, label.value);
  }
  const auto found = crowds_.find(key_);
  is_new = found == crowds_.end();
  if (!is_new) return *found->second;
  const auto made = crowds_.emplace(key_, std::make_unique<LabelCrowd>()).first;
  LabelCrowd& crowd = *made->second;
  crowd.key = made->first;
  // The texts are in the key, in the same order.
  size_t at = 1;
  const auto next = [&](const plimsoll_str& text) {
    at += sizeof text.len;
    const plimsoll_str kept = str(crowd.key.substr(at, text.len));
    at += text.len;
    return kept;
  };
  crowd.traits = {next(pod.ns), {}, pod.terminating};
  crowd.labels.reserve(pod.labels.count);
  for (const plimsoll_label& label : Labels(pod.labels)) {
    const plimsoll_str key = next(label.key);
    crowd.labels.push_back({key, next(label.value)});
  }
  crowd.traits.labels = {crowd.labels.data(), static_cast<uint32_t>(crowd.labels.size()),
                         sizeof(plimsoll_label)};
  enter(crowd);
  return crowd;
}

void LabelCrowds::enter(LabelCrowd& crowd) {
  crowd.seats.reserve(crowd.labels.size() + 1);
  for (const plimsoll_label& label : crowd.labels) {
    by_number_.add(crowd, label_number(label.key, label.value));
  }
  by_number_.add(crowd, namespace_number(crowd.traits.ns));
}

void LabelCrowds::drop(LabelCrowd& crowd) {
  by_number_.remove(crowd);
  crowds_.erase(crowds_.find(std::string(crowd.key)));
}

void LabelCrowds::clear() {
  by_number_.clear();
  crowds_.clear();
}

// How many crowds the selection may select, by the numbers that find the fewest; more than there
// are: none finds them.
size_t LabelCrowds::fewest_for(const SelectionSpec& spec, std::vector<uint64_t>& numbers) const {
  size_t fewest = crowds_.size() + 1;
  for_each_anchor(spec, [&](Anchor by, const std::vector<uint64_t>& known) {
    if (by == Anchor::kKey) return;
    size_t crowds = 0;
    for (const uint64_t number : known) crowds += by_number_.size(number);
    if (crowds >= fewest) return;
    fewest = crowds;
    numbers = known;
  });
  return fewest;
}

uint64_t LabelCrowds::comparisons_for(const SelectionSpec& spec) const {
  const uint64_t compared = 1 + spec.size();  // with each candidate
  uint64_t looked_up = 0;
  uint64_t values = 0;  // of those that are looked up
  const auto for_each_looked_up = [&](const auto& visit) {
    for (const ClauseSpec& clause : spec.clauses) {
      for (const plimsoll_label_selector* selector : clause.selectors) {
        const Requirements all = selector->expressions;
        if (all.size() < kLookedUpFrom) continue;
        for (const plimsoll_requirement& each : all) {
          if (each.op == PLIMSOLL_OP_NOT_IN) visit(each);
        }
      }
    }
  };
  for_each_looked_up([&](const plimsoll_requirement& each) {
    ++looked_up;
    values += each.values.count;
  });
  const uint64_t most = (compared + values) * crowds_.size();
  if (most <= kFewComparisons) return most;
  std::vector<uint64_t> numbers;
  const uint64_t candidates = std::min(crowds_.size(), fewest_for(spec, numbers));
  uint64_t sum = (compared - looked_up) * candidates +
                 looked_up * std::min<uint64_t>(candidates, kLookedUpFrom);
  for_each_looked_up([&](const plimsoll_requirement& each) {
    for (const plimsoll_str& value : Strings(each.values)) {
      sum += by_number_.size(label_number(each.key, value));
    }
  });
  return sum;
}

std::vector<LabelCrowd*> LabelCrowds::candidates_for(const SelectionSpec& spec) {
  std::vector<uint64_t> best;
  const size_t fewest = fewest_for(spec, best);
  std::vector<LabelCrowd*> candidates;
  const auto add = [&](LabelCrowd& crowd) {
    if (std::exchange(crowd.seen_by, asked_) != asked_) candidates.push_back(&crowd);
  };
  if (fewest > crowds_.size()) {
    for (const auto& [key, crowd] : crowds_) add(*crowd);
  }
  for (const uint64_t number : best) by_number_.for_each(number, add);
  return candidates;
}

void LabelCrowds::keep_out(Requirements::iterator not_in, Requirements::iterator end) {
  for (; not_in != end; ++not_in) {
    for (const plimsoll_str& value : Strings(not_in->values)) {
      const auto look = [&](LabelCrowd& crowd, uint32_t seat) {
        if (seat == crowd.labels.size()) return;  // its namespace
        const plimsoll_label& label = crowd.labels[seat];
        if (equal(label.key, not_in->key) && equal(label.value, value)) crowd.kept_out_by = asked_;
      };
      by_number_.for_each_seat(label_number(not_in->key, value), look);
    }
  }
}

// Many requirements NotIn are looked up by their labels, once for all crowds.
std::vector<LabelCrowd*> LabelCrowds::selected_by(const SelectionSpec& spec,
                                                  const Namespaces& known) {
  ++asked_;
  std::vector<LabelCrowd*> selected = candidates_for(spec);
  SelectionSpec rest = spec;
  std::deque<plimsoll_label_selector> shortened;
  for (ClauseSpec& clause : rest.clauses) {
    for (const plimsoll_label_selector*& selector : clause.selectors) {
      const Requirements all = selector->expressions;
      if (all.size() < kLookedUpFrom || selected.size() < kLookedUpFrom) continue;
      const auto not_in = std::partition_point(
          all.begin(), all.end(), [](const auto& each) { return each.op != PLIMSOLL_OP_NOT_IN; });
      keep_out(not_in, all.end());
      plimsoll_label_selector& begin = shortened.emplace_back(*selector);
      begin.expressions.count = static_cast<uint32_t>(not_in - all.begin());
      selector = &begin;
    }
  }
  std::erase_if(selected, [&](const LabelCrowd* crowd) {
    return crowd->kept_out_by == asked_ || !rest.select(crowd->traits, known);
  });
  return selected;
}

}  // namespace plimsoll::builtin
