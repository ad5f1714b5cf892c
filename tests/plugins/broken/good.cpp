// Nothing is wrong with this one: what the others are compared with.
#include <plimsoll/plugin.hpp>

namespace {

using namespace plimsoll::sdk;

class Good {
 public:
  Good(Host host, std::string_view) : host_(std::move(host)) {}
  Status filter_node(const plimsoll_cycle&, Pod, Node node) const {
    return node.label("good") ? Status() : host_.unschedulable("node(s) were not good");
  }
  int64_t score_node(const plimsoll_cycle&, Pod, Node) const { return 100; }

 private:
  Host host_;
};

}  // namespace

PLIMSOLL_PLUGIN(Good, "Good", "1.2.3", "Apache-2.0")
