#include "cli/export/exported_objects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/export/export_table.hpp"
#include "config/pod_fields_table.hpp"
#include "framework/api/decode/protobuf_schema.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::set<std::string> kKinds{"Namespace",
                                   "Node",
                                   "NodeResourceTopology",
                                   "Device",
                                   "StorageClass",
                                   "CSINode",
                                   "CSIDriver",
                                   "CSIStorageCapacity",
                                   "VolumeAttachment",
                                   "PersistentVolume",
                                   "PersistentVolumeClaim",
                                   "PodDisruptionBudget",
                                   "PriorityClass",
                                   "RuntimeClass",
                                   "LimitRange",
                                   "Service",
                                   "ReplicationController",
                                   "ReplicaSet",
                                   "StatefulSet",
                                   "PodGroup",
                                   "Pod"};

// "Type field:how ..." of a table.
using Rows = std::map<std::string, std::vector<std::pair<std::string, std::string>>>;

Rows rows_of(std::string_view table) {
  Rows rows;
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string type;
    words >> type;
    for (std::string word; words >> word;) {
      if (word.starts_with('+')) {
        const auto& included = rows.at(word.substr(1));
        rows[type].insert(rows[type].end(), included.begin(), included.end());
        continue;
      }
      const size_t colon = std::min(word.find(':'), word.size());
      rows[type].emplace_back(word.substr(0, colon), word.substr(std::min(colon + 1, word.size())));
    }
    rows[type];
  }
  return rows;
}

bool is_type(const std::string& how) {
  return !how.empty() && (how.front() == '{' ||
                          (std::isupper(how.front()) != 0 && how.find('|') == std::string::npos));
}

// An object of the type with a mark of its own in each text, and with fields that nobody knows.
// `marks`: mark -> (path, how).
using Marks = std::map<std::string, std::pair<std::string, std::string>>;

json filled(const Rows& rows, const std::string& type, const std::string& path, Marks& marks) {
  json object = json::object();
  const auto mark = [&](const std::string& at, const std::string& how) {
    const std::string text = "mark" + std::to_string(marks.size());
    marks[text] = {at, how};
    return text;
  };
  bool is_map = false;
  for (const auto& [field, how] : rows.at(type)) {
    const std::string at = path.empty() ? field : path + "." + field;
    is_map = field.starts_with('*');
    const std::string key = is_map ? mark(at, field.substr(1)) : field;
    if (how.starts_with('{')) {
      object[key] = filled(rows, how.substr(1, how.size() - 2), at, marks).dump();
    } else if (is_type(how)) {
      object[key] = json::array({filled(rows, how, at, marks)});
      // Most are no lists.
      if (!rows.at(how).empty() && rows.at(how).front().first.starts_with('*'))
        object[key] = object[key][0];
    } else if (how.find('|') != std::string::npos) {
      object[key] = how.substr(0, how.find('|'));
    } else {
      object[key] = mark(at, how);
    }
  }
  if (!is_map) {
    object["unknown"] = "surprise";
    object["unknowns"] = {{"surprise", {"surprise", {{"deep", "surprise"}}}}};
  }
  return object;
}

// All texts and keys, those in JSON texts too.
void texts_of(const json& value, std::set<std::string>& texts) {
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    const json inner = json::parse(text, nullptr, false);
    inner.is_structured() ? texts_of(inner, texts) : (void)texts.insert(text);
  }
  for (const auto& [key, inner] : value.items()) {
    if (value.is_object()) texts.insert(key);
    if (value.is_structured()) texts_of(inner, texts);
  }
}

std::set<std::string> texts_of(const json& value) {
  std::set<std::string> texts;
  texts_of(value, texts);
  return texts;
}

std::string whole(const json& value) {
  return value.dump(1);
}

// Every text of every kind is a mark: the marks that stay are the list, and nothing else does.
TEST(ExportedObjects, WhatStaysIsTheList) {
  const Rows rows = rows_of(kExportTable);
  for (const std::string& kind : kKinds) {
    Marks marks;
    json object = filled(rows, kind, "", marks);
    object["apiVersion"] = "v1";
    ExportedObjects objects;
    objects.keep(kind, object);
    EXPECT_THAT(whole(object), Not(HasSubstr("surprise"))) << kind;
    const std::set<std::string> kept = texts_of(object);
    for (const auto& [mark, where] : marks) {
      const auto& [path, how] = where;
      const bool replaced =
          how == "there" || how == "address" || how == "groups" || how == "fingerprint";
      EXPECT_EQ(kept.contains(mark), !replaced) << kind << " " << path;
    }

    json list = json::array({object});
    objects.anonymise(list);
    const std::set<std::string> open = texts_of(list);
    for (const auto& [mark, where] : marks) {
      const auto& [path, how] = where;
      EXPECT_EQ(open.contains(mark), how.empty() || how == "attribute")
          << kind << " " << path << "\n"
          << whole(list);
    }
  }
}

