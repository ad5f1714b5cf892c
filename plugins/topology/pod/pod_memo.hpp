#pragma once
// Most pods are copies of one another: what is read of one of them is remembered for the next.
//
// Pods are the same here if the rules read the same of them, down to the names of containers
// (pod_words.hpp). All of that is compared on every hit, never a hash alone.

#include <plimsoll/objects.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "plugins/topology/base/first_thread.hpp"
#include "plugins/topology/base/mix.hpp"
#include "plugins/topology/pod/pod_words.hpp"

namespace plimsoll::topology {

// A value for each kind of pod. Of the thread that asks first; other threads get values of their
// own, which are not remembered.
template <typename Value>
class PodMemo {
 public:
  // `make(pod)` gives a std::shared_ptr<Value>, which must keep no view into the pod.
  template <typename Make>
  std::shared_ptr<Value> of(const plimsoll_pod& pod, const Make& make) {
    if (!owner_.is_here()) return make(pod);
    if (last_ != nullptr && matches(*last_, pod)) return last_->value;
    words_.clear();
    uint64_t hash = 0;
    put_pod_words<Names::kYes>(pod, [&](uint64_t word) {
      words_.push_back(word);
      hash = mix(hash, word);
    });
    const auto [begin, end] = kinds_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      if (at->second.words != words_) continue;
      last_ = &at->second;
      return last_->value;
    }
    std::shared_ptr<Value> made = make(pod);
    if (words_.size() > kMostWords) {
      words_ = {};
      return made;
    }
    if (kinds_.size() == kMostKinds) kinds_.clear();
    last_ = &kinds_.emplace(hash, Kind{words_, made})->second;
    return made;
  }

 private:
  static constexpr size_t kMostKinds = 128;  // then all are forgotten
  static constexpr size_t kMostWords = 512;  // of a pod; what is larger is not kept
  struct Kind {
    std::vector<uint64_t> words;
    std::shared_ptr<Value> value;
  };

  [[nodiscard]] static bool matches(const Kind& kind, const plimsoll_pod& pod) {
    const uint64_t* at = kind.words.data();
    const uint64_t* const end = at + kind.words.size();
    bool same = true;
    put_pod_words<Names::kYes>(pod, [&](uint64_t word) {
      const bool here = at != end && *at == word;
      at += here ? 1 : 0;
      same &= here;
    });
    return same && at == end;
  }

  FirstThread owner_;
  std::unordered_multimap<uint64_t, Kind> kinds_;
  const Kind* last_ = nullptr;   // asked for last; null after all were forgotten
  std::vector<uint64_t> words_;  // of the pod that is asked about
};

}  // namespace plimsoll::topology
