#include "plugins/noderesourcetopologymatch/explain_text.hpp"

#include <algorithm>

#include "plugins/topology/nrt_object.hpp"

namespace plimsoll::topology {

std::string amount_text(std::string_view resource, int64_t amount) {
  if (resource == "cpu") {
    return amount % 1000 == 0 ? std::to_string(amount / 1000) : std::to_string(amount) + "m";
  }
  const bool bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  static constexpr const char* kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti"};
  size_t suffix = 0;
  while (bytes && amount != 0 && amount % 1024 == 0 && suffix < 4) {
    amount /= 1024;
    ++suffix;
  }
  return std::to_string(amount) + kSuffixes[suffix];
}

std::string explain_text(const PodRequest& pod, const plimsoll_numa_node* node,
                         const NodeAllocatable& allocatable, Verdict verdict, int64_t now_ms,
                         Scratch& scratch) {
  if (verdict == Verdict::kInvalidTopology) {
    return std::string(message_of(verdict)) +
           " (its NodeResourceTopology cannot be read; the log says why)";
  }
  if (node == nullptr) return "the node has no NodeResourceTopology: not checked";
  const std::string about = std::string(to_string(static_cast<Policy>(node->policy))) + ", scope " +
                            std::string(to_string(static_cast<Scope>(node->scope)));
  if (verdict == Verdict::kFits) return "fits (" + about + ")";
  std::string text(message_of(verdict));
  const Shortage shortage = explain_shortage(pod, *node, allocatable, scratch);
  if (!shortage.container.empty()) text += " " + std::string(shortage.container);
  text += " (" + about + "; ";
  const std::string name(shortage.resource);
  const std::string need = name + ": need " + amount_text(name, shortage.need);
  if (name.empty()) {
    text += "init containers and sidecars leave no zone for those after them";
  } else if (!shortage.on_node) {
    text += need + ", the node has none";
  } else if (!shortage.listed) {
    text += need + ", no zone has it";
  } else {
    text += need + ", best node-" + std::to_string(shortage.best_zone) + " has " +
            amount_text(name, shortage.best_free);
    if (!shortage.alone) text += ", but not in a zone that has the rest";
  }
  const int64_t age = std::max<int64_t>(0, now_ms - node->reported_ms) / 1000;
  text += "; report " + std::to_string(age) + " s old; " + std::to_string(node->promises) +
          " in flight)";
  return text;
}

}  // namespace plimsoll::topology
