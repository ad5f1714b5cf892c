#include "plugins/builtin/volumes/storage_json.hpp"

namespace plimsoll::volumes::fields {
namespace {

// Of a text that is not JSON any answer will do: the parser refuses it.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Json parsed_object(std::string_view text) {
  if (is_too_deep(text)) {
    throw WrongField{"it is nested more than " + std::to_string(kMaxDepth) + " deep"};
  }
  Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) throw WrongField{"it is not a JSON object"};
  return object;
}

void Field::wrong(std::string_view problem) const {
  throw WrongField{path_ + ": " + std::string(problem)};
}

Field Field::at(const char* key) const {
  std::string path = path_.empty() ? std::string(key) : path_ + "." + key;
  if (!is_set()) return {nullptr, std::move(path)};
  if (!value_->is_object()) wrong("must be an object");
  const auto found = value_->find(key);
  return {found == value_->end() ? nullptr : &*found, std::move(path)};
}

std::vector<Field> Field::elements() const {
  std::vector<Field> all;
  if (!is_set()) return all;
  if (!value_->is_array()) wrong("must be a list");
  all.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i) {
    all.emplace_back(&(*value_)[i], path_ + "[" + std::to_string(i) + "]");
  }
  return all;
}

std::optional<std::string> Field::optional_text() const {
  if (!is_set()) return std::nullopt;
  if (!value_->is_string()) wrong("must be a string");
  return value_->get<std::string>();
}

std::string Field::text() const {
  return optional_text().value_or(std::string());
}

bool Field::boolean() const {
  if (!is_set()) return false;
  if (!value_->is_boolean()) wrong("must be true or false");
  return value_->get<bool>();
}

std::optional<int64_t> Field::integer() const {
  if (!is_set()) return std::nullopt;
  if (!value_->is_number_integer()) wrong("must be an integer");
  return value_->get<int64_t>();
}

std::optional<Quantity> Field::quantity() const {
  if (!is_set()) return std::nullopt;
  if (!value_->is_string() && !value_->is_number()) wrong("must be a quantity");
  auto parsed = Quantity::parse_json(value_->dump());
  if (!parsed) wrong(parsed.error().message);
  return std::move(*parsed);
}

std::vector<std::string> Field::texts() const {
  std::vector<std::string> all;
  for (const Field& element : elements()) all.push_back(element.text());
  return all;
}

std::vector<std::pair<std::string, std::string>> Field::text_map() const {
  std::vector<std::pair<std::string, std::string>> all;
  if (!is_set()) return all;
  if (!value_->is_object()) wrong("must be an object");
  all.reserve(value_->size());
  for (const auto& [key, value] : value_->items()) {
    if (!value.is_string() && !value.is_null()) wrong("must have texts as values");
    all.emplace_back(key, value.is_null() ? std::string() : value.get<std::string>());
  }
  return all;
}

}  // namespace plimsoll::volumes::fields
