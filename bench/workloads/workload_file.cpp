#include "bench/workloads/workload_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "config/text/fields.hpp"
#include "config/text/yaml_document.hpp"

namespace plimsoll::bench {
namespace {

using config::Fields;
using config::Problems;
using config::Value;

constexpr std::array kObjectKinds = {
    ObjectKind{"CSINode", "csinodes.v1.storage.k8s.io"},
    ObjectKind{"DeviceClass", "deviceclasses.v1.resource.k8s.io"},
    ObjectKind{"Namespace", "namespaces"},
    ObjectKind{"PersistentVolume", "persistentvolumes"},
    ObjectKind{"ResourceClaim", "resourceclaims.v1.resource.k8s.io", true},
    ObjectKind{"ResourceSlice", "resourceslices.v1.resource.k8s.io"},
    ObjectKind{"PersistentVolumeClaim", "persistentvolumeclaims", true},
    ObjectKind{"PodGroup", "podgroups.v1beta1.scheduling.k8s.io", true},
    ObjectKind{"Service", "services", true}};

std::string json_of(const Value* value) {
  return value == nullptr ? "{}" : config::to_json(*value);
}

ObjectTemplate read_template(const Value& value, const std::string& path, Problems& problems) {
  ObjectTemplate made;
  Fields fields(&value, path, problems);
  fields.read("kind", made.kind);
  std::vector<std::string> kinds = {"Node", "Pod"};
  for (const ObjectKind& kind : kObjectKinds) kinds.emplace_back(kind.name);
  if (std::find(kinds.begin(), kinds.end(), made.kind) == kinds.end()) {
    fields.problem("kind", config::unsupported_value(go_quoted(made.kind), kinds));
  }
  fields.read("name", made.name);
  made.labels = json_of(fields.get("labels"));
  made.annotations = json_of(fields.get("annotations"));
  made.spec = json_of(fields.get("spec"));
  made.status = json_of(fields.get("status"));
  fields.finish();
  return made;
}

Params read_params(const Value* value, const std::string& path, Problems& problems) {
  Params params;
  if (value == nullptr) return params;
  Fields fields(value, path, problems);
  for (const config::Member& member : value->members) fields.read(member.key, params[member.key]);
  return params;
}

// "$name" or a whole number.
void read_count(Fields& fields, std::string& out) {
  const Value* value = fields.get("count");
  if (value == nullptr) {
    fields.problem("count", config::required_value());
  } else {
    out = value->text;
  }
}

constexpr std::string_view kRead = "read as text";

class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}

  WorkloadFile read(const Value& document) {
    Fields fields(&document, "", problems_);
    if (const Value* templates = fields.get("templates")) {
      for (const config::Member& member : templates->members) {
        file_.templates[member.key] =
            read_template(member.value, "templates." + member.key, problems_);
      }
    }
    fields.each("workloads", [&](const Value& item, const std::string& path) {
      file_.workloads.push_back(read_workload(item, path));
    });
    fields.finish();
    return std::move(file_);
  }

 private:
  Workload read_workload(const Value& value, const std::string& path) {
    Workload made;
    Fields fields(&value, path, problems_);
    fields.read("name", made.name);
    fields.read("note", made.note);
    fields.read("threshold", made.threshold);
    fields.read("podsPerSecond", made.pods_per_second);
    made.params = read_params(fields.get("params"), path + ".params", problems_);
    made.small = read_params(fields.get("small"), path + ".small", problems_);
    bool measures = false;
    fields.each("ops", [&](const Value& item, const std::string& op_path) {
      made.ops.push_back(read_op(item, op_path, made));
      measures = measures || made.ops.back().measure;
    });
    if (!measures) fields.problem("ops", "no createPods with measure: true");
    fields.finish();
    return made;
  }

