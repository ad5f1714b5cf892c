#pragma once
// What random pods and nodes are made of: the plugin's own words beside common ones, and the
// objects that were given, as templates.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lint/dice.hpp"
#include "lint/lint.hpp"

namespace plimsoll::lint {

using Json = nlohmann::json;

struct Vocabulary {
  std::vector<std::string> keys;       // of labels, annotations and taints
  std::vector<std::string> values;     // of labels and taints: none is empty
  std::vector<std::string> resources;  // beyond cpu, memory and ephemeral-storage
  std::vector<Json> annotations;       // {"key", "value"} of the objects given
  std::vector<Json> pods;              // templates: without a node, status and uid
  std::vector<Json> placed;            // pods that have a node, as they were given
  std::vector<Json> nodes;
  // Of the cluster at hand:
  std::vector<std::string> node_names;
  std::vector<std::pair<std::string, std::string>> node_labels;

  // Fails if an object given is not JSON.
  [[nodiscard]] static Result<Vocabulary> of(const Options& options);

  // A text that labels may have.
  [[nodiscard]] const std::string& key(Dice& dice) const { return dice.of(keys); }
  [[nodiscard]] const std::string& value(Dice& dice) const { return dice.of(values); }
  // One that some node has, or mostly so: a selector for it matches now and then.
  [[nodiscard]] std::pair<std::string, std::string> node_label(Dice& dice) const;
  // Labels, or annotations: few of the keys, or very many, so that of those that the plugin knows
  // some are among them.
  [[nodiscard]] Json labels(Dice& dice) const;
  [[nodiscard]] Json annotation_map(Dice& dice) const;
  // {"cpu": "2", ...}: what a container may ask for.
  [[nodiscard]] Json amounts(Dice& dice) const;
};

}  // namespace plimsoll::lint
