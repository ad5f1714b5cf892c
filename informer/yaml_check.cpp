#include "informer/yaml_check.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace plimsoll::informer {
namespace {

// Throws at what makes yaml-cpp run in circles.
class TextCheck final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    // At a token that cannot start a value, such as a stray ',', yaml-cpp reads empty documents for
    // ever, and the first of them looks like an empty file.
    if (mark.pos == document_start_) throw YAML::ParserException(mark, "no value can start here");
    document_start_ = mark.pos;
    open_.clear();
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (std::find(open_.begin(), open_.end(), anchor) != open_.end()) {
      throw YAML::ParserException(mark, "an alias to the value that it is part of");
    }
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back(anchor);
  }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back(anchor);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapEnd() override { open_.pop_back(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}

 private:
  int document_start_ = -1;
  std::vector<YAML::anchor_t> open_;  // of the maps and lists around
};

}  // namespace

Result<void> check_yaml(const std::string& text) {
  std::istringstream input(text);
  TextCheck check;
  try {
    YAML::Parser parser(input);
    while (parser.HandleNextDocument(check)) {
    }
  } catch (const YAML::Exception& error) {
    return fail(ErrorCode::kInvalid, error.what());
  }
  return {};
}

}  // namespace plimsoll::informer
