#pragma once
// The namespaces of the cluster and their labels, for namespace selectors.

#include <plimsoll/plugin.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "framework/api/objects.hpp"
#include "framework/base/result.hpp"

namespace plimsoll::builtin {

class Namespaces {
 public:
  // Null: there is no such namespace, or it is not known.
  [[nodiscard]] const plimsoll_list* labels(std::string_view name) const;
  // Whether its labels are others now. Error: the object cannot be read; the namespace then has no
  // labels.
  Result<bool> put(std::string_view name, std::string_view json);
  void remove(std::string_view name) { version_ += labels_.erase(std::string(name)); }
  // Another number whenever labels() may have changed.
  [[nodiscard]] uint64_t version() const { return version_; }

 private:
  // A selector's matchLabels are decoded, checked and sorted as labels are.
  std::unordered_map<std::string, std::shared_ptr<const plimsoll_label_selector>> labels_;
  uint64_t version_ = 0;
};

}  // namespace plimsoll::builtin
