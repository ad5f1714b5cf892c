#pragma once
// Loads a cluster into a store, from an export by `kubectl get ... -o json` or from manifests.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

struct LoadReport {
  std::map<std::string, std::size_t> by_kind;  // "Pod" -> how many were stored
  std::vector<std::string> notes;              // what was left out, and why
};

// Stores the objects of some JSON texts. Each text is an object, a List, or a typed list
// ("PodList"). UIDs and creation times are kept where given. Resource versions are assigned anew,
// managedFields are dropped except those of reports, pods get the API server's defaults and stay on
// their node. A pod without a node loses its PodScheduled condition: that was another run's
// verdict, on another state, and this run's scheduler writes its own. Kinds that the store does not
// serve yet are added; namespaces that are mentioned are created.
//
// An object that already exists is left unchanged and noted. Fails with kInvalid before anything is
// stored, naming every faulty text and item: JSON that does not parse, an object without
// apiVersion, kind or name, or of the wrong shape. Any thread; does not block.
[[nodiscard]] Result<LoadReport> load_cluster(ObjectStore& store,
                                              const std::vector<std::string>& json_texts);

// Serves the kinds of objects that come later, as if their CRDs were installed already. Texts that
// load_cluster() refuses serve nothing.
void serve_kinds_of(ObjectStore& store, const std::vector<std::string>& json_texts);

}  // namespace plimsoll::sandbox