  Op read_op(const Value& value, const std::string& path, const Workload& workload) {
    Op op;
    if (!value.is_mapping() || value.members.size() != 1) {
      problems_.push_back({path, value.at, "an op is a mapping with one key, its name"});
      return op;
    }
    const config::Member& member = value.members.front();
    const std::string inner = path + "." + member.key;
    Fields fields(&member.value, inner, problems_);
    if (member.key == "createNodes") {
      op.kind = Op::Kind::kCreateNodes;
      read_count(fields, op.count);
      read_template_name(fields, "Node", op);
      op.labels = json_of(fields.get("labels"));
      read_with(fields, op);
    } else if (member.key == "createObjects") {
      op.kind = Op::Kind::kCreateObjects;
      read_count(fields, op.count);
      read_template_name(fields, kRead, op);
      fields.read("namespace", op.ns);
    } else if (member.key == "createPods") {
      op.kind = Op::Kind::kCreatePods;
      read_count(fields, op.count);
      read_template_name(fields, "Pod", op);
      fields.read("namespace", op.ns);
      if (const Value* namespaces = fields.get("namespaces")) op.ns_count = namespaces->text;
      if (!op.ns_count.empty() && !workload.number(op.ns_count, workload.params)) {
        fields.problem("namespaces", "neither a number nor one of params: " + op.ns_count);
      }
      read_with(fields, op);
      fields.read("as", op.as);
      fields.read("measure", op.measure);
      fields.read("wait", op.wait);
      if (op.measure && !op.wait) fields.problem("wait", "measured pods are waited for");
    } else if (member.key == "deletePods") {
      op.kind = Op::Kind::kDeletePods;
      fields.read("of", op.of);
      if (!names_earlier(workload, op.of)) {
        fields.problem("of", "no createPods before this one has `as: " + op.of + "`");
      }
      fields.read("perSecond", op.per_second);
      if (op.per_second <= 0) fields.problem("perSecond", "must be greater than 0");
      check_clock(fields, "perSecond", workload);
    } else if (member.key == "churn") {
      op.kind = Op::Kind::kChurn;
      fields.read("templates", op.templates);
      for (const std::string& name : op.templates) check_template(fields, "templates", name, "");
      fields.read("everyMilliseconds", op.every_ms);
      if (op.every_ms <= 0) fields.problem("everyMilliseconds", "must be greater than 0");
      check_clock(fields, "everyMilliseconds", workload);
      fields.read("recreate", op.recreate);
    } else if (member.key != "settle") {
      problems_.push_back({inner, member.at, "there is no such op"});
      return op;
    }
    if (!op.count.empty() && !workload.count_of(op, workload.params)) {
      fields.problem("count", "neither a number nor one of params: " + op.count);
    }
    fields.finish();
    return op;
  }

  // Rejects these ops without a virtual clock: all pods are bound before the machine's clock
  // advances noticeably.
  static void check_clock(Fields& fields, std::string_view field, const Workload& workload) {
    if (workload.pods_per_second <= 0) fields.problem(field, "the workload needs podsPerSecond");
  }

  static bool names_earlier(const Workload& workload, const std::string& name) {
    for (const Op& op : workload.ops) {
      if (!name.empty() && op.as == name) return true;
    }
    return false;
  }

  void read_template_name(Fields& fields, std::string_view kind, Op& op) {
    std::string name;
    fields.read("template", name);
    check_template(fields, "template", name, kind);
    op.templates = {name};
  }

  void read_with(Fields& fields, Op& op) {
    fields.read("with", op.with);
    for (const std::string& name : op.with) check_template(fields, "with", name, kRead);
  }

  // `kind`: empty: any; kRead: one that object_kind() has.
  void check_template(Fields& fields, std::string_view field, const std::string& name,
                      std::string_view kind) {
    const auto found = file_.templates.find(name);
    if (found == file_.templates.end()) {
      fields.problem(field, "there is no template \"" + name + "\"");
      return;
    }
    const std::string& of = found->second.kind;
    const bool fits = kind == kRead ? object_kind(of) != nullptr : kind.empty() || of == kind;
    if (!fits) {
      fields.problem(field, "template \"" + name + "\" is of kind " + of);
    }
  }

  Problems& problems_;
  WorkloadFile file_;
};

}  // namespace

const ObjectKind* object_kind(std::string_view name) {
  const auto* found = std::find_if(kObjectKinds.begin(), kObjectKinds.end(),
                                   [&](const ObjectKind& kind) { return kind.name == name; });
  return found == kObjectKinds.end() ? nullptr : found;
}

Result<size_t> Workload::number(const std::string& text, const Params& with) const {
  if (text.starts_with("$")) {
    const auto found = with.find(std::string_view(text).substr(1));
    if (found == with.end() || found->second < 0) {
      return fail(ErrorCode::kInvalid, name + ": no parameter " + text);
    }
    return static_cast<size_t>(found->second);
  }
  size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end) {
    return fail(ErrorCode::kInvalid, name + ": " + text + " is not a number");
  }
  return number;
}

Result<WorkloadFile> parse_workloads(std::string_view text, const std::string& file) {
  config::ParsedText parsed = config::parse_single_document(text);
  WorkloadFile made;
  if (parsed.problems.empty()) made = Reader(parsed.problems).read(parsed.documents.front());
  if (parsed.problems.empty()) return made;
  config::sort_by_position(parsed.problems);
  return fail(ErrorCode::kInvalid, config::to_string(parsed.problems, file));
}

}  // namespace plimsoll::bench
