// Whole decisions: the pods of a queue one after the other, each assumed on the node that the
// vector chose before the next one is looked at.
//
// Plugins of the default profile that do not exist here run after all Filter plugins that do. So
// the verdict of every node is compared: refused by a plugin that exists, with the same code and
// reasons, or not refused. Scores are those of the vector's feasible nodes, plugin by plugin; what
// the vector says that other plugins gave is added before totals and the choice are compared, and
// nodes that others refused are added to the message.

#include <algorithm>
#include <optional>
#include <set>

#include "framework/api/decode/decode.hpp"
#include "framework/placement/diagnosis.hpp"
#include "tests/conformance/default_profile.hpp"
#include "tests/conformance/kinds.hpp"

namespace plimsoll::conformance {
namespace {

using Rows = std::vector<const plimsoll_node_info*>;

std::string name_of(const plimsoll_node_info& row) {
  return std::string(view(row.node->meta.name));
}

class Decisions {
 public:
  Decisions(const Json& test_case, Findings& findings) : findings_(findings) {
    for (const Json& node : test_case.at("nodes")) profile_.add_node(node);
    profile_.add_watched(test_case);
    for (const Json& pod : member(test_case, "existingPods")) profile_.add_pod(profile_.pod(pod));
  }

  void decide(const Json& pod_json, const Json& expected) {
    const PodRef pod = profile_.pod(pod_json);
    where_ = std::string(view(pod->meta.name));
    cycle_ = profile_.framework().new_cycle();
    diagnosis_ = {};
    diagnosis_.node_count = profile_.cluster().rows().size();
    filter(*pod, expected);
    if (member(expected, "feasible").empty()) {
      refuse(expected);
      return;
    }
    choose(*pod, expected);
    profile_.add_pod(assigned_copy(pod, expected.at("chosen").get<std::string>()));
  }

 private:
  void expect(const std::string& what, const Json& expected, const Json& actual) {
    findings_.expect(where_ + " " + what, expected, actual);
  }

  Json described(Code code, uint32_t reason, PluginIndex plugin) const {
    std::vector<std::string> reasons = profile_.reasons().texts(reason);
    std::sort(reasons.begin(), reasons.end());
    return {{"code", code_name(static_cast<int32_t>(code))},
            {"plugin", profile_.name(plugin)},
            {"reasons", reasons}};
  }

  void filter(const plimsoll_pod& pod, const Json& expected) {
    PreFilterOutcome outcome = profile_.framework().run_pre_filter(*cycle_, pod);
    diagnosis_.rejectors.insert(outcome.narrowed_by.begin(), outcome.narrowed_by.end());
    if (outcome.status.is_error()) return findings_.add(where_ + " " + outcome.status.error);
    Json rejected;
    if (outcome.status.rejected()) {
      rejected = described(outcome.status.code, outcome.status.reason, outcome.status.plugin_index);
      diagnosis_.pre_filter_message = outcome.status.message(profile_.reasons());
      diagnosis_.rejectors.insert(outcome.status.plugin_index);
    }
    expect("preFilterRejected", member(expected, "preFilterRejected"), rejected);
    expect("preFilterNodes", member(expected, "preFilterNodes"), outcome.node_names);
    if (outcome.status.rejected()) return;

    const Rows& all = profile_.cluster().rows();
    Rows rows;
    for (const plimsoll_node_info* row : all) {
      const auto& names = outcome.node_names;
      const bool named = std::find(names.begin(), names.end(), name_of(*row)) != names.end();
      if (!outcome.narrowed || named) rows.push_back(row);
    }
    if (rows.size() < all.size()) {
      diagnosis_.nodes_by_reason[outcome.absent_nodes.reason] += all.size() - rows.size();
    }
    compare_verdicts(pod, rows, expected);
  }

  void compare_verdicts(const plimsoll_pod& pod, const Rows& rows, const Json& expected) {
    std::vector<uint8_t> codes(rows.size(), 0);
    std::vector<uint32_t> reasons(rows.size(), 0);
    std::vector<PluginIndex> rejectors(rows.size(), kNoPlugin);
    std::vector<uint32_t> slots;
    for (const plimsoll_node_info* row : rows) slots.push_back(row->slot);
    const Status status = profile_.framework().run_filters(
        *cycle_, pod, NodeRows(rows, slots, &profile_.cluster().columns()),
        {codes, reasons, rejectors});
    if (!status.ok()) return findings_.add(where_ + " " + status.error);
    const Json& infeasible = member(expected, "infeasible");
    std::set<std::string> feasible(member(expected, "feasible").begin(),
                                   member(expected, "feasible").end());
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string node = name_of(*rows[i]);
      Json actual;
      if (codes[i] != PLIMSOLL_SUCCESS) {
        actual = described(static_cast<Code>(codes[i]), reasons[i], rejectors[i]);
        ++diagnosis_.nodes_by_reason[reasons[i]];
        diagnosis_.rejectors.insert(rejectors[i]);
      }
      Json verdict;
      if (const Json& index = member(infeasible, node); !index.is_null()) {
        verdict = expected.at("statuses").at(index.get<size_t>());
        feasible.erase(node);
      }
      const std::string plugin = verdict.is_null() ? "" : verdict.at("plugin").get<std::string>();
      if (!plugin.empty() && profile_.find(plugin) == kNoPlugin) {
        // Not refused by any of those before it.
        findings_.tally("nodes refused by " + plugin);
        for (const Json& reason : verdict.at("reasons")) diagnosis_.texts.push_back(reason);
        verdict = nullptr;
        others_.insert(plugin);
      }
      expect(node, verdict, actual);
      if (verdict.is_null()) feasible.erase(node);
      findings_.tally("verdicts compared");
    }
    expect("feasible nodes that were not looked at", Json(), feasible);
  }

