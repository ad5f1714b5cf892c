#include "config/manifest.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "config/text/json_text.hpp"
#include "config/text/value.hpp"
#include "config/text/yaml_document.hpp"

namespace plimsoll::config {
namespace {

constexpr std::string_view kNoKind =
    "an object without a kind: every object needs apiVersion, kind and metadata";
constexpr std::string_view kNoApiVersion =
    "an object without an apiVersion: every object needs apiVersion, kind and metadata";

// The kind of a typed list's items ("Pod" for "PodList"); empty for a plain List, whose items have
// their own.
std::string item_kind(const std::string& list_kind) {
  return list_kind.substr(0, list_kind.size() - 4);
}

bool names_a_list(std::string_view kind) {
  return kind.size() >= 4 && kind.substr(kind.size() - 4) == "List";
}

struct Collector {
  std::string file;
  std::vector<ManifestObject> objects;
  Problems problems;

  void add(std::string api_version, std::string kind, std::string json, Position at) {
    if (kind.empty()) {
      problems.push_back({"", at, std::string(kNoKind)});
    } else if (api_version.empty()) {
      problems.push_back({"", at, std::string(kNoApiVersion)});
    } else {
      objects.push_back({std::move(api_version), std::move(kind), std::move(json), file, at});
    }
  }
};

// What items of a typed list inherit if they lack it, as in an API server's own lists.
struct Inherited {
  std::string api_version;
  std::string kind;
};

std::string text_of(const Value* value) {
  return value != nullptr && value->is_string() ? value->text : "";
}

// YAML reads a bare n as false and 1 as a number. Nobody means that by a name.
void check_names(const Value& object, Collector& out) {
  const Value* metadata = object.find("metadata");
  if (metadata == nullptr || !metadata->is_mapping()) return;
  for (const char* field : {"name", "namespace"}) {
    const Value* value = metadata->find(field);
    if (value == nullptr || value->is_null() || value->is_string()) continue;
    out.problems.push_back({std::string("metadata.") + field, value->at,
                            "expected a string, got " + describe(*value) +
                                (value->written.empty() ? "" : " (" + value->written + ")") +
                                ": put it in quotes"});
  }
}

void collect(const Value& object, const Inherited& inherited, Collector& out) {
  if (object.is_null()) return;
  if (!object.is_mapping()) {
    out.problems.push_back(
        {"", object.at, "expected a Kubernetes object, got " + describe(object)});
    return;
  }
  std::string api_version = text_of(object.find("apiVersion"));
  std::string kind = text_of(object.find("kind"));
  const Value* items = object.find("items");
  if (names_a_list(kind) && items != nullptr && (items->is_sequence() || items->is_null())) {
    const std::string inner = item_kind(kind);
    const Inherited next = inner.empty() ? Inherited{} : Inherited{api_version, inner};
    for (const Value& item : items->items) collect(item, next, out);
    return;
  }
  check_names(object, out);
  Value completed = Value::mapping();
  if (api_version.empty() && !inherited.api_version.empty()) {
    api_version = inherited.api_version;
    completed.set("apiVersion", Value::string(api_version));
  }
  if (kind.empty() && !inherited.kind.empty()) {
    kind = inherited.kind;
    completed.set("kind", Value::string(kind));
  }
  if (completed.members.empty()) {
    out.add(std::move(api_version), std::move(kind), to_json(object), object.at);
    return;
  }
  for (const Member& member : object.members) completed.members.push_back(member);
  out.add(std::move(api_version), std::move(kind), to_json(completed), object.at);
}

std::string span_string(std::string_view text, const JsonSpan& span) {
  Problem ignored;
  const auto value = parse_json(text.substr(span.begin, span.end - span.begin), ignored);
  return value && value->is_string() ? value->text : "";
}

// JSON objects are cut out of the text without building a tree: exports of whole clusters are
// large.
void collect_json(std::string_view text, const JsonSpan& span, const Inherited& inherited,
                  Collector& out) {
  if (text[span.begin] != '{') {
    out.problems.push_back({"", span.at, "expected a Kubernetes object"});
    return;
  }
  std::vector<JsonSpan> members;
  JsonScanner scanner(text, span.begin, span.at);
  if (!scanner.members(members)) {
    out.problems.push_back(scanner.problem());
    return;
  }
  std::string api_version, kind;
  const JsonSpan* items = nullptr;
  for (const JsonSpan& member : members) {
    if (member.key == "apiVersion") api_version = span_string(text, member);
    if (member.key == "kind") kind = span_string(text, member);
    if (member.key == "items") items = &member;
  }
  if (names_a_list(kind) && items != nullptr &&
      (text[items->begin] == '[' || text[items->begin] == 'n')) {
    if (text[items->begin] == 'n') return;  // "items": null
    std::vector<JsonSpan> elements;
    JsonScanner list(text, items->begin, items->at);
    if (!list.elements(elements)) {
      out.problems.push_back(list.problem());
      return;
    }
    const std::string inner = item_kind(kind);
    const Inherited next = inner.empty() ? Inherited{} : Inherited{api_version, inner};
    for (const JsonSpan& element : elements) collect_json(text, element, next, out);
    return;
  }
  std::string head;
  if (kind.empty() && !inherited.kind.empty()) {
    kind = inherited.kind;
    head += "\"kind\":" + to_json(Value::string(kind)) + ',';
  }
  if (api_version.empty() && !inherited.api_version.empty()) {
    api_version = inherited.api_version;
    head += "\"apiVersion\":" + to_json(Value::string(api_version)) + ',';
  }
  std::string json(text.substr(span.begin, span.end - span.begin));
  if (!head.empty()) {
    if (members.empty()) head.pop_back();
    json.insert(1, head);
  }
  out.add(std::move(api_version), std::move(kind), std::move(json), span.at);
}

// One JSON value after another, like appended outputs of `kubectl get -o json`.
void collect_json_stream(std::string_view text, Collector& out) {
  JsonScanner scanner(text);
  std::vector<JsonSpan> spans;
  for (scanner.skip_space(); !scanner.at_end(); scanner.skip_space()) {
    JsonSpan span{"", scanner.offset(), 0, scanner.position()};
    if (!scanner.value(nullptr)) {
      out.problems.push_back(scanner.problem());
      out.problems.back().message.insert(0, "not valid JSON: ");
      return;
    }
    span.end = scanner.offset();
    spans.push_back(std::move(span));
  }
  for (const JsonSpan& span : spans) collect_json(text, span, {}, out);
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  if (path == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorCode::kInvalid, path + ": is a folder, not a file");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int reason = errno;
    return fail(reason == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid,
                path + ": " + std::strerror(reason != 0 ? reason : EIO));
  }
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return fail(ErrorCode::kUnavailable, path + ": could not be read to its end");
  return text;
}

Result<std::vector<ManifestObject>> parse_manifests(std::string_view text,
                                                    const std::string& file) {
  Collector out{file, {}, {}};
  if (looks_like_json(text)) {
    collect_json_stream(text, out);
    if (!out.problems.empty() && out.objects.empty()) {
      // It may be YAML in flow style; if not, the JSON errors stay.
      const ParsedText parsed = parse_documents(text);
      Collector flow{file, {}, parsed.problems};
      for (const Value& document : parsed.documents) collect(document, {}, flow);
      if (flow.problems.empty()) out = std::move(flow);
    }
  } else {
    ParsedText parsed = parse_documents(text);
    out.problems = std::move(parsed.problems);
    for (const Value& document : parsed.documents) collect(document, {}, out);
  }
  if (!out.problems.empty()) {
    sort_by_position(out.problems);
    std::string all = to_string(out.problems, file);
    all.pop_back();
    return fail(ErrorCode::kInvalid, std::move(all));
  }
  return std::move(out.objects);
}

Result<std::vector<ManifestObject>> load_manifests(const std::string& path) {
  Result<std::string> text = read_text_file(path);
  if (!text) return fail(text.error());
  return parse_manifests(*text, path == "-" ? "<stdin>" : path);
}

}  // namespace plimsoll::config
