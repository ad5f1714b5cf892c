#include "config/pod_fields.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <plimsoll/nearest.hpp>

#include "config/pod_fields_table.hpp"
#include "framework/base/split.hpp"

namespace plimsoll::config {
namespace {

using nlohmann::json;

// The type of each field; empty: its value is not looked into.
using KnownFields = std::map<std::string, std::string, std::less<>>;

class Types {
 public:
  Types() {
    for (const std::string& line : split(kPodFieldsTable, "\n")) {
      KnownFields* fields = nullptr;
      for (const std::string& word : split(line, " ")) {
        const std::size_t colon = std::min(word.find(':'), word.size());
        if (fields == nullptr) {
          fields = &types_[word];
        } else {
          fields->emplace(word.substr(0, colon), word.substr(std::min(colon + 1, word.size())));
        }
      }
    }
  }
  [[nodiscard]] const KnownFields* find(std::string_view type) const {
    const auto found = types_.find(type);
    return found == types_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, KnownFields, std::less<>> types_;
};

class Search {
 public:
  explicit Search(std::size_t most) : most_(most) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the types are
  void look(const json& value, std::string_view type, const std::string& path) {
    static const Types types;
    if (found_.size() >= most_) return;
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.size() && !value[i].is_array(); ++i) {
        look(value[i], type, path + "[" + std::to_string(i) + "]");
      }
      return;
    }
    const KnownFields* fields = value.is_object() ? types.find(type) : nullptr;
    if (fields == nullptr) return;
    for (const auto& [name, inner] : value.items()) {
      const std::string here = path.empty() ? name : path + "." + name;
      const auto known = fields->find(name);
      if (known == fields->end()) {
        if (found_.size() < most_) found_.push_back(text_of(here, name, *fields));
      } else if (!known->second.empty()) {
        look(inner, known->second, here);
      }
    }
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(found_); }

 private:
  static std::string text_of(const std::string& path, const std::string& name,
                             const KnownFields& fields) {
    std::vector<std::string_view> names;
    for (const auto& [field, type] : fields) names.push_back(field);
    const std::string best = sdk::nearest(name, names);
    return "unknown field \"" + path + "\"" +
           (best.empty() ? std::string() : ", did you mean \"" + best + "\"?");
  }

  const std::size_t most_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> unknown_pod_fields(std::string_view text, std::size_t most) {
  Search search(most);
  search.look(json::parse(text, nullptr, false), "Pod", "");
  return search.take();
}

}  // namespace plimsoll::config
