#pragma once
// The fields of pods and nodes, each with a way to give it another random value.

#include <span>
#include <string>
#include <string_view>

#include "lint/vocabulary.hpp"

namespace plimsoll::lint {

struct Field {
  std::string_view name;  // as in a manifest: "spec.tolerations"
  // Where its value is in the object, for examples; of labels and annotations, whose keys are tried
  // one by one. A JSON pointer.
  std::string_view pointer;
  bool is_map;        // of texts: a smaller change is looked for
  unsigned presence;  // a random object has it set once in so many times; 0: only as a change
  void (*set)(Json& object, Dice& dice, const Vocabulary& words);
};

// Everything of a pending pod that plugins can see.
[[nodiscard]] std::span<const Field> pod_fields();
[[nodiscard]] std::span<const Field> pod_rule_fields();  // affinity, spreading and the like
[[nodiscard]] std::vector<Field> all_pod_fields();
// Everything of a Node object that plugins can see.
[[nodiscard]] std::span<const Field> node_fields();

// A pending pod; some are variations of the templates.
[[nodiscard]] Json random_pod(Dice& dice, const Vocabulary& words, const std::string& name);
// A node; with templates, `index` says which of them, with or without a variation.
[[nodiscard]] Json random_node(Dice& dice, const Vocabulary& words, size_t index);

// The field of that name, which pod_fields() has.
[[nodiscard]] const Field& pod_field(std::string_view name);

// metadata.name.
[[nodiscard]] std::string name_of(const Json& object);

// The value at a JSON pointer as text, cut short; "none" if there is none.
[[nodiscard]] std::string value_text(const Json& object, std::string_view pointer);

}  // namespace plimsoll::lint
