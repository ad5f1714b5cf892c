#include "framework/cycle/groups/group_domains.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"

namespace plimsoll {
namespace {

int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The digits at the front of a text, without leading zeros; they are taken off.
std::string_view take_number(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

bool is_less(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// Of Jobs and JobSets, and of LeaderWorkerSets, where the leader is 0.
constexpr std::array<std::string_view, 2> kIndexLabels = {
    "batch.kubernetes.io/job-completion-index", "leaderworkerset.sigs.k8s.io/worker-index"};

// Digits; empty: it has none.
std::string_view index_of(const plimsoll_pod& pod) {
  std::string_view text = view(pod.meta.name);
  for (const std::string_view name : kIndexLabels) {
    const plimsoll_str* label = find_label(pod.meta.labels, str(name));
    if (label != nullptr) text = view(*label);
  }
  size_t begin = text.size();
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  text.remove_prefix(begin);
  return take_number(text);
}

// What is free of a resource on a node; INT64_MAX: that is not what decides.
int64_t free_of(const plimsoll_node_info& node, uint32_t index) {
  const int64_t has = index < node.resource_count ? node.allocatable[index] : 0;
  // A plugin may stand for devices that the node itself lacks.
  if (has == 0 && index > PLIMSOLL_RESOURCE_PODS) return INT64_MAX;
  return std::max<int64_t>(0, has - (index < node.resource_count ? node.requested[index] : 0));
}

size_t free_pods(const plimsoll_node_info& node) {
  const int64_t most =
      PLIMSOLL_RESOURCE_PODS < node.resource_count ? node.allocatable[PLIMSOLL_RESOURCE_PODS] : 0;
  return most <= node.pod_count ? 0 : static_cast<size_t>(most - node.pod_count);
}

// False: the node lacks one of the labels. A value has no '/'.
bool read_values(const plimsoll_node& node, const std::vector<std::string>& keys,
                 std::string& out) {
  out.clear();
  for (const std::string& key : keys) {
    const plimsoll_str* value = find_label(node.meta.labels, str(key));
    if (value == nullptr) return false;
    if (&key != &keys.front()) out += '/';
    out += view(*value);
  }
  return true;
}

}  // namespace

std::vector<GroupDomain> domains_of(const ClusterState& cluster,
                                    const std::vector<std::string>& keys) {
  std::map<std::string, GroupDomain> found;
  std::string value;
  GroupDomain* last = nullptr;  // neighbours are often of one domain
  for (const plimsoll_node_info* row : cluster.rows()) {
    if (!read_values(*row->node, keys, value)) continue;
    if (last == nullptr || last->value != value) {
      last = &found[value];
      last->value = value;
    }
    last->rows.push_back(row);
    last->slots.push_back(row->slot);
  }
  std::vector<GroupDomain> domains;
  domains.reserve(found.size());
  for (auto& [name, domain] : found) domains.push_back(std::move(domain));
  return domains;
}

bool common_domain(const ClusterState& cluster, const std::vector<std::string>& keys,
                   const std::vector<const plimsoll_pod*>& pods, std::string& value) {
  const std::string cannot = "cannot determine domain for already scheduled pods: ";
  std::string seen, own;
  for (const plimsoll_pod* pod : pods) {
    const NodeInfo* node = cluster.node(view(pod->node_name));
    if (node == nullptr || !read_values(*node->node(), keys, own)) {
      value = cannot + "no topology domain found for pod " + full_name(*pod);
      return false;
    }
    if (pod != pods.front() && seen != own) {
      value = cannot + "more than 1 domain found for pod group: " + seen + ", " + own;
      return false;
    }
    seen = own;
  }
  value = seen;
  return true;
}

DomainNeeds::DomainNeeds(const std::vector<const plimsoll_pod*>& pods, size_t needed, bool extended)
    : needed_(std::min(needed, pods.size())), pods_(pods.size()) {
  std::map<uint32_t, std::vector<int64_t>> amounts;
  for (const plimsoll_pod* pod : pods) {
    for (const auto& request : items<plimsoll_resource>(pod->requests)) {
      const uint32_t index = request.index;
      if (request.value <= 0 || index == PLIMSOLL_RESOURCE_PODS) continue;
      if (index > PLIMSOLL_RESOURCE_PODS && (!extended || index == PLIMSOLL_RESOURCE_OF_NO_NODE))
        continue;
      amounts[index].push_back(request.value);
    }
  }
  for (auto& [index, asked] : amounts) {
    asked.resize(pods.size(), 0);  // the others ask for none
    std::ranges::sort(asked);
    Resource resource{.index = index, .least = asked.front()};
    for (size_t i = 0; i < asked.size(); ++i) {
      if (i < needed_) resource.needed = plus(resource.needed, asked[i]);
      resource.all = plus(resource.all, asked[i]);
    }
    resources_.push_back(resource);
  }
}

void DomainNeeds::judge(GroupDomain& domain) const {
  std::vector<int64_t> sums(resources_.size(), 0);
  domain.most_pods = 0;
  for (const plimsoll_node_info* node : domain.rows) {
    size_t pods = std::min(free_pods(*node), pods_);
    for (size_t i = 0; i < resources_.size(); ++i) {
      const int64_t free = free_of(*node, resources_[i].index);
      sums[i] = plus(sums[i], free);
      const int64_t least = resources_[i].least;
      if (least > 0) pods = std::min(pods, static_cast<size_t>(free / least));
    }
    domain.most_pods = std::min(pods_, domain.most_pods + pods);
  }
  domain.may_hold = domain.most_pods >= std::max<size_t>(needed_, 1);
  domain.may_hold_all = domain.most_pods >= pods_;
  domain.free = 0;
  for (size_t i = 0; i < resources_.size(); ++i) {
    domain.may_hold = domain.may_hold && sums[i] >= resources_[i].needed;
    domain.may_hold_all = domain.may_hold_all && sums[i] >= resources_[i].all;
    if (sums[i] < INT64_MAX)
      domain.free += static_cast<double>(sums[i]) / static_cast<double>(resources_[i].all);
  }
}

bool is_tried_before(const GroupDomain& a, const GroupDomain& b) {
  return std::tuple(!a.may_hold_all, a.rows.size(), a.free, a.value) <
         std::tuple(!b.may_hold_all, b.rows.size(), b.free, b.value);
}

bool has_lower_index(const plimsoll_pod& a, const plimsoll_pod& b) {
  const std::string_view one = index_of(a), other = index_of(b);
  if (one != other) return other.empty() || (!one.empty() && is_less(one, other));
  return view(a.meta.name) < view(b.meta.name);
}

bool is_named_before(std::string_view a, std::string_view b) {
  std::string_view left = a, right = b;
  while (!left.empty() && !right.empty()) {
    if (is_digit(left.front()) && is_digit(right.front())) {
      const std::string_view one = take_number(left), other = take_number(right);
      if (one != other) return is_less(one, other);
    } else if (left.front() != right.front()) {
      return left.front() < right.front();
    } else {
      left.remove_prefix(1);
      right.remove_prefix(1);
    }
  }
  return left.empty() != right.empty() ? left.empty() : a < b;
}

}  // namespace plimsoll
