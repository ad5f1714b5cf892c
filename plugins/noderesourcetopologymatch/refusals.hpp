#pragma once
// Records which nodes Filter refused to which pods in its last call. A requeue hint requeues a pod
// for a node only if Filter refused the node here and would accept it now. Reports of nodes that
// pass, or that another plugin refuses, requeue nothing.
//
// Pods with the same requests are one kind and get the same verdicts, except that a pod that is
// nominated does not count itself, nor one with claims what these have: what accepts it is no news
// to its kind. Only the kinds that were
// filtered lately are remembered; nothing is known of the others.
//
// Call note() from any thread, everything else on the scheduler loop while no filter runs.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "plugins/topology/pod/signature.hpp"
#include "plugins/topology/service/ledger_access.hpp"

namespace plimsoll::topology {

// A set of node slots; optimized for a single one.
class Slots {
 public:
  void set(uint32_t slot) {
    const uint32_t word = slot / 64;
    if (words_.empty()) first_ = word;
    if (word < first_) {
      words_.insert(words_.begin(), first_ - word, 0);
      first_ = word;
    }
    if (word - first_ >= words_.size()) words_.resize(word - first_ + 1, 0);
    words_[word - first_] |= uint64_t{1} << slot % 64;
  }
  // All of these into an empty set; none is above `most`.
  void set_all(std::span<const uint32_t> slots, uint32_t most) {
    first_ = 0;
    words_.assign(most / 64 + 1, 0);
    for (const uint32_t slot : slots) words_[slot / 64] |= uint64_t{1} << slot % 64;
  }
  [[nodiscard]] bool test(uint32_t slot) const { return (word(slot / 64) >> slot % 64 & 1) != 0; }
  [[nodiscard]] bool empty() const { return words_.empty(); }
  // Slots below this one are to come.
  void reserve(uint32_t slots) { words_.reserve(slots / 64 + 1); }
  // Takes over the members of `values` among `among`.
  void assign(const Slots& among, const Slots& values);

 private:
  [[nodiscard]] uint64_t word(size_t at) const {
    return at >= first_ && at - first_ < words_.size() ? words_[at - first_] : 0;
  }

  uint32_t first_ = 0;  // the number of the first word that is kept
  std::vector<uint64_t> words_;
};

// What one call of Filter found.
struct FilterRound {
  Slots asked;  // a verdict on the node as it is; or a refusal besides pods nominated to it
  Slots refused;
  Slots tried_without;      // asked about without some of their pods: preemption
  Slots doubted;            // of these: uncertain
  bool has_claims = false;  // of its own, which count for no other pod of its kind
  size_t open = 0;          // nodes that were asked about, and of them those that refused
  size_t no = 0;
  uint32_t uncertain = UINT32_MAX;  // one of these that is uncertain
};

// How long pods of one kind wait for a node of which too little is known.
struct Wait {
  int64_t since_ms = 0;  // 0: they do not
  uint32_t slot = 0;
  Doubt because = Doubt::kNone;
};

class Refusals {
 public:
  struct Kind {
    LedgerAccess::Asked inquiry;  // may be null
    Slots refused;
    bool has_claims = false;  // some of them: `inquiry` does not tell of all
    bool whole = true;        // false: the kind may have been known before, with more refusals
    Slots doubted;  // uncertain without some of their pods: whether eviction helps is still open
    // The last judgement for a hint: of this node, when it had changed for the last time.
    uint32_t judged_slot = UINT32_MAX;
    uint64_t judged_change = 0;
    bool judged_fits = false;
    Wait wait;
  };
  // `most`: kinds that are remembered for sure; up to twice as many are.
  explicit Refusals(size_t most = 1024) : most_(most) {}

  void note(const RequestsHash& requests, const LedgerAccess::Asked& inquiry,
            const FilterRound& round, const Wait& wait = {});
  // Ends the wait of such pods: one of them got a node. Nothing: they did not wait.
  [[nodiscard]] Wait end_wait(const RequestsHash& requests);
  // Null: nothing is known about such pods. Valid until the next non-const call.
  [[nodiscard]] Kind* find(const RequestsHash& requests);
  // Whether `fits` holds for any pod to which this node was refused, or the node was doubted; also
  // true if kinds were forgotten.
  template <typename Fits>
  [[nodiscard]] bool any_refused(uint32_t slot, const Fits& fits) {
    if (forgotten_) return true;
    for (Kinds* kinds : {&recent_, &older_}) {
      for (auto& [requests, kind] : *kinds) {
        if (kind.doubted.test(slot) || (kind.refused.test(slot) && fits(kind))) return true;
      }
    }
    return false;
  }
  // Any thread.
  [[nodiscard]] bool empty() const;

 private:
  struct Hash {
    size_t operator()(const RequestsHash& requests) const { return requests.a; }
  };
  using Kinds = std::unordered_map<RequestsHash, Kind, Hash>;
  Kinds::iterator look_up(const RequestsHash& requests);
  Kinds::iterator admit(Kinds::node_type kind);

  size_t most_;
  mutable std::mutex mutex_;
  Kinds recent_;  // asked about since `older_` was put away
  Kinds older_;
  bool forgotten_ = false;
};

}  // namespace plimsoll::topology
