#pragma once
// What the ledger counts, for metrics and logs.

#include <cstdint>

namespace plimsoll::topology {

struct LedgerStats {
  uint64_t reports = 0;
  uint64_t settled_by_uid = 0;
  uint64_t settled_by_fingerprint = 0;
  uint64_t settled_by_age = 0;
  // Pods that were promised zones here: the first report that names them shows them there, or not.
  uint64_t predictions_confirmed = 0;
  uint64_t predictions_refuted = 0;
  uint64_t unexplained_reports = 0;  // its fingerprint fits no set of pods that was tried
  // Pods that a kubelet rejected because no zones had room, by its reason.
  uint64_t refused_affinity = 0;    // TopologyAffinityError
  uint64_t refused_smt = 0;         // SMTAlignmentError
  uint64_t refused_unexpected = 0;  // UnexpectedAdmissionError
  // Now:
  uint64_t promises = 0;  // that no report counts yet
  // Nodes of which more than one state is possible, by why: the order of pods is not known; an
  // unknown amount may come free; the kubelet refused a pod since the last report; it is away; the
  // report is gone.
  uint64_t uncertain_order = 0;
  uint64_t uncertain_unknown = 0;
  uint64_t uncertain_refused = 0;
  uint64_t uncertain_away = 0;
  uint64_t uncertain_gone = 0;
};

}  // namespace plimsoll::topology
