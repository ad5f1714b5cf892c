#include "plugins/builtin/affinity/term_costs.hpp"

#include <utility>

#include "framework/base/quote.hpp"

namespace plimsoll::builtin {
namespace {

constexpr int64_t kPauseMs = 1'000;
// A series stays for ever, so only few namespaces get one: those of which so many terms were
// compared between two looks.
constexpr uint64_t kNamedFrom = 10'000;
constexpr size_t kMostNamed = 16;
constexpr size_t kShown = 10;

}  // namespace

TermCosts::TermCosts(const sdk::Host& host, Terms terms)
    : host_(host),
      terms_(std::move(terms)),
      compared_(host.counter("affinity_terms_compared_total",
                             "Affinity terms of pods on nodes that were compared with pods of "
                             "other namespaces, by the namespace that the terms are from. Only 16 "
                             "namespaces with many are named.",
                             {"namespace"})) {
  state_.size = sizeof state_;
  state_.self = this;
  state_.describe = [](void* self, void (*put)(void*, const void*, size_t), void* sink) {
    const std::string text = static_cast<TermCosts*>(self)->json();
    put(sink, text.data(), text.size());
  };
  (void)host_.publish(PLIMSOLL_STATE_SERVICE_PREFIX "InterPodAffinity",
                      PLIMSOLL_STATE_SERVICE_VERSION, &state_);
}

void TermCosts::tell() {
  const int64_t now = host_.now_ms();
  if (now - told_ms_ < kPauseMs) return;
  told_ms_ = now;
  terms_().for_each_cost([&](TermCost& cost) {
    const uint64_t more = cost.compared - std::exchange(cost.told, cost.compared);
    if (more == 0) return;
    if (more >= kNamedFrom && named_.size() < kMostNamed) named_.insert(cost.ns);
    compared_.add(static_cast<double>(more),
                  named_.contains(cost.ns) ? std::string_view(cost.ns) : "(others)");
  });
}

std::string TermCosts::json() const {
  const ExistingTerms& terms = terms_();
  std::string out = "{\"terms\":" + std::to_string(terms.size()) + ",\"namespaces\":[";
  for (const TermCost& cost : terms.worst(kShown)) {
    if (out.back() != '[') out += ',';
    out += "{\"namespace\":";
    append_json_string(out, cost.ns);
    out += ",\"terms\":" + std::to_string(cost.terms) +
           ",\"comparedWithOthers\":" + std::to_string(cost.compared) + '}';
  }
  return out += "]}";
}

}  // namespace plimsoll::builtin