  void refuse(const Json& expected) {
    std::set<std::string> plugins = std::exchange(others_, {});
    for (const PluginIndex plugin : diagnosis_.rejectors) plugins.insert(profile_.name(plugin));
    // Of a pod that PreFilter rejected, the vectors only name the plugin there.
    const Json& rejected = member(expected, "preFilterRejected");
    expect("unschedulablePlugins",
           rejected.is_null() ? member(expected, "unschedulablePlugins")
                              : Json::array({rejected.at("plugin")}),
           plugins);
    expect("message", member(expected, "message"),
           fit_error_message(diagnosis_, profile_.reasons()));
    findings_.tally("messages compared");
  }

  void choose(const plimsoll_pod& pod, const Json& expected) {
    others_.clear();
    const std::vector<std::string> names = expected.at("feasible");
    Json best = names;
    if (names.size() > 1) best = best_of(pod, names, expected);
    if (best.is_null()) return;
    if (names.size() > 1) expect("top", member(expected, "top"), best);
    std::sort(best.begin(), best.end());
    expect("chosen", expected.at("chosen"), best.front());
    findings_.tally("choices compared");
  }

  // The nodes with the best total; null if there is none to speak of.
  Json best_of(const plimsoll_pod& pod, const std::vector<std::string>& names,
               const Json& expected) {
    Rows rows;
    std::vector<uint32_t> slots;
    for (const std::string& name : names) {
      rows.push_back(profile_.cluster().node(name)->abi());
      slots.push_back(rows.back()->slot);
    }
    const NodeRows nodes(rows, slots, &profile_.cluster().columns());
    ScoreTable table;
    Status status = profile_.framework().run_pre_score(*cycle_, pod, nodes);
    if (status.ok()) status = profile_.framework().run_score(*cycle_, pod, nodes, table, true);
    if (!status.ok()) {
      findings_.add(where_ + " " + status.error);
      return nullptr;
    }
    std::vector<int64_t> totals = table.totals;
    const Json& columns = expected.at("scorePlugins");
    std::set<std::string> scored;
    for (size_t column = 0; column < columns.size(); ++column) {
      const std::string plugin = columns[column];
      const PluginIndex index = profile_.find(plugin);
      const auto part = std::find_if(table.parts.begin(), table.parts.end(),
                                     [&](const auto& each) { return each.plugin == index; });
      const bool exists = index != kNoPlugin;
      // A plugin that prefers nothing is not asked here, and gives every node the same there.
      const auto prefers = [&](const auto& name) {
        return expected.at("scores").at(name).at(column + 1) !=
               expected.at("scores").at(names[0]).at(column + 1);
      };
      const bool asked =
          part != table.parts.end() || std::any_of(names.begin(), names.end(), prefers);
      if (exists && asked) scored.insert(plugin);
      for (size_t row = 0; row < rows.size(); ++row) {
        const int64_t score = expected.at("scores").at(names[row]).at(column + 1);
        if (!exists) {
          totals[row] += score;
        } else if (!asked) {
          totals[row] += score;
        } else if (part != table.parts.end()) {
          expect(plugin + " of " + names[row], score, part->weighted[row]);
        }
      }
      findings_.tally((exists ? "scores compared: of " : "scores taken as given: of ") + plugin,
                      rows.size());
    }
    std::set<std::string> actual;
    for (const auto& part : table.parts) actual.insert(profile_.name(part.plugin));
    expect("scorePlugins", scored, actual);
    for (size_t row = 0; row < rows.size(); ++row) {
      expect("total of " + names[row], expected.at("scores").at(names[row]).at(0), totals[row]);
    }
    const int64_t most = *std::max_element(totals.begin(), totals.end());
    Json best = Json::array();
    for (size_t row = 0; row < rows.size(); ++row) {
      if (totals[row] == most) best.push_back(names[row]);
    }
    return best;
  }

  Findings& findings_;
  DefaultProfile profile_;
  // Of the pod that is looked at.
  std::string where_;
  std::shared_ptr<CycleContext> cycle_;
  Diagnosis diagnosis_;
  std::set<std::string> others_;  // plugins that do not exist here and refused nodes
};

}  // namespace

void check_schedule(const Json& test_case, Findings& findings) {
  Decisions decisions(test_case, findings);
  const Json& queue = test_case.at("queue");
  for (size_t i = 0; i < queue.size(); ++i) {
    decisions.decide(queue[i], test_case.at("results").at(i));
  }
}

}  // namespace plimsoll::conformance
