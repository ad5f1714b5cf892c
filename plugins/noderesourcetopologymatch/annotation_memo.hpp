#pragma once
// The zones annotation as text. Like pods get like zones, so most texts were written before.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "plugins/topology/base/mix.hpp"
#include "plugins/topology/record/zones_annotation.hpp"
#include "plugins/topology/service/ledger_access.hpp"

namespace plimsoll::topology {

// Loop only.
class AnnotationMemo {
 public:
  using Reading = std::shared_ptr<const LedgerAccess::Reading>;

  // zones_annotation() of the two. Valid until the next call.
  [[nodiscard]] const std::string& of(const Reading& pod,
                                      const std::vector<plimsoll_numa_charge>& where) {
    auto hash = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(pod.get()));
    for (const plimsoll_numa_charge& charge : where) {
      hash = mix(hash, uint64_t{charge.container} << 32 | charge.zone_id);
      hash = mix(hash, charge.resource);
    }
    Known& known = known_[hash >> 32 & (known_.size() - 1)];
    if (known.pod == pod && same(known.where, where)) return known.text;
    known = {pod, where, zones_annotation(pod->request, where)};
    return known.text;
  }

 private:
  struct Known {
    Reading pod;  // kept, so that no other pod gets its place in memory
    std::vector<plimsoll_numa_charge> where;
    std::string text;
  };

  // Amounts are not in the text.
  [[nodiscard]] static bool same(const std::vector<plimsoll_numa_charge>& a,
                                 const std::vector<plimsoll_numa_charge>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].container != b[i].container || a[i].zone_id != b[i].zone_id ||
          a[i].resource != b[i].resource) {
        return false;
      }
    }
    return true;
  }

  std::array<Known, 256> known_;
};

}  // namespace plimsoll::topology