void paths_of(const Rows& rows, const std::string& type, const std::string& path,
              std::set<std::string>& paths) {
  for (const auto& [field, how] : rows.at(type)) {
    const std::string at = (path.empty() ? "" : path + ".") + field;
    if (is_type(how) && !how.starts_with('{')) {
      paths_of(rows, how, at, paths);
    } else {
      paths.insert(at);
    }
  }
}

// The same with all fields that a Pod of Kubernetes has, and with its templates in controllers.
TEST(ExportedObjects, OfAPodOnlyWhatIsInTheList) {
  Rows pod = rows_of(config::kPodFieldsTable);
  const std::set<std::string> maps{"labels", "annotations", "nodeSelector", "requests",
                                   "limits", "matchLabels", "overhead",     "allocatedResources"};
  for (auto& [type, fields] : pod) {
    for (auto& [field, how] : fields) {
      if (maps.contains(field) && how.empty()) how = "Map";
      if (type == "PodCondition" && field == "type") how = "PodScheduled|";
    }
  }
  pod["Map"] = {{"*", ""}};
  std::set<std::string> listed;
  std::set<std::string> possible;
  paths_of(rows_of(kExportTable), "Pod", "", listed);
  paths_of(pod, "Pod", "", possible);

  Marks marks;
  json object = filled(pod, "Pod", "", marks);
  json set{{"apiVersion", "apps/v1"},
           {"metadata", {{"name", "web"}, {"annotations", {{"a", "surprise"}}}}},
           {"spec", {{"selector", {{"matchLabels", {{"a", "b"}}}}}, {"template", object}}}};
  ExportedObjects objects;
  objects.keep("Pod", object);
  const std::set<std::string> kept = texts_of(object);
  const std::set<std::string> replaced{
      "spec.containers.ports.hostIP", "spec.initContainers.ports.hostIP",
      "spec.volumes.rbd.monitors", "spec.containers.volumeMounts.bindMountOptions",
      "spec.initContainers.volumeMounts.bindMountOptions"};
  for (const auto& [mark, where] : marks) {
    std::string path = where.first;
    // The values of maps are in the list by the keys' line.
    if (path == "kind" || path == "apiVersion" || replaced.contains(path)) continue;
    const bool in_list =
        listed.contains(path) || listed.contains(path + "key") || listed.contains(path + "name");
    EXPECT_EQ(kept.contains(mark), in_list) << path;
  }
  EXPECT_THAT(possible, testing::Contains("spec.containers.env.value")) << "nothing was tried";

  for (const char* kind : {"ReplicaSet", "StatefulSet", "Service", "ReplicationController"}) {
    json left = set;
    objects.keep(kind, left);
    EXPECT_EQ(left.at("spec").size(), 1U) << left;
    EXPECT_EQ(left.at("metadata"), json::parse(R"({"name": "web"})"));
    EXPECT_THAT(whole(left), Not(HasSubstr("mark"))) << "of its template";
  }
}

void paths_of(const ProtoMessage& message, const std::string& path, std::set<std::string>& paths) {
  for (const ProtoField& field : message.fields) {
    const bool is_inline = field.shape == ProtoShape::kInline;
    const std::string at = is_inline ? path : path + "." + std::string(field.name);
    if (field.message != nullptr) {
      paths_of(*field.message, at, paths);
    } else {
      paths.insert(field.shape == ProtoShape::kMap ? at + ".*" : at);
    }
  }
}

// What the reader of pods and nodes reads, but for versions, owners of nodes, and what people are
// told.
TEST(ExportedObjects, WhatIsReadIsInTheList) {
  const std::set<std::string> left_out{
      "Pod.metadata.annotations.*",   "Node.metadata.annotations.*",
      "Pod.metadata.resourceVersion", "Node.metadata.resourceVersion",
      "Node.metadata.generation",     "Pod.status.conditions.message"};
  for (const auto& [kind, message] : {std::pair("Pod", kPodMessage), {"Node", kNodeMessage}}) {
    std::set<std::string> listed;
    paths_of(rows_of(kExportTable), kind, kind, listed);
    std::set<std::string> read;
    paths_of(message, kind, read);
    EXPECT_GT(read.size(), 15U);
    for (const std::string& path : read) {
      if (path.starts_with("Node.metadata.ownerReferences.")) continue;
      const bool in_list = listed.contains(path) || listed.contains(path + "key");
      EXPECT_NE(in_list, left_out.contains(path)) << path;
    }
  }
}

