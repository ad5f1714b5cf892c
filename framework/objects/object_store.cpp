#include "framework/objects/object_store.hpp"

#include <utility>

namespace plimsoll {

ObjectStore::Before ObjectStore::put(const RawObject& object) {
  const auto [at, is_new] = kinds_[object.resource][object.ns].try_emplace(object.name);
  return {!is_new, std::exchange(at->second, object.decoded)};
}

ObjectStore::Before ObjectStore::erase(const RawObject& object) {
  const auto kind = kinds_.find(object.resource);
  if (kind == kinds_.end()) return {};
  const auto ns = kind->second.find(object.ns);
  if (ns == kind->second.end()) return {};
  const auto found = ns->second.find(object.name);
  if (found == ns->second.end()) return {};
  Before before{true, std::move(found->second)};
  ns->second.erase(found);
  if (ns->second.empty()) kind->second.erase(ns);
  return before;
}

const ObjectStore::Namespaces* ObjectStore::of(std::string_view resource) const {
  const auto kind = kinds_.find(resource);
  return kind == kinds_.end() ? nullptr : &kind->second;
}

const plimsoll_object* ObjectStore::find(std::string_view resource, std::string_view ns,
                                         std::string_view name) const {
  const Namespaces* kind = of(resource);
  if (kind == nullptr) return nullptr;
  const auto names = kind->find(ns);
  if (names == kind->end()) return nullptr;
  const auto found = names->second.find(name);
  return found == names->second.end() ? nullptr : found->second.get();
}

std::vector<const plimsoll_object*> ObjectStore::list(std::string_view resource,
                                                      std::string_view ns) const {
  std::vector<const plimsoll_object*> all;
  const Namespaces* kind = of(resource);
  if (kind == nullptr) return all;
  const auto first = ns.empty() ? kind->begin() : kind->find(ns);
  for (auto at = first; at != kind->end(); ++at) {
    for (const auto& [name, object] : at->second) {
      if (object != nullptr) all.push_back(object.get());
    }
    if (!ns.empty()) break;
  }
  return all;
}

std::vector<std::string> ObjectStore::names(std::string_view resource) const {
  std::vector<std::string> all;
  const Namespaces* kind = of(resource);
  if (kind == nullptr) return all;
  for (const auto& [ns, names] : *kind) {
    for (const auto& [name, object] : names) all.push_back(ns + "/" + name);
  }
  return all;
}

}  // namespace plimsoll
