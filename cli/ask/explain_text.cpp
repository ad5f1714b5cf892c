#include "cli/ask/explain_text.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/line/table.hpp"
#include "framework/base/shown.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kNamesPerGroup = 8;
constexpr size_t kTextsPerGroup = 3;

std::string joined(const ordered_json& texts) {
  return sdk::join(texts, ", ", [](const ordered_json& text) { return text.get<std::string>(); });
}

std::string count(size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 120) return std::to_string(whole) + " s";
  if (whole < 7200) return std::to_string(whole / 60) + " min";
  return std::to_string(whole / 3600) + " h";
}

// "1st", "2nd", "12th".
std::string ordinal(size_t number) {
  const size_t last = number % 10;
  const bool teen = number / 10 % 10 == 1;
  const char* ending = teen ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
  return std::to_string(number) + ending;
}

// Indents every line of a plugin's text; drops blank lines at the end.
std::string indented(std::string text, const std::string& indent) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, indent);
  }
  return indent + text;
}

// Nobody's name or reason makes a line of its own; only what a plugin tells people has several.
void keep_in_lines(ordered_json& value, bool lines) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    value = lines ? shown_lines(text) : shown(text);
  }
  if (value.is_array()) {
    for (ordered_json& each : value) keep_in_lines(each, lines);
  }
  if (value.is_object()) {
    for (auto& [key, each] : value.items()) keep_in_lines(each, key == "text");
  }
}

class ExplainText {
 public:
  ExplainText(const ordered_json& explanation, size_t max_nodes)
      : all_(explanation), max_nodes_(max_nodes) {}

  std::string text() {
    pod();
    if (all_.contains("queue")) queue(all_["queue"]);
    if (all_.contains("group")) group(all_["group"]);
    if (all_.contains("waitsForKinds")) losses(all_["waitsForKinds"]);
    if (all_.contains("placement")) placement(all_["placement"]);
    return out_.str();
  }

 private:
  // ---- the pod and its place

  void pod() {
    const ordered_json& pod = all_["pod"];
    out_ << "Pod " << pod["namespace"].get<std::string>() << "/" << pod["name"].get<std::string>()
         << " (scheduler " << pod["schedulerName"].get<std::string>() << ", priority "
         << pod["priority"].get<int64_t>() << ", uid " << pod["uid"].get<std::string>() << ")\n";
    if (pod["schedulerName"] != all_["profile"]) {
      out_ << "  Another scheduler's pod: the plugins of " << all_["profile"].get<std::string>()
           << " are asked about it.\n";
    }
    if (all_.contains("outdated")) {
      for (const ordered_json& loss : all_["outdated"]) {
        const std::string why = loss["why"];
        out_ << "  This is as of " << duration(loss["secondsLost"].get<double>())
             << " ago: " << loss["kind"].get<std::string>() << " have not been followed since"
             << (why.empty() ? "" : " (" + why + ")") << ".\n";
      }
    }
    if (pod["terminating"].get<bool>()) out_ << "  It is being deleted.\n";
    if (all_["standby"].get<bool>()) {
      out_ << "  This replica is on standby: another one leads, and decides.\n";
    }
    const std::string state = all_["state"];
    const std::string node = all_.value("node", "");
    if (state == "whatIf") out_ << "State: it is not there; this is what would become of it\n";
    if (state == "bound") out_ << "State: bound to " << node << "\n";
    if (state == "binding") {
      out_ << "State: on its way to " << node << ", the API server has not confirmed it yet\n";
    }
    if (state == "waitingOnPermit") {
      out_ << "State: has a place on " << node << " and waits for Permit\n";
      for (const ordered_json& wait : all_["permit"]) {
        out_ << "  " << wait["plugin"].get<std::string>() << ": "
             << duration(wait["secondsLeft"].get<double>()) << " left until it gives up\n";
      }
    }
    if (all_.contains("nominatedNode")) {
      out_ << "Nominated: " << all_["nominatedNode"].get<std::string>() << "\n";
    }
  }

  void losses(const ordered_json& kinds) {
    for (const ordered_json& loss : kinds) {
      const std::string plugin = loss["plugin"];
      const std::string why = loss["why"];
      out_ << "  Waits for " << loss["kind"].get<std::string>()
           << (plugin.empty() ? "" : " (plugin " + plugin + ")") << ", which was not followed for "
           << duration(loss["secondsLost"].get<double>()) << (why.empty() ? "" : ": " + why)
           << "\n";
    }
  }

