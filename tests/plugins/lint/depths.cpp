// A score with arguments: how deep the water is, as a label of the node says. Args: {"label": ...,
// "deepest": what gets 100 points, "fault": "loop", "negative", "throw" or "undeclared"}.
#include <algorithm>
#include <charconv>
#include <plimsoll/args.hpp>
#include <plimsoll/plugin.hpp>
#include <string>

namespace {
using namespace plimsoll::sdk;

class Depths {
 public:
  uint32_t score_aspects = PLIMSOLL_ASPECT_LABELS;

  Depths(Host host, std::string_view args_json) {
    read_args(host, args_json, {"DepthsArgs"}, [this](Args& args) {
      args.read("label", label_);
      args.read("deepest", deepest_, 1, 1000);
      args.read("fault", fault_);
    });
    if (fault_ == "undeclared") score_aspects = PLIMSOLL_ASPECT_TAINTS;
  }
  Status sign(Pod, Sink&) { return {}; }
  int64_t score_node(const plimsoll_cycle&, Pod, Node node) const {
    const auto text = node.label(label_);
    if (!text) return 0;
    if (fault_ == "throw") return std::clamp(std::stoll(std::string(*text)), 0LL, 100LL);
    int64_t depth = 0;
    std::from_chars(text->data(), text->data() + text->size(), depth);
    for (volatile int64_t left = depth; fault_ == "loop" && left != 0;) left = left - 2 * depth;
    const int64_t lowest = fault_ == "negative" ? -deepest_ : 0;
    return std::clamp(depth, lowest, deepest_) * 100 / deepest_;
  }

 private:
  std::string label_ = "example.com/depth";
  int64_t deepest_ = 20;
  std::string fault_;
};
}  // namespace

PLIMSOLL_PLUGIN(Depths, "Depths", "1.0.0", "Apache-2.0")
