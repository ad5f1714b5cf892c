#include "framework/objects/gang_terms.hpp"

#include <plimsoll/duration.hpp>

#include <algorithm>
#include <array>
#include <charconv>

#include "framework/api/decode/wire_value.hpp"
#include "framework/api/group_name.hpp"
#include "framework/api/selectors.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view kMin = "min-available";
constexpr std::string_view kTotal = "total-number";
constexpr std::string_view kWait = "waiting-time";
constexpr std::string_view kGroups = "groups";
constexpr std::string_view kMinLabel = "pod-group.scheduling.sigs.k8s.io/min-available";
constexpr std::string_view kMatchAlias = "pod-group.scheduling.sigs.k8s.io/match-policy";
// Longer than what is served can be. For each pod that joins a gang, what its first pod says is
// read again.
constexpr size_t kLongestTerm = 1024;
constexpr std::array<std::string_view, 3> kMatches{"once-satisfied", "only-waiting",
                                                   "waiting-and-running"};

// Of "gang.scheduling.koordinator.sh/..."; empty: it is not there.
std::string_view said(const plimsoll_pod& pod, std::string_view what) {
  const std::string key = std::string(kGangPrefix).append(what);
  for (const plimsoll_list* list : {&pod.meta.annotations, &pod.meta.labels}) {
    if (const plimsoll_str* value = find_label(*list, str(key))) return view(*value);
  }
  return {};
}

std::optional<size_t> number(std::string_view text) {
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return static_cast<size_t>(value);
}

bool names_only(std::string_view json, const std::string& gang) {
  bool only = true;
  const Error error = read_json(json, [&](WireValue& root) {
    return root.items([&](WireValue& item) {
      std::string_view name;
      if (!item.text(&name)) return false;
      only = only && name == gang;
      return true;
    });
  });
  return only && error.message.empty();
}

}  // namespace

GangTerms gang_terms(const plimsoll_pod& pod) {
  GangTerms terms;
  const auto wrong = [&](std::string_view key, std::string_view what) {
    terms.problem = std::string(kGangPrefix).append(key).append(" ").append(what);
    return terms;
  };
  if (said(pod, "name").size() > kLongestGangName) return wrong("name", "is too long");
  for (const std::string_view key : {kMin, kTotal, kWait, kGroups}) {
    if (said(pod, key).size() > kLongestTerm) return wrong(key, "is too long");
  }
  const plimsoll_str* light = find_label(pod.meta.labels, str(kMinLabel));
  const std::string_view min = light != nullptr ? view(*light) : said(pod, kMin);
  if (!min.empty()) {
    terms.min_available = number(min);
    if (!terms.min_available) return wrong(kMin, "is not a number");
  }
  if (const auto total = said(pod, kTotal); !total.empty()) {
    if (!number(total)) return wrong(kTotal, "is not a number");
    if (*number(total) < terms.min_available.value_or(0))
      return wrong(kTotal, "is less than min-available");
  }
  if (const auto mode = said(pod, "mode"); !mode.empty() && mode != "Strict" && mode != "NonStrict")
    return wrong("mode", "is neither Strict nor NonStrict");
  if (const auto wait = said(pod, kWait); !wait.empty()) {
    const auto time = sdk::parse_duration(wait);
    if (!time || time->count() < 0) return wrong(kWait, "is not a duration");
  }
  std::string_view match = said(pod, "match-policy");
  const plimsoll_str* other = find_label(pod.meta.annotations, str(kMatchAlias));
  if (match.empty() && other != nullptr) match = view(*other);
  if (!match.empty()) {
    const auto* const known = std::ranges::find(kMatches, match);
    if (known == kMatches.end())
      return wrong("match-policy", "is none of once-satisfied, only-waiting, waiting-and-running");
    terms.match = static_cast<GangTerms::Match>(known - kMatches.begin());
  }
  const auto groups = said(pod, kGroups);
  const GroupName self = group_of(pod, GroupKinds().set(index_of(GroupKind::kGang)));
  if (!groups.empty() && !names_only(groups, std::string(self.ns).append(1, '/').append(self.name)))
    return wrong(kGroups, "is not supported: name no other group");
  return terms;
}

const PodGroup* describe_group(const ObjectStore& objects, const GroupName& name,
                               const plimsoll_pod& member, PodGroup& own) {
  const bool is_gang = name.kind == GroupKind::kGang;
  return describe_group(objects, name, is_gang ? gang_terms(member) : GangTerms(), own);
}

const PodGroup* describe_group(const ObjectStore& objects, const GroupName& name,
                               const GangTerms& terms, PodGroup& own) {
  const PodGroup* known = find_pod_group(objects, name);
  if (known != nullptr || name.kind != GroupKind::kGang) return known;
  if (!terms.min_available && terms.problem.empty()) return nullptr;
  own.uid = name.key();
  own.min_count = std::max<int64_t>(static_cast<int64_t>(terms.min_available.value_or(1)), 1);
  return &own;
}

}  // namespace plimsoll