  void queue(const ordered_json& queue) {
    static const std::map<std::string, std::string> places{
        {"active", "ready, in the active queue"},
        {"backoff", "waiting out a backoff after it was rejected"},
        {"errorBackoff", "waiting out a backoff after an error"},
        {"unschedulable", "unschedulable, until something changes that may help it"},
        {"gated", "held back before scheduling"},
        {"inFlight", "being scheduled right now"}};
    const std::string place = queue["place"];
    const auto known = places.find(place);
    out_ << "State: " << (known == places.end() ? place : known->second) << " ("
         << count(queue["podsThere"].get<size_t>(), "pod") << " there)\n"
         << "  created " << duration(queue["secondsWaiting"].get<double>()) << " ago; "
         << count(queue["attempts"].get<size_t>(), "attempt");
    if (queue["attempts"] != 0)
      out_ << ", the last one " << duration(queue["secondsQueued"].get<double>()) << " ago";
    const double backoff = queue["backoffSecondsLeft"];
    if (backoff > 0) out_ << "; backoff " << duration(backoff) << " more";
    out_ << "\n";
    for (const ordered_json& rejector : queue["rejectedBy"]) {
      const std::string kind = rejector["kind"];
      out_ << "  "
           << (kind == "gate"      ? "Held back by "
               : kind == "pending" ? "Kept waiting last by "
                                   : "Rejected last by ")
           << rejector["plugin"].get<std::string>();
      if (rejector.contains("text")) out_ << " (" << rejector["text"].get<std::string>() << ")";
      const ordered_json& events = rejector["waitsFor"];
      if (events.empty()) {
        out_ << "; no event wakes it for that\n";
      } else {
        out_ << "; may be woken by " << (events[0] == "*" ? "any event" : joined(events)) << "\n";
      }
    }
  }

  void group(const ordered_json& group) {
    out_ << "Group: " << group["name"].get<std::string>() << " ";
    if (group.contains("needed")) {
      out_ << "needs " << count(group["needed"].get<size_t>(), "pod");
    } else {
      out_ << "is not known";
    }
    out_ << "; " << group["waiting"].get<size_t>() << " wait, " << group["placed"].get<size_t>()
         << " have a node\n";
    if (group.contains("said")) out_ << "  last: " << group["said"].get<std::string>() << "\n";
  }

  // ---- the result for the pod

  void placement(const ordered_json& placement) {
    const std::string node = all_.value("node", "");
    const size_t nodes = placement["nodes"];
    const size_t feasible = placement["feasible"];
    out_ << "\n"
         << (node.empty() ? "If it were tried now: " : "If it were pending, and not on its node: ");
    if (placement.contains("error")) {
      out_ << "the attempt would end with an error\n  " << placement["error"].get<std::string>()
           << "\n";
      return;
    }
    out_ << feasible << " of " << count(nodes, "node") << (feasible == 1 ? " fits" : " fit");
    const std::string chosen = placement["chosen"];
    if (!chosen.empty()) {
      out_ << "; " << chosen << (node.empty() ? " would be chosen" : " is the best");
      if (placement["nominatedNodeTaken"].get<bool>()) {
        out_ << ", its nominated node: no other was looked at";
      } else if (feasible == 1) {
        out_ << ", as the only one";
      }
    }
    out_ << "\n";
    if (!node.empty() && chosen != node) own_node(placement, node);
    if (placement.contains("message")) {
      out_ << "  " << placement["message"].get<std::string>() << "\n";
    }
    pre_filter(placement["preFilter"]);
    if (feasible != 0) fitting(placement);
    if (!placement["refused"].empty()) refused(placement["refused"]);
  }

  void own_node(const ordered_json& placement, const std::string& node) {
    for (const ordered_json& fitting : placement["fitting"]) {
      if (fitting["node"] != node) continue;
      out_ << "  " << node << " is the " << ordinal(fitting["rank"].get<size_t>())
           << " best by now: the cluster has changed since the pod was placed\n";
      return;
    }
    for (const ordered_json& refused : placement["refused"]) {
      if (refused["node"] != node) continue;
      out_ << "  " << node << " would refuse it by now: " << reason(refused) << "\n";
    }
  }

  void pre_filter(const ordered_json& said) {
    if (said.contains("rejection")) {
      out_ << "PreFilter: " << reason(said["rejection"]) << "\n";
    }
    if (said.contains("narrowedBy")) {
      out_ << "PreFilter: " << joined(said["narrowedBy"]) << " left "
           << count(said["narrowedTo"].get<size_t>(), "node") << " to look at\n";
    }
    if (!said["skipped"].empty()) {
      out_ << "Not asked, as the pod has nothing for them: " << joined(said["skipped"]) << "\n";
    }
  }

