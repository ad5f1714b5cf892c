// GangScheduling: the pods of a PodGroup of scheduling.k8s.io are placed together (KEP-4671). Where
// it is enabled, the scheduler's queue and cycle treat them so; the plugin follows the PodGroups,
// and stands for what the group as a whole waits for.
#include <plimsoll/args.hpp>
#include <set>
#include <string>

#include "framework/base/quote.hpp"
#include "plugins/builtin/columns/label_rules.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

constexpr std::string_view kGroup = "scheduling.k8s.io";
constexpr std::string_view kPlural = "podgroups";

class GangScheduling {
 public:
  static constexpr const char* kName = "GangScheduling";

  GangScheduling(const Host& host, std::string_view args_json) : host_(host) {
    read_args(host, args_json, {"GangSchedulingArgs"}, [](Args& args) {
      std::set<std::string> levels;
      args.each_name("topologyLevels", [&](const std::string& path, const std::string& key) {
        require_label_key(args, path, key);
        if (!levels.insert(key).second) args.problem_at(path, go_quoted(key) + " is listed before");
      });
    });
    host.watch(kGroup, "v1beta1", kPlural);
  }

  // The queue knows by itself what may help a group that is not complete. One that is to stay
  // within one domain of the network and has no place there waits for nodes and their labels.
  static constexpr bool wakes_whom_it_gates = true;
  std::array<plimsoll_event_interest, 1> events() const {
    return {on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL)};
  }
  Status pre_enqueue(Pod) { return Status::success(); }

  void object_event(const ObjectEvent& event) {
    const bool missing =
        event.type == ObjectEvent::kSynced && event.json.find("false") != event.json.npos;
    if (missing && event.resource == "podgroups.v1beta1.scheduling.k8s.io")
      host_.watch(kGroup, "v1", kPlural);
  }
  bool rests_on(Pod pod, std::string_view) const {
    return PLIMSOLL_HAS(&*pod, group) && pod->group.len != 0;
  }

 private:
  Host host_;
};

}  // namespace

StaticModule gang_scheduling() {
  return linked_in<GangScheduling>();
}

}  // namespace plimsoll::builtin
