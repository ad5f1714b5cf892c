#include "lab/simulate/expectations.hpp"

#include <plimsoll/join.hpp>
#include <plimsoll/nearest.hpp>

#include <algorithm>
#include <map>

#include "config/manifest.hpp"
#include "config/text/yaml_document.hpp"

namespace plimsoll::cli {
namespace {

using config::Value;

class Reader {
 public:
  Expectations read(const Value& root) {
    Expectations out;
    if (!root.is_mapping()) {
      problem(root.at, "",
              "a mapping with placed, unplaced, spread and kubeletRejections is expected, found " +
                  config::describe(root));
      return out;
    }
    for (const config::Member& member : root.members) {
      if (member.key == "placed" || member.key == "unplaced") {
        read_pods(member, member.key == "placed", out.pods);
      } else if (member.key == "spread") {
        read_spreads(member, out.spreads);
      } else if (member.key == "kubeletRejections") {
        out.kubelet_rejections = member.value.as_int64();
        if (!out.kubelet_rejections) problem(member.at, member.key, "a whole number is expected");
      } else {
        unknown(member, "", {"placed", "unplaced", "spread", "kubeletRejections"});
      }
    }
    return out;
  }

  config::Problems problems;

 private:
  void problem(config::Position at, const std::string& path, std::string message) {
    problems.push_back({path, at, std::move(message)});
  }

  void unknown(const config::Member& member, const std::string& parent,
               const std::vector<std::string_view>& known) {
    const std::string near = sdk::nearest(member.key, known);
    problem(member.at, config::child_path(parent, member.key),
            "unknown field" + (near.empty() ? "" : ", did you mean \"" + near + "\"?"));
  }

  // `read(item, path)` for each item.
  template <typename Read>
  void read_list(const config::Member& list, Read read) {
    if (!list.value.is_sequence()) {
      problem(list.at, list.key, "a list is expected");
      return;
    }
    for (size_t i = 0; i < list.value.items.size(); ++i) {
      read(list.value.items[i], config::index_path(list.key, i));
    }
  }

  void read_pods(const config::Member& list, bool placed, std::vector<ExpectedPod>& out) {
    read_list(list, [&](const Value& item, const std::string& path) {
      ExpectedPod expected;
      expected.placed = placed;
      for (const config::Member& member : item.members) read_field(member, path, expected);
      if (expected.pod.find('/') == std::string::npos) {
        problem(item.at, config::child_path(path, "pod"), "namespace/name is expected");
      }
      out.push_back(std::move(expected));
    });
  }

  void read_spreads(const config::Member& list, std::vector<ExpectedSpread>& out) {
    read_list(list, [&](const Value& item, const std::string& path) {
      ExpectedSpread& expected = out.emplace_back();
      for (const config::Member& member : item.members) read_field(member, path, expected);
      if (expected.pods.empty() || expected.counts.empty()) {
        problem(item.at, path, "pods and counts are expected");
      }
    });
  }

  void read_field(const config::Member& member, const std::string& path, ExpectedSpread& expected) {
    if (member.key == "pods" && member.value.is_sequence()) {
      expected.pods = texts(member.value);
    } else if (member.key == "over" && member.value.is_sequence()) {
      for (const Value& group : member.value.items) expected.over.push_back(texts(group));
    } else if (member.key == "counts" && member.value.is_sequence()) {
      for (const Value& count : member.value.items) {
        const auto number = count.as_int64();
        if (!number) problem(count.at, config::child_path(path, "counts"), "not a whole number");
        expected.counts.push_back(number.value_or(0));
      }
    } else {
      unknown(member, path, {"pods", "over", "counts"});
    }
  }

  static std::vector<std::string> texts(const Value& list) {
    std::vector<std::string> out;
    for (const Value& item : list.items) out.push_back(item.text);
    return out;
  }

