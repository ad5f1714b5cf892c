// Plimsoll plugin SDK, for unit tests: what the structs of pods and nodes point to.
#pragma once

#include <plimsoll/views.hpp>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::sdk {

// Assigns positions in resource vectors as a host does: the four fixed ones, then in order of first
// use. All tests of a program share them.
inline uint32_t fake_resource_index(std::string_view name) {
  static std::map<std::string, uint32_t, std::less<>> known = {
      {"cpu", PLIMSOLL_RESOURCE_CPU},
      {"memory", PLIMSOLL_RESOURCE_MEMORY},
      {"ephemeral-storage", PLIMSOLL_RESOURCE_EPHEMERAL_STORAGE},
      {"pods", PLIMSOLL_RESOURCE_PODS}};
  auto found = known.find(name);
  if (found != known.end()) return found->second;
  const auto next = static_cast<uint32_t>(known.size());
  known.emplace(name, next);
  return next;
}

namespace detail {

// Owns the texts and lists that structs point to.
class Storage {
 public:
  plimsoll_str text(std::string_view value) { return str(texts_.emplace_back(value)); }
  plimsoll_list labels(const std::map<std::string, std::string>& pairs) {
    std::vector<plimsoll_label>& list = labels_.emplace_back();
    for (const auto& [key, value] : pairs) list.push_back({text(key), text(value)});
    return list_of<plimsoll_label>(list);
  }
  plimsoll_list resources(const std::map<std::string, int64_t>& amounts) {
    std::vector<plimsoll_resource>& list = resources_.emplace_back();
    for (const auto& [name, value] : amounts) {
      list.push_back({text(name), value, fake_resource_index(name), 0});
    }
    return list_of<plimsoll_resource>(list);
  }
  void clear() {
    texts_.clear();
    labels_.clear();
    resources_.clear();
  }

 private:
  std::deque<std::string> texts_;
  std::deque<std::vector<plimsoll_label>> labels_;
  std::deque<std::vector<plimsoll_resource>> resources_;
};

}  // namespace detail

}  // namespace plimsoll::sdk
