// One that watches a kind of its own: at low tide, as the object of the node's name says, nobody
// lands there. Args: {"fault": "loop", "throw", "event", which throws too, "undeclared" or
// "untouched"}.
#include <plimsoll/args.hpp>
#include <plimsoll/plugin.hpp>
#include <set>
#include <stdexcept>
#include <string>

namespace {
using namespace plimsoll::sdk;

class Tides {
 public:
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_PLUGIN;

  Tides(Host host, std::string_view args_json)
      : host_(host), low_(host.reason("node(s) had low tide")) {
    read_args(host, args_json, {"TidesArgs"}, [this](Args& args) { args.read("fault", fault_); });
  }
  void start() { host_.watch("example.com", "v1", "tides"); }
  std::span<const plimsoll_event_interest> events() const { return {}; }
  Status sign(Pod, Sink&) { return {}; }
  Status filter_node(const plimsoll_cycle&, Pod, Node node) const {
    if (fault_ == "throw") throw std::runtime_error("the tide table is lost");
    if (fault_ == "undeclared" && node.label("example.com/deep")) return {};
    return nodes_.contains(std::string(node.name())) ? Status::unschedulable(low_) : Status();
  }
  void object_event(const ObjectEvent& event) {
    if (event.type == ObjectEvent::kSynced) return;
    for (volatile int tide = 0; fault_ == "loop" && tide < 2;) tide = 1 - tide;
    const bool low = event.json.find("\"low\":true") != std::string_view::npos;
    if (fault_ == "event" && !low) throw std::runtime_error("this tide is not low");
    low ? static_cast<void>(nodes_.emplace(event.name))
        : static_cast<void>(nodes_.erase(std::string(event.name)));
    if (fault_ == "untouched") return;
    if (const Node node = host_.node(event.name)) host_.touch_node(node.slot());
    if (!low) host_.requeue_rejected();
  }

 private:
  Host host_;
  uint32_t low_;
  std::string fault_;
  std::set<std::string> nodes_;  // with low tide
};
}  // namespace

PLIMSOLL_PLUGIN(Tides, "Tides", "1.0.0", "Apache-2.0")
