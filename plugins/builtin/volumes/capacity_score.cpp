#include "plugins/builtin/volumes/capacity_score.hpp"

#include <cmath>
#include <map>
#include <string_view>

#include "plugins/storage/volume_match.hpp"

namespace plimsoll::volumes {
namespace {

struct ClassUse {
  int64_t requested = 0;
  int64_t capacity = 0;
};
using UseByClass = std::map<std::string_view, ClassUse>;

void add(int64_t& sum, int64_t more) {
  if (__builtin_add_overflow(sum, more, &sum)) sum = INT64_MAX;
}

UseByClass use_of(const NodePlan& plan) {
  UseByClass uses;
  for (const NodePlan::Binding& binding : plan.bindings) {
    ClassUse& use = uses[sdk::view(binding.volume->object->storage_class)];
    add(use.requested, requested_size(*binding.claim).value());
    add(use.capacity, binding.volume->capacity.value());
  }
  if (!plan.bindings.empty()) return uses;
  for (const NodePlan::Provision& provision : plan.provisions) {
    if (provision.capacity == nullptr || !provision.capacity->capacity) continue;
    const PersistentVolumeClaim& claim = *provision.claim;
    ClassUse& use =
        uses[claim.object->has_storage_class != 0 ? sdk::view(claim.object->storage_class)
                                                  : claim.class_name];
    add(use.requested, requested_size(claim).value());
    use.capacity = provision.capacity->capacity->value();
  }
  return uses;
}

int64_t utilization(const ClassUse& use) {
  if (use.capacity <= 0 || use.requested > use.capacity) return 100;
  return static_cast<int64_t>(static_cast<__int128>(use.requested) * 100 / use.capacity);
}

}  // namespace

int64_t capacity_score(const NodePlan& plan, const std::vector<builtin::ShapePoint>& shape) {
  const UseByClass uses = use_of(plan);
  if (uses.empty()) return 0;
  int64_t sum = 0;
  for (const auto& [name, use] : uses) sum += builtin::on_shape(shape, utilization(use));
  return std::llround(static_cast<double>(sum) / static_cast<double>(uses.size()));
}

}  // namespace plimsoll::volumes
