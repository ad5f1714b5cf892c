#pragma once
// Objects of every kind that a decision reads, whole and odd: from a seeded generator and from
// examples/clusters. The same seed gives the same objects.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace plimsoll::test {

struct CorpusObject {
  std::string collection;  // "/api/v1/nodes"
  std::string kind;        // "Node"
  nlohmann::json object;
};

// What the server has before the corpus comes: classes and a default of each, a node, namespaces
// "limited" and "roomy" with a LimitRange, "full" with a ResourceQuota, and "going".
[[nodiscard]] std::vector<CorpusObject> corpus_scene();

// `each` objects of each kind, with up to three fields changed at random, and each value of each
// field alone. Namespaced ones are in "plain", pods and claims also in others; one of each is in
// "going", and one in "absent".
[[nodiscard]] std::vector<CorpusObject> random_corpus(std::uint64_t seed, int each);

// Every object of examples/clusters.
[[nodiscard]] std::vector<CorpusObject> example_corpus();

}  // namespace plimsoll::test
