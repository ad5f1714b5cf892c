#include "plugins/builtin/census/namespaces.hpp"

#include "framework/api/lists.hpp"

namespace plimsoll::builtin {
namespace {

bool same_labels(const plimsoll_list& a, const plimsoll_list& b) {
  return same_list<plimsoll_label>(a, b, [](const plimsoll_label& x, const plimsoll_label& y) {
    return equal(x.key, y.key) && equal(x.value, y.value);
  });
}

}  // namespace

const plimsoll_list* Namespaces::labels(std::string_view name) const {
  const auto found = objects_.find(name);
  return found == objects_.end() ? nullptr : &found->second->meta.labels;
}

bool Namespaces::put(std::string_view name, const plimsoll_object& object) {
  const plimsoll_object*& kept = objects_[std::string(name)];
  const bool same = kept != nullptr && same_labels(kept->meta.labels, object.meta.labels);
  kept = &object;
  if (!same) ++version_;
  return !same;
}

void Namespaces::remove(std::string_view name) {
  version_ += objects_.erase(std::string(name));
}

}  // namespace plimsoll::builtin
