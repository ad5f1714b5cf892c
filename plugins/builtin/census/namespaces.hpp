#pragma once
// The namespaces of the cluster and their labels, for namespace selectors.

#include <plimsoll/kinds.h>
#include <plimsoll/plugin.hpp>

#include <string>
#include <string_view>

#include "framework/api/objects.hpp"
#include "framework/base/string_map.hpp"

namespace plimsoll::builtin {

class Namespaces {
 public:
  // Null: there is no such namespace, or it is not known.
  [[nodiscard]] const plimsoll_list* labels(std::string_view name) const;
  // Whether its labels are others now. The object stays until the next call for this name.
  bool put(std::string_view name, const plimsoll_object& object);
  void remove(std::string_view name);
  // Another number whenever labels() may have changed.
  [[nodiscard]] uint64_t version() const { return version_; }

 private:
  StringMap<const plimsoll_object*> objects_;
  uint64_t version_ = 0;
};

}  // namespace plimsoll::builtin
