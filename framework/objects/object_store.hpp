#pragma once
// The objects of the kinds that plugins watch: the names of all of them, and of the kinds in
// kinds.hpp what they say. Loop only.

#include <plimsoll/kinds.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/base/string_map.hpp"

namespace plimsoll {

class ObjectStore {
 public:
  // What the store knew of an object before. Keep it until all plugins have heard of the change:
  // they may hold pointers into it.
  struct Before {
    bool existed = false;
    ObjectRef object;  // null if it did not, or the kind is not decoded
  };
  Before put(const RawObject& object);
  Before erase(const RawObject& object);

  // Null: there is none, or its kind is not decoded.
  [[nodiscard]] const plimsoll_object* find(std::string_view resource, std::string_view ns,
                                            std::string_view name) const;
  // By namespace and name; of all namespaces if `ns` is empty.
  [[nodiscard]] std::vector<const plimsoll_object*> list(std::string_view resource,
                                                         std::string_view ns) const;
  // "namespace/name" of each object of the kind.
  [[nodiscard]] std::vector<std::string> names(std::string_view resource) const;

 private:
  using Names = std::map<std::string, ObjectRef, std::less<>>;
  using Namespaces = std::map<std::string, Names, std::less<>>;
  [[nodiscard]] const Namespaces* of(std::string_view resource) const;

  StringMap<Namespaces> kinds_;
};

}  // namespace plimsoll
