#include "framework/placement/diagnosis.hpp"

#include <algorithm>
#include <string_view>

namespace plimsoll {

void Diagnosis::add_rejector(const Status& status) {
  if (status.plugin_index == kNoPlugin) return;
  (status.code == Code::kPending ? pending : rejectors).insert(status.plugin_index);
}

Diagnosis one_node_refused(const Status& status) {
  Diagnosis diagnosis;
  if (!status.rejected()) return diagnosis;
  diagnosis.node_count = 1;
  diagnosis.nodes_by_reason[status.reason] = 1;
  diagnosis.add_rejector(status);
  return diagnosis;
}

std::string fit_error_message(const Diagnosis& diagnosis, const ReasonTable& reasons) {
  std::string message = "0/" + std::to_string(diagnosis.node_count) + " nodes are available:";
  if (!diagnosis.pre_filter_message.empty()) {
    message += " " + diagnosis.pre_filter_message + ".";
  } else {
    std::map<std::string, size_t> histogram;
    for (const auto& [reason, nodes] : diagnosis.nodes_by_reason) {
      for (const auto& text : reasons.texts(reason)) histogram[std::string(text)] += nodes;
    }
    for (const std::string& text : diagnosis.texts) ++histogram[text];
    std::vector<std::string> parts;
    parts.reserve(histogram.size());
    for (const auto& [text, nodes] : histogram) parts.push_back(std::to_string(nodes) + " " + text);
    std::sort(parts.begin(), parts.end());
    for (size_t i = 0; i < parts.size(); ++i) message += (i == 0 ? " " : ", ") + parts[i];
    if (!parts.empty()) message += ".";
  }
  if (!diagnosis.post_filter_message.empty()) message += " " + diagnosis.post_filter_message;
  return message;
}

}  // namespace plimsoll
