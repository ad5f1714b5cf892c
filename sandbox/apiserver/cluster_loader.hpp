#pragma once
// Loads a cluster, as `kubectl get ... -o json` exports it or as manifests describe it, into a
// store.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "sandbox/apiserver/object_store.hpp"

namespace plimsoll::sandbox {

struct LoadReport {
  std::map<std::string, std::size_t> by_kind;  // "Pod" -> how many were stored
  std::vector<std::string> notes;              // what was left out, and why
};

// Stores the objects of some JSON texts. Each text is an object, a List, or a typed list
// ("PodList"). uids and creation times are kept where given, resource versions are given anew,
// managedFields are dropped, pods get the API server's defaults and stay on their node. Kinds that
// the store does not serve are served from here on; namespaces that are mentioned are created.
//
// An object that is there already is left as it is and noted. Fails with kInvalid, naming every
// text and item at fault, before anything is stored: JSON that does not parse, an object without
// apiVersion, kind or name, or of the wrong shape. Any thread; does not block.
[[nodiscard]] Result<LoadReport> load_cluster(ObjectStore& store,
                                              const std::vector<std::string>& json_texts);

}  // namespace plimsoll::sandbox