  void fitting(const ordered_json& placement) {
    const ordered_json& nodes = placement["fitting"];
    const bool scored = nodes.front().contains("scores");
    std::vector<std::string> header{"#", "NODE"};
    if (scored) {
      header.emplace_back("TOTAL");
      for (const ordered_json& score : nodes.front()["scores"]) {
        header.push_back(score["plugin"].get<std::string>() + " x" + score["weight"].dump());
      }
    }
    Table table(header);
    size_t shown = 0;
    for (const ordered_json& node : nodes) {
      const bool own = node["node"] == all_.value("node", "");
      if (shown >= max_nodes_ && !own) continue;
      ++shown;
      std::vector<std::string> row{node["rank"].dump(),
                                   node["node"].get<std::string>() + (own ? " (here)" : "")};
      if (scored) {
        row.push_back(node["total"].dump());
        for (const ordered_json& score : node["scores"]) row.push_back(cell(score));
      }
      table.add(std::move(row));
    }
    out_ << "\nFITS"
         << (scored ? ", best first: score times weight, and what Score gave if "
                      "NormalizeScore changed it"
                    : "")
         << "\n"
         << table.text();
    const size_t feasible = placement["feasible"];
    if (shown < feasible) out_ << "... and " << feasible - shown << " more (--nodes all)\n";
    for (const ordered_json& node : nodes) {
      if (!node.contains("remarks")) continue;
      for (const ordered_json& remark : node["remarks"]) {
        out_ << node["node"].get<std::string>() << ", " << remark["plugin"].get<std::string>()
             << ":\n"
             << indented(remark["text"], "  ") << "\n";
      }
    }
  }

  static std::string cell(const ordered_json& score) {
    std::string text = score["weighted"].dump();
    if (score["raw"] != score["score"]) text += " (" + score["raw"].dump() + ")";
    return text;
  }

  static std::string reason(const ordered_json& refused) {
    const std::string plugin = refused["plugin"];
    const std::string text = refused["reason"];
    return (plugin.empty() ? "" : plugin + ": ") + text;
  }

  void refused(const ordered_json& nodes) {
    std::map<std::string, std::vector<const ordered_json*>> groups;
    for (const ordered_json& node : nodes) {
      // Preemption cannot help on these nodes.
      const bool final = node["code"] == "UnschedulableAndUnresolvable";
      std::string key = reason(node);
      if (final) key += "  [preemption cannot help]";
      if (node.contains("keptFor")) key += "  [room is kept for " + joined(node["keptFor"]) + "]";
      groups[key].push_back(&node);
    }
    std::vector<std::pair<std::string, std::vector<const ordered_json*>>> sorted(groups.begin(),
                                                                                 groups.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return a.second.size() > b.second.size();
    });
    out_ << "\nREFUSED\n";
    for (const auto& [reason, group] : sorted) {
      out_ << count(group.size(), "node") << "  " << reason << "\n";
      group_members(group);
    }
  }

  void group_members(const std::vector<const ordered_json*>& group) {
    const bool all = max_nodes_ >= group.size();
    size_t told = 0;
    std::string names;
    size_t named = 0;
    for (const ordered_json* node : group) {
      const std::string name = (*node)["node"];
      if (node->contains("text") && (all || told < kTextsPerGroup)) {
        ++told;
        const std::string text = (*node)["text"];
        const bool one_line =
            text.find('\n') == std::string::npos || text.find('\n') + 1 == text.size();
        out_ << "    " << name << ":"
             << (one_line ? indented(text, " ") : "\n" + indented(text, "      ")) << "\n";
      } else if (all || named < kNamesPerGroup) {
        ++named;
        names += (names.empty() ? "" : ", ") + name;
      }
    }
    if (!names.empty()) out_ << "    " << (told == 0 ? "" : "and ") << names << "\n";
    const size_t left = group.size() - told - named;
    if (left != 0) out_ << "    and " << left << " more (--nodes all)\n";
  }

  const ordered_json& all_;
  const size_t max_nodes_;
  std::ostringstream out_;
};

}  // namespace

std::string explain_text(std::string_view text, size_t max_nodes) {
  ordered_json explanation = ordered_json::parse(text);
  keep_in_lines(explanation, false);
  return ExplainText(explanation, max_nodes).text();
}

}  // namespace plimsoll::cli
