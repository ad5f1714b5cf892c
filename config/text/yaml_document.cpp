#include "config/text/yaml_document.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <map>
#include <streambuf>
#include <string>

#include "config/text/json_text.hpp"
#include "config/text/yaml_scalar.hpp"
#include "framework/base/utf8.hpp"
#include "framework/base/yaml_bounds.hpp"

namespace plimsoll::config {
namespace {

// A small file that starts like JSON but is not JSON is tried as YAML's flow style.
constexpr std::size_t kMaxFlowStyleBytes = 1 << 20;

class InputBuffer : public std::streambuf {
 public:
  explicit InputBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // the buffer is only read
    setg(begin, begin, begin + text.size());
  }
};

// Thrown out of yaml-cpp's event loop to end it; caught directly around it.
struct Stop {};

Position place(const YAML::Mark& mark) {
  return mark.is_null() ? Position{} : Position{mark.line + 1, mark.column + 1};
}

// Builds the tree of one document from yaml-cpp's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Problems& problems) : problems_(problems) {}

  // The document's root; the builder is empty afterwards.
  Value take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (const char* wrong = bounds_.document(mark.pos)) {
      stop(place(mark), std::string("not valid YAML: ") + wrong);
    }
    root_ = {};
    open_.clear();
    anchored_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    bounds_.scalar(anchor);
    Value value;
    value.at = place(mark);
    finish(std::move(value), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(bounds_.alias(anchor), place(mark));
    Value copy = anchored_.at(anchor);
    finish(std::move(copy), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    bounds_.scalar(anchor);
    const Position at = place(mark);
    finish(scalar(at, tag, text), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Value::sequence(), place(mark), anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Value::mapping(), place(mark), anchor);
  }
  void OnMapEnd() override {
    merge(open_.back());
    close();
  }

 private:
  struct Open {
    Value value;
    YAML::anchor_t anchor = 0;
    std::optional<Member> key;  // a key that has no value yet
    std::vector<Value> merged;  // the values of << keys
    bool key_is_merge = false;
  };

  [[noreturn]] void stop(Position at, std::string message) {
    problems_.push_back({"", at, std::move(message)});
    throw Stop{};
  }

  void check(const char* wrong, Position at) {
    if (wrong != nullptr) stop(at, wrong);
  }

  Value scalar(Position at, const std::string& tag, const std::string& text) {
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    if (tag == "?") return type_plain_scalar(text, at, problems_);
    if (tag == "!" || tag.empty() || tag == "tag:yaml.org,2002:str" ||
        tag == "tag:yaml.org,2002:binary" || tag.rfind(kCore, 0) != 0) {
      Value out = Value::string(text);
      out.at = at;
      return out;
    }
    return type_plain_scalar(text, at, problems_);  // !!int, !!bool, !!float, !!null
  }

  void open(Value value, Position at, YAML::anchor_t anchor) {
    check(bounds_.open(anchor), at);
    value.at = at;
    open_.push_back(Open{std::move(value), anchor, std::nullopt, {}, false});
  }

  void close() {
    bounds_.close();
    Open done = std::move(open_.back());
    open_.pop_back();
    finish(std::move(done.value), done.anchor);
  }

  // Stores a complete value in its parent.
  void finish(Value value, YAML::anchor_t anchor) {
    if (anchor != 0) anchored_[anchor] = value;
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.is_sequence()) {
      parent.value.items.push_back(std::move(value));
    } else if (!parent.key) {
      begin_member(parent, value);
    } else if (parent.key_is_merge) {
      parent.merged.push_back(std::move(value));
      parent.key.reset();
    } else {
      parent.key->value = std::move(value);
      parent.value.members.push_back(std::move(*parent.key));
      parent.key.reset();
    }
  }

  void begin_member(Open& parent, const Value& key) {
    if (key.is_mapping() || key.is_sequence() || key.is_null()) {
      stop(key.at, key.is_null() ? "a field without a name"
                                 : "a field name must be a plain word, got " + describe(key));
    }
    parent.key_is_merge = key.is_string() && key.text == "<<";
    parent.key = Member{key.text, key.at, {}};
  }

  // YAML merge keys: adds fields of the merged mappings that the mapping itself lacks.
  void merge(Open& map) {
    for (Value& source : map.merged) {
      std::vector<Value> list;
      if (source.is_sequence()) {
        list = std::move(source.items);
      } else {
        list.push_back(std::move(source));
      }
      for (const Value& from : list) {
        if (!from.is_mapping()) stop(map.value.at, "<< needs a mapping or a list of mappings");
        for (const Member& member : from.members) {
          if (map.value.find(member.key) == nullptr) map.value.members.push_back(member);
        }
      }
    }
  }

  Problems& problems_;
  Value root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Value> anchored_;
  YamlBounds bounds_;
};

ParsedText parse_yaml(std::string_view text) {
  ParsedText out;
  if (const std::size_t bad = find_unprintable(text); bad != std::string_view::npos) {
    const std::string_view before = text.substr(0, bad);
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    out.problems.push_back(
        {"",
         {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<int>(bad - line_start)},
         "not valid YAML: the text is not valid UTF-8, or has a control character"});
    return out;
  }
  TreeBuilder builder(out.problems);
  const std::string marked = with_end_marked(text);
  InputBuffer buffer(marked);
  std::istream input(&buffer);
  try {
    YAML::Parser parser(input);
    while (parser.HandleNextDocument(builder)) {
      Value root = builder.take_root();
      if (!root.is_null()) out.documents.push_back(std::move(root));
    }
  } catch (const Stop&) {  // the problem is already in the list
  } catch (const YAML::Exception& error) {
    const bool is_open = error.msg == YAML::ErrorMsg::EOF_IN_SCALAR;
    out.problems.push_back(
        {"", place(error.mark),
         "not valid YAML: " + (is_open ? "a quote is opened and not closed"
                                       : yaml_fault(text, error.mark.line, error.msg))});
  } catch (const std::exception& error) {
    out.problems.push_back({"", {}, std::string("not valid YAML: ") + error.what()});
  }
  return out;
}

}  // namespace

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

ParsedText parse_documents(std::string_view text) {
  ParsedText out;
  if (looks_like_json(text)) {
    Problem problem;
    if (std::optional<Value> root = parse_json(text, problem)) {
      out.documents.push_back(std::move(*root));
    } else {
      if (text.size() <= kMaxFlowStyleBytes) out = parse_yaml(text);
      if (out.documents.empty() || !out.problems.empty()) {
        out = {};
        problem.message = "not valid JSON: " + problem.message;
        out.problems.push_back(std::move(problem));
      }
    }
  } else {
    out = parse_yaml(text);
  }
  for (const Value& document : out.documents) find_duplicate_keys(document, "", out.problems);
  return out;
}

ParsedText parse_single_document(std::string_view text) {
  ParsedText out = parse_documents(text);
  if (out.documents.size() > 1) {
    out.problems.push_back(
        {"", out.documents[1].at,
         "a second document: this file must hold exactly one, so remove the '---' "
         "line and what follows it"});
    out.documents.resize(1);
  } else if (out.documents.empty() && out.problems.empty()) {
    out.problems.push_back({"", {1, 1}, "the file is empty"});
  }
  return out;
}

}  // namespace plimsoll::config
