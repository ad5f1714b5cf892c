// GangScheduling: the pods of a PodGroup of scheduling.k8s.io are placed together (KEP-4671). Where
// it is enabled, the scheduler's queue and cycle treat them so; the plugin follows the PodGroups,
// and stands for what the group as a whole waits for.
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

constexpr std::string_view kGroup = "scheduling.k8s.io";
constexpr std::string_view kPlural = "podgroups";

class GangScheduling {
 public:
  static constexpr const char* kName = "GangScheduling";

  explicit GangScheduling(const Host& host) : host_(host) {
    host.watch(kGroup, "v1beta1", kPlural);
  }

  // The queue knows by itself what may help a group that is not complete.
  std::array<plimsoll_event_interest, 0> events() const { return {}; }
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
