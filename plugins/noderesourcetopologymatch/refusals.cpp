#include "plugins/noderesourcetopologymatch/refusals.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::topology {

void Slots::assign(const Slots& among, const Slots& values) {
  words_.resize(std::max(words_.size(), among.words_.size()), 0);
  for (size_t i = 0; i < among.words_.size(); ++i) {
    const uint64_t value = i < values.words_.size() ? values.words_[i] : 0;
    words_[i] = (words_[i] & ~among.words_[i]) | (value & among.words_[i]);
  }
}

Refusals::Kinds::iterator Refusals::admit(Kinds::node_type kind) {
  if (recent_.size() >= most_) {
    forgotten_ = forgotten_ || !older_.empty();
    older_ = std::exchange(recent_, {});
  }
  return recent_.insert(std::move(kind)).position;
}

// What is looked for is recent again.
Refusals::Kinds::iterator Refusals::look_up(const RequestsHash& requests) {
  const auto known = recent_.find(requests);
  if (known != recent_.end()) return known;
  Kinds::node_type kind = older_.extract(requests);
  return kind.empty() ? recent_.end() : admit(std::move(kind));
}

void Refusals::note(const RequestsHash& requests, const LedgerAccess::Inquiry& inquiry,
                    const FilterRound& round) {
  const std::scoped_lock lock(mutex_);
  auto known = look_up(requests);
  if (known == recent_.end()) {
    if (round.refused.empty()) return;
    Kinds made;
    made.emplace(requests, Kind{});
    known = admit(made.extract(made.begin()));
  }
  if (known->second.inquiry == nullptr) known->second.inquiry = inquiry;
  known->second.refused.assign(round.asked, round.refused);
}

Refusals::Kind* Refusals::find(const RequestsHash& requests) {
  const std::scoped_lock lock(mutex_);
  const auto known = look_up(requests);
  return known == recent_.end() ? nullptr : &known->second;
}

bool Refusals::empty() const {
  const std::scoped_lock lock(mutex_);
  return recent_.empty() && older_.empty();
}

}  // namespace plimsoll::topology
