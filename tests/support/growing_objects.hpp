#pragma once
// Pods and nodes in which one list or map has n entries, no name of which is in another round.

#include <nlohmann/json.hpp>

#include <cctype>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace plimsoll::test {

struct GrowingObject {
  std::string what;  // "labels of a pod"
  std::function<nlohmann::json(size_t entries, size_t round)> make;

  // For GoogleTest.
  [[nodiscard]] std::string name() const {
    std::string made;
    for (const char c : what) made += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return made;
  }
  friend void PrintTo(const GrowingObject& object, std::ostream* out) { *out << object.what; }
};

// Pod "p", UID "u-p", for the scheduler "topo".
[[nodiscard]] std::vector<GrowingObject> growing_pods();
// Node "n-grows" with 8 CPUs.
[[nodiscard]] std::vector<GrowingObject> growing_nodes();

}  // namespace plimsoll::test
