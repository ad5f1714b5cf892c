#include "informer/http/yaml_check.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "framework/base/utf8.hpp"
#include "framework/base/yaml_bounds.hpp"

namespace plimsoll::informer {
namespace {

// Throws if the text exceeds the bounds.
class TextCheck final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { check(bounds_.document(mark.pos), mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(bounds_.alias(anchor), mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check(bounds_.open(anchor), mark);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check(bounds_.open(anchor), mark);
  }
  void OnSequenceEnd() override { bounds_.close(); }
  void OnMapEnd() override { bounds_.close(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t anchor) override { bounds_.scalar(anchor); }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    bounds_.scalar(anchor);
  }

 private:
  static void check(const char* wrong, const YAML::Mark& mark) {
    if (wrong != nullptr) throw YAML::ParserException(mark, wrong);
  }

  YamlBounds bounds_;
};

}  // namespace

Result<void> check_yaml(const std::string& text) {
  if (const std::size_t bad = find_unprintable(text); bad != std::string::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(bad), '\n');
    return fail(ErrorCode::kInvalid,
                "line " + std::to_string(line) + " is not valid UTF-8, or has a control character");
  }
  std::istringstream input(with_end_marked(text));
  TextCheck check;
  try {
    YAML::Parser parser(input);
    while (parser.HandleNextDocument(check)) {
    }
  } catch (const YAML::Exception& error) {
    if (error.mark.is_null()) return fail(ErrorCode::kInvalid, error.msg);
    return fail(ErrorCode::kInvalid, "line " + std::to_string(error.mark.line + 1) + ": " +
                                         yaml_fault(text, error.mark.line, error.msg));
  }
  return {};
}

}  // namespace plimsoll::informer
