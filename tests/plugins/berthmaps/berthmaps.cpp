// Watches a kind that nobody else knows, and Secrets.

#include <plimsoll/plugin.hpp>

namespace {

using namespace plimsoll::sdk;

class BerthMaps {
 public:
  explicit BerthMaps(Host host) : host_(host) {}
  void start() {
    host_.watch("example.com", "v1", "berthmaps");
    host_.watch("", "v1", "secrets");
  }
  void object_event(const ObjectEvent&) {}
  Status filter_node(const plimsoll_cycle&, Pod, Node) const { return {}; }

 private:
  Host host_;
};

}  // namespace

PLIMSOLL_PLUGIN(BerthMaps, "BerthMaps", "1.0.0", "Apache-2.0")
