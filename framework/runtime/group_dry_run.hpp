#pragma once
// Where the pods of a group would be if pods of lower priority made room for them. The cycle
// publishes it as a service, DefaultPreemption asks. Loop only; it changes nothing.

#include <plimsoll/plugin_abi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

class GroupDryRun {
 public:
  static constexpr const char* kService = "plimsoll.group-dry-run";

  struct Member {
    const plimsoll_pod* pod;
    uint64_t kind;  // see <plimsoll/pod_groups.h>
  };
  struct Query {
    std::span<const Member> members;  // without a place; they are placed in this order
    size_t needed = 0;                // so many of them need one,
    const plimsoll_pod* pod;          // and this one in any case
    std::string_view plugin;          // whose signature of a member its kind stands for
    std::string_view node;            // where the pod has to be; empty: anywhere
  };
  struct Place {
    const plimsoll_pod* pod;
    std::string node;
  };
  struct Answer {
    std::vector<Place> places;
    bool has_pod = false;         // one of them is the pod's
    bool too_many_kinds = false;  // not all members were looked at
    bool gave_up = false;         // it would have taken too long
  };

  virtual ~GroupDryRun() = default;
  // Places of different members, no more than are needed.
  [[nodiscard]] virtual Answer place(const Query& query) const = 0;
};

}  // namespace plimsoll
