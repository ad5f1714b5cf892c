#pragma once
// Whose affinity terms cost the pods of others most: a metric, and what `plimsoll debug dump` shows
// of InterPodAffinity. Loop only.

#include <plimsoll/state_source.h>
#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "plugins/builtin/census/existing_terms.hpp"

namespace plimsoll::builtin {

class TermCosts {
 public:
  using Terms = std::function<ExistingTerms&()>;
  // `terms`: those of now, once the plugin has started. The first one of a scheduler shows them.
  TermCosts(const sdk::Host& host, Terms terms);
  TermCosts(const TermCosts&) = delete;
  TermCosts& operator=(const TermCosts&) = delete;

  // Brings the metric up to date, once in a while.
  void tell();
  [[nodiscard]] std::string json() const;

 private:
  sdk::Host host_;
  Terms terms_;
  sdk::CounterMetric compared_;
  plimsoll_state_source state_{};
  std::set<std::string> named_;  // namespaces with a series of their own
  int64_t told_ms_ = 0;
};

}  // namespace plimsoll::builtin
