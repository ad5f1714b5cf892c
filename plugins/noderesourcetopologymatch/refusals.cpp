#include "plugins/noderesourcetopologymatch/refusals.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::topology {

void Slots::assign(const Slots& among, const Slots& values) {
  if (among.empty()) return;
  // Its own words reach over those of `among` first.
  for (const size_t word : {size_t{among.first_}, among.first_ + among.words_.size() - 1}) {
    const auto slot = static_cast<uint32_t>(word * 64);
    const bool is_in = test(slot);
    set(slot);
    if (!is_in) words_[word - first_] &= ~uint64_t{1};
  }
  for (size_t i = 0; i < among.words_.size(); ++i) {
    uint64_t& own = words_[among.first_ + i - first_];
    own = (own & ~among.words_[i]) | (values.word(among.first_ + i) & among.words_[i]);
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

void Refusals::note(const RequestsHash& requests, const LedgerAccess::Asked& inquiry,
                    const FilterRound& round, const Wait& wait) {
  const std::scoped_lock lock(mutex_);
  auto known = look_up(requests);
  if (known == recent_.end()) {
    if (round.refused.empty() && round.doubted.empty()) return;
    Kinds made;
    made[requests].whole = !forgotten_;
    known = admit(made.extract(made.begin()));
  }
  if (known->second.inquiry == nullptr) known->second.inquiry = inquiry;
  known->second.has_claims = known->second.has_claims || round.has_claims;
  known->second.refused.assign(round.asked, round.refused);
  known->second.doubted.assign(round.tried_without, round.doubted);
  if (known->second.wait.since_ms == 0) known->second.wait = wait;
}

Wait Refusals::end_wait(const RequestsHash& requests) {
  Kind* kind = find(requests);
  return kind == nullptr ? Wait() : std::exchange(kind->wait, {});
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