  void read_field(const config::Member& member, const std::string& path, ExpectedPod& expected) {
    if (member.key == "pod" && member.value.is_string()) {
      expected.pod = member.value.text;
    } else if (member.key == "reason" && !expected.placed && member.value.is_string()) {
      expected.reason = member.value.text;
    } else if (member.key == "nodes" && expected.placed && member.value.is_sequence()) {
      expected.nodes = texts(member.value);
    } else if (expected.placed) {
      unknown(member, path, {"pod", "nodes"});
    } else {
      unknown(member, path, {"pod", "reason"});
    }
  }
};

std::string check(const ExpectedPod& expected, const Placement& actual) {
  if (!expected.placed) {
    if (!actual.node.empty()) return "should have no place, but is on " + actual.node;
    if (actual.message.find(expected.reason) == std::string::npos) {
      return "should be refused because of \"" + expected.reason +
             "\", but the reason is: " + actual.message;
    }
    return "";
  }
  if (actual.node.empty()) return "should be placed, but is not: " + actual.message;
  const bool allowed =
      expected.nodes.empty() ||
      std::find(expected.nodes.begin(), expected.nodes.end(), actual.node) != expected.nodes.end();
  if (allowed) return "";
  return "should be on one of " + sdk::join(expected.nodes) + ", but is on " + actual.node;
}

using ByPod = std::map<std::string, const Placement*>;

// The group's number as text, or the node's name if each node is a group.
std::string group_of(const std::string& node, const ExpectedSpread& expected) {
  for (size_t i = 0; i < expected.over.size(); ++i) {
    const auto& group = expected.over[i];
    if (std::find(group.begin(), group.end(), node) != group.end()) return std::to_string(i);
  }
  return expected.over.empty() ? node : "none";
}

std::string check(const ExpectedSpread& expected, const ByPod& by_pod) {
  std::map<std::string, int64_t> pods_of;
  std::vector<std::string> where;
  for (const std::string& pod : expected.pods) {
    const auto found = by_pod.find(pod);
    if (found == by_pod.end() || found->second->node.empty()) return pod + " is on no node";
    ++pods_of[group_of(found->second->node, expected)];
    where.push_back(pod + " on " + found->second->node);
  }
  std::vector<int64_t> counts;
  counts.reserve(pods_of.size());
  for (const auto& [group, count] : pods_of) counts.push_back(count);
  std::vector<int64_t> wanted = expected.counts;
  std::sort(counts.begin(), counts.end());
  std::sort(wanted.begin(), wanted.end());
  if (counts == wanted) return "";
  std::vector<std::string> numbers;
  numbers.reserve(wanted.size());
  for (const int64_t count : wanted) numbers.push_back(std::to_string(count));
  return "pods should be spread as " + sdk::join(numbers) + ", but are " + sdk::join(where);
}

}  // namespace

Result<Expectations> load_expectations(const std::string& path) {
  const auto text = config::read_text_file(path);
  if (!text) return fail(text.error());
  const config::ParsedText parsed = config::parse_single_document(*text);
  Reader reader;
  reader.problems = parsed.problems;
  Expectations expectations;
  if (reader.problems.empty() && !parsed.documents.empty())
    expectations = reader.read(parsed.documents.front());
  if (reader.problems.empty() && expectations.size() == 0) {
    reader.problems.push_back({"", {}, "nothing is expected: list pods under placed or unplaced"});
  }
  if (!reader.problems.empty()) {
    return fail(ErrorCode::kInvalid, config::to_string(reader.problems, path));
  }
  return expectations;
}

std::vector<std::string> check_expectations(const Expectations& expectations,
                                            const std::vector<Placement>& placements,
                                            uint64_t kubelet_rejections) {
  ByPod by_pod;
  for (const Placement& placement : placements) by_pod.emplace(placement.pod, &placement);
  std::vector<std::string> broken;
  for (const ExpectedPod& expected : expectations.pods) {
    const auto found = by_pod.find(expected.pod);
    const std::string text = found == by_pod.end() ? "is not among the pods of the simulation"
                                                   : check(expected, *found->second);
    if (!text.empty()) broken.push_back(expected.pod + " " + text);
  }
  for (const ExpectedSpread& expected : expectations.spreads) {
    if (std::string text = check(expected, by_pod); !text.empty()) broken.push_back(text);
  }
  const auto allowed = static_cast<uint64_t>(expectations.kubelet_rejections.value_or(0));
  if (expectations.kubelet_rejections && kubelet_rejections != allowed) {
    broken.push_back("kubelets should refuse " + std::to_string(allowed) + " pods, but refused " +
                     std::to_string(kubelet_rejections));
  }
  return broken;
}

}  // namespace plimsoll::cli
