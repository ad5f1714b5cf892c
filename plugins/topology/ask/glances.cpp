#include "plugins/topology/ask/glances.hpp"

#include <algorithm>

namespace plimsoll::topology {
void Glances::look(const NodeRecord& node) {
  const uint32_t slot = node.slot;
  if (slot >= glances_.size()) {
    glances_.resize(slot + 1);
    cells_.resize(slot + 1);
  }
  const NodeReport& report = node.report;
  Glance& glance = glances_[slot];
  glance = {};
  if (report.there) glance.view = &report.zones.view();
  const bool plain = !node.stopped() && node.lessons.none() && node.since.clear();
  if (!report.there || !plain) return columns_.remove(slot);
  glance.model = report.model.get();
  glance.count = glance.model->groups_at;
  Cells& own = cells_[slot];
  if (own.count != glance.count) {
    if (own.cells != nullptr) memory_.deallocate(own.cells, own.count * sizeof(int64_t), kLine);
    own = {};
    own.cells = static_cast<int64_t*>(memory_.allocate(glance.count * sizeof(int64_t), kLine));
    own.count = glance.count;
  }
  std::copy_n(node.since.likely.counts(), glance.count, own.cells);
  glance.counts = own.cells;
  glance.brief = kubelet::Brief(*glance.model, node.since.likely);
  glance.leaving = glance.view->leaving != 0;
  glance.claims = !node.claims.empty();
  columns_.put(slot, report.model, glance.brief, glance.counts, *glance.view);
}

void Glances::remove(uint32_t slot) {
  if (slot >= glances_.size()) return;
  glances_[slot] = {};
  columns_.remove(slot);
}

}  // namespace plimsoll::topology
