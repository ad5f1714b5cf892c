#include "framework/cycle/lost_kinds.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view kAlwaysNeeded[] = {"pods", "nodes"};

}  // namespace

void LostKinds::lost(const std::string& kind, const std::string& why, bool wanted, int64_t now_ms) {
  Loss& loss = kinds_.try_emplace(kind, Loss{{}, wanted, now_ms}).first->second;
  loss.why = why;
  loss.wanted = wanted;
  for (const std::string_view needed : kAlwaysNeeded) blind_ = blind_ || kind == needed;
}

std::optional<LostKinds::Loss> LostKinds::found(const std::string& kind) {
  const auto known = kinds_.extract(kind);
  if (known.empty()) return std::nullopt;
  blind_ = false;
  for (const std::string_view needed : kAlwaysNeeded) blind_ = blind_ || kinds_.contains(needed);
  return known.mapped();
}

std::vector<LostKinds::Need> LostKinds::needs_of_all() const {
  std::vector<Need> needs;
  for (const std::string_view kind : kAlwaysNeeded) {
    const auto lost = kinds_.find(kind);
    if (lost == kinds_.end()) continue;
    needs.push_back({std::string(kind), lost->second.why, lost->second.since_ms});
  }
  return needs;
}

std::vector<LostKinds::Need> LostKinds::needs_of(const Framework& framework,
                                                 const plimsoll_pod& pod) const {
  std::vector<Need> needs;
  for (const auto& [kind, loss] : kinds_) {
    PluginIndex needing = kNoPlugin;
    bool needed = kind == kAlwaysNeeded[0] || kind == kAlwaysNeeded[1];
    for (PluginIndex i = 0; !needed && i < framework.plugin_count(); ++i) {
      if (!framework.rests_on(i, pod, kind)) continue;
      needed = true;
      needing = i;
    }
    if (needed) needs.push_back({kind, loss.why, loss.since_ms, needing});
  }
  return needs;
}

std::string waiting_message(const std::vector<LostKinds::Need>& needs) {
  std::string text;
  for (const LostKinds::Need& need : needs) {
    text += (text.empty() ? "waiting for " : "; and for ") + need.kind + ", which is not followed";
    if (!need.why.empty()) text += ": " + need.why;
  }
  return text;
}

}  // namespace plimsoll
