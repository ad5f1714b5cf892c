#include "plugins/builtin/census/namespaces.hpp"

#include <nlohmann/json.hpp>

#include "framework/api/decode.hpp"
#include "framework/api/lists.hpp"

namespace plimsoll::builtin {
namespace {

bool same_labels(const plimsoll_list& a, const plimsoll_list& b) {
  return same_list<plimsoll_label>(a, b, [](const plimsoll_label& x, const plimsoll_label& y) {
    return equal(x.key, y.key) && equal(x.value, y.value);
  });
}

}  // namespace

const plimsoll_list* Namespaces::labels(std::string_view name) const {
  const auto found = labels_.find(std::string(name));
  return found == labels_.end() ? nullptr : &found->second->match_labels;
}

Result<bool> Namespaces::put(std::string_view name, std::string_view json) {
  const auto object = nlohmann::json::parse(json, nullptr, false);
  auto wanted = nlohmann::json::object();
  if (object.is_object()) {
    const auto meta = object.find("metadata");
    if (meta != object.end() && meta->is_object() && meta->contains("labels")) {
      wanted["matchLabels"] = (*meta)["labels"];
    }
  }
  auto labels = decode_label_selector(wanted.dump());
  auto& kept = labels_[std::string(name)];
  if (!labels) {
    ++version_;
    kept = std::make_shared<const plimsoll_label_selector>();
    return fail(labels.error().within("metadata.labels"));
  }
  const bool same = kept != nullptr && same_labels(kept->match_labels, (*labels)->match_labels);
  if (!same) ++version_;
  kept = std::move(*labels);
  return !same;
}

}  // namespace plimsoll::builtin