TEST(ExportedObjects, TheDocumentHasTheList) {
  std::ifstream file("docs/export.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("```\n" + std::string(kExportTable) + "```\n"));
}

json anonymous(const char* text) {
  json list = json::parse(text);
  ExportedObjects objects;
  for (json& object : list) objects.keep(object.at("kind").get<std::string>(), object);
  objects.anonymise(list);
  return list;
}

// What texts mean to a decision.
TEST(ExportedObjects, WordsMeanWhatTheTextsMeant) {
  const json list = anonymous(R"([
    {"kind": "Node", "metadata": {"name": "10.20.96.8", "labels": {
      "kubernetes.io/hostname": "10.20.96.8", "kubernetes.io/os": "linux", "acme.com/cpus": "16",
      "topology.kubernetes.io/zone": "us-east4-b", "topology.kubernetes.io/region": "us-east4"}},
     "status": {"images": [{"names": ["acme.com:5000/team/web:1.4", "acme.com/db:latest"]}]}},
    {"kind": "PersistentVolume", "metadata": {"name": "pv", "labels": {
      "topology.kubernetes.io/zone": "us-east4-b__us-east4-c"}},
     "spec": {"csi": {"volumeHandle": "projects/p/regions/us-east4/disks/d"}}},
    {"kind": "PersistentVolumeClaim", "metadata": {"name": "web-0-scratch"}},
    {"kind": "Pod", "metadata": {"name": "web-0"}, "spec": {
      "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}],
      "containers": [{"image": "acme.com:5000/team/web:1.4"}, {"image": "acme.com/db"},
                     {"ports": [{"hostIP": "10.20.96.8"}, {"hostIP": "0.0.0.0"}]}],
      "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
          {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["10.20.96.8"]}]},
          {"matchExpressions": [{"key": "acme.com/cpus", "operator": "Gt", "values": ["8"]},
                                {"key": "no key", "operator": "Exists"}]}]}}}}}])");
  const json& node = list[0];
  const json& labels = node.at("metadata").at("labels");
  const std::string name = node.at("metadata").at("name");
  EXPECT_EQ(labels.at("kubernetes.io/hostname"), name);
  EXPECT_EQ(labels.at("kubernetes.io/os"), "linux");
  const json& volume = list[1];
  const std::string zone = labels.at("topology.kubernetes.io/zone");
  const std::string region = labels.at("topology.kubernetes.io/region");
  EXPECT_THAT(zone, testing::StartsWith(region + "-"));
  const std::string zones = volume.at("metadata").at("labels").at("topology.kubernetes.io/zone");
  EXPECT_THAT(zones, testing::StartsWith(zone + "__" + region + "-"));
  EXPECT_THAT(volume.at("spec").at("csi").at("volumeHandle").get<std::string>(),
              HasSubstr("/regions/" + region + "/disks/"));
  const json& pod = list[3];
  const json& spec = pod.at("spec");
  EXPECT_EQ(list[2].at("metadata").at("name"),
            pod.at("metadata").at("name").get<std::string>() + "-" +
                spec.at("volumes")[0].at("name").get<std::string>());
  const json& images = node.at("status").at("images")[0].at("names");
  EXPECT_EQ(spec.at("containers")[0].at("image"), images[0]);
  EXPECT_EQ(spec.at("containers")[1].at("image").get<std::string>() + ":latest", images[1]);
  EXPECT_EQ(spec.at("containers")[2].at("ports"),
            json::parse(R"([{"hostIP": "address-1"}, {"hostIP": "0.0.0.0"}])"));
  const json& terms = spec.at("affinity")
                          .at("nodeAffinity")
                          .at("requiredDuringSchedulingIgnoredDuringExecution")
                          .at("nodeSelectorTerms");
  EXPECT_EQ(terms[0].at("matchFields")[0].at("key"), "metadata.name");
  EXPECT_EQ(terms[0].at("matchFields")[0].at("values")[0], name);
  const json& more = terms[1].at("matchExpressions")[0];
  EXPECT_EQ(more.at("values")[0], "8");
  EXPECT_EQ(labels.at(more.at("key").get<std::string>()), "16");
  EXPECT_THAT(terms[1].at("matchExpressions")[1].at("key").get<std::string>(),
              testing::EndsWith("!"));
  for (const char* secret : {"10.20", "us-east4", "acme", "team", "web", "1.4"})
    EXPECT_THAT(whole(list), Not(HasSubstr(secret)));
}

// What has another shape than its type is as wrong as before, and says nothing.
TEST(ExportedObjects, WrongShapesStayWrong) {
  json pod = json::parse(R"({"kind": "Pod", "apiVersion": "v1", "metadata": "surprise",
    "spec": {"nodeName": {"surprise": 1}, "affinity": "surprise", "priority": "surprise?",
             "volumes": [["surprise"], 7], "tolerations": {"key": ["surprise", {"surprise": 2}]}},
    "status": {"conditions": {"type": "surprise"}}})");
  ExportedObjects objects;
  objects.keep("Pod", pod);
  EXPECT_EQ(pod, json::parse(R"({"kind": "Pod", "apiVersion": "v1", "metadata": "",
    "spec": {"nodeName": {}, "affinity": "", "priority": "surprise?", "volumes": [[], 7],
             "tolerations": {"key": ["surprise", {}]}},
    "status": {"conditions": {}}})"));
}

}  // namespace
}  // namespace plimsoll::cli
