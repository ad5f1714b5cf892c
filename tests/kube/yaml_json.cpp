#include "tests/kube/yaml_json.hpp"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::test {
namespace {

nlohmann::json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text.empty() || text == "~" || text == "null") return nullptr;
  if (text == "true" || text == "false") return text == "true";
  // What JSON reads as a number is one; everything else that YAML lets stand unquoted is text.
  const nlohmann::json number = nlohmann::json::parse(text, nullptr, false);
  if (number.is_number()) return number;
  return text;
}

nlohmann::json convert(const YAML::Node& node) {
  if (node.IsMap()) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& entry : node) object[entry.first.Scalar()] = convert(entry.second);
    return object;
  }
  if (node.IsSequence()) {
    nlohmann::json array = nlohmann::json::array();
    for (const auto& element : node) array.push_back(convert(element));
    return array;
  }
  return node.IsScalar() ? scalar(node) : nlohmann::json(nullptr);
}

}  // namespace

Result<std::vector<nlohmann::json>> read_yaml(const std::filesystem::path& file) {
  std::vector<nlohmann::json> documents;
  try {
    for (const YAML::Node& document : YAML::LoadAllFromFile(file.string())) {
      if (!document.IsNull()) documents.push_back(convert(document));
    }
  } catch (const YAML::BadFile&) {
    return fail(ErrorCode::kNotFound, "reading " + file.string() + ": no such file");
  } catch (const YAML::Exception& error) {
    return fail(ErrorCode::kInvalid, "reading " + file.string() + ": " + error.what());
  }
  return documents;
}

}  // namespace plimsoll::test
