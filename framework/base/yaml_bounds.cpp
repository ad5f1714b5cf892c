#include "framework/base/yaml_bounds.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll {

std::string with_end_marked(std::string_view text) {
  std::string marked(text);
  if (marked.ends_with('\n')) marked += '#';
  return marked;
}

std::string yaml_fault(std::string_view text, int line, std::string message) {
  for (; line > 0 && !text.empty(); --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  const std::size_t indent = text.substr(0, text.find_first_not_of(" \t")).find('\t');
  return indent == text.npos ? std::move(message) : "a tab: YAML wants blanks";
}

const char* YamlBounds::document(int position) {
  // At a token that cannot start a value, such as a stray ']', yaml-cpp reads empty documents for
  // ever.
  if (position == document_start_) return "no value can start here";
  document_start_ = position;
  open_.clear();
  anchored_.clear();
  aliased_values_ = 0;
  return nullptr;
}

const char* YamlBounds::open(Anchor anchor) {
  open_.push_back({anchor, {}});
  return too_deep(0);
}

void YamlBounds::close() {
  const Open done = open_.back();
  open_.pop_back();
  if (done.anchor != 0) anchored_[done.anchor] = done.extent;
  put(done.extent);
}

void YamlBounds::scalar(Anchor anchor) {
  if (anchor != 0) anchored_[anchor] = {};
  put({});
}

const char* YamlBounds::alias(Anchor anchor) {
  const auto found = anchored_.find(anchor);
  if (found == anchored_.end()) return "an alias to the value that it is part of";
  const Extent extent = found->second;
  aliased_values_ += extent.values;
  if (aliased_values_ > kMaxAliasedValues) return "aliases expand to too many values";
  put(extent);
  return too_deep(extent.depth);
}

void YamlBounds::put(const Extent& extent) {
  if (open_.empty()) return;
  Extent& parent = open_.back().extent;
  parent.values += extent.values;
  parent.depth = std::max(parent.depth, extent.depth + 1);
}

const char* YamlBounds::too_deep(int more) const {
  return static_cast<int>(open_.size()) + more > kMaxDepth ? "nested too deeply" : nullptr;
}

}  // namespace plimsoll
