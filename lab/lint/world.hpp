#pragma once
// What random pods and nodes are made of: the plugin's own words beside common ones, the objects
// that were given, as templates, and the fields of pods and nodes, each with a pattern of its
// values.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/lint/draw.hpp"
#include "lab/lint/lint.hpp"

namespace plimsoll::lint {

struct Field {
  std::string name;             // as in a manifest: "spec.tolerations"
  Json::json_pointer at{};      // of its value, for examples; of "x[].y": of x
  Json::json_pointer within{};  // of "x[].y": of y in each of x
  bool each = false;            // it is one of those
  unsigned presence = 0;        // a random object has it once in so many times; 0: only as a change
  Json pattern = {};
};

struct World {
  Dice dice{0};
  // "key" (labels, annotations, taints), "value" (none is empty), "resource" (beyond cpu, memory
  // and ephemeral-storage), "field" (of objects), and of the cluster at hand "node" and "label"
  // ("key=value").
  Words words;
  std::vector<Json> pods;    // templates: without a node, status and uid
  std::vector<Json> placed;  // pods that have a node, as they were given
  std::vector<Json> nodes;

  // Fails if an object given is not JSON, or not like a pod or node.
  [[nodiscard]] static Result<World> of(const Options& options);

  // A pending pod; some are variations of the templates.
  [[nodiscard]] Json pod(const std::string& name);
  // With templates, `index` says which of them, with or without a variation.
  [[nodiscard]] Json node(size_t index);
  // An object of any kind, of that name: its fields and values are the plugin's words.
  [[nodiscard]] Json object(const std::string& name);
  // Gives the field another value. False: it has none.
  bool change(Json& object, const Field& field);

 private:
  void set(Json& object, const Field& field);
  void vary(Json& object, const std::vector<Field>& fields, unsigned rarity);
};

// Everything of a pending pod, and of a Node object, that plugins can see.
[[nodiscard]] const std::vector<Field>& pod_fields();
[[nodiscard]] const std::vector<Field>& node_fields();
// The field of that name, which pod_fields() has.
[[nodiscard]] const Field& pod_field(std::string_view name);

// metadata.name.
[[nodiscard]] std::string name_of(const Json& object);
// The field's value as text, cut short; "none" if there is none.
[[nodiscard]] std::string value_text(const Json& object, const Field& field);

}  // namespace plimsoll::lint
