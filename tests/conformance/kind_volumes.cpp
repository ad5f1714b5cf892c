// The volume plugins: each alone on a small cluster, all four together, preemption's what-ifs,
// requeue hints, and in-tree volumes as CSI volumes.

#include <algorithm>
#include <map>
#include <plimsoll/kinds.hpp>

#include "framework/api/decode/decode.hpp"
#include "framework/objects/kinds.hpp"
#include "framework/placement/diagnosis.hpp"
#include "framework/placement/what_if.hpp"
#include "plugins/storage/csi_translation.hpp"
#include "tests/conformance/kind_volumes_binding.hpp"
#include "tests/conformance/kinds.hpp"
#include "tests/conformance/volume_rules.hpp"
#include "tests/conformance/volume_scene.hpp"

namespace plimsoll::conformance {
namespace {

const Json kPassed = {{"code", "Success"}};

Json verdict_in(const Json& rejected, const std::string& node) {
  const Json& verdict = member(rejected, node);
  return verdict.is_null() ? kPassed : verdict;
}

// ---- one plugin alone

// The nodes on which it differs from the reference by a rule.
std::set<std::string> check_plugin(const std::string& plugin, const Json& test_case,
                                   const Json& expected, Findings& findings) {
  std::set<std::string> different;
  VolumeScene scene(test_case, {plugin});
  const PodRef pod = scene.pod(test_case.at("pod"));
  const Json actual = scene.pre_filter(*pod);
  const Json wanted = expected.at("preFilter");
  // The reference's Skip is ours where there is nothing to filter.
  const Json said = scene.skipped().empty() ? actual : Json{{"code", "Skip"}};
  if (!same_status(wanted, said)) findings.expect(plugin + ".preFilter", wanted, said);
  findings.decide({});
  if (said.at("code") != "Success") return different;
  for (const Json& node_json : member(test_case, "nodes")) {
    const std::string node = node_json.at("metadata").at("name");
    const Json verdict = verdict_in(member(expected, "filterRejected"), node);
    const Json filtered = scene.described(scene.filter(*pod, node));
    if (same_status(verdict, filtered)) {
      findings.decide({});
      continue;
    }
    const std::string rule = plugin == "NodeVolumeLimits"
                                 ? limits_rule(test_case, node, verdict, filtered)
                                 : std::string();
    if (rule.empty()) {
      findings.expect(plugin + ".filter of " + node, verdict, filtered);
    } else {
      findings.decide({rule});
      different.insert(node);
    }
  }
  return different;
}

// ---- all four together

class Together {
 public:
  Together(const Json& test_case, Findings& findings)
      : test_case_(test_case),
        expected_(test_case.at("combined")),
        findings_(findings),
        scene_(test_case, {std::begin(kVolumePlugins), std::end(kVolumePlugins)}) {}

  void check() {
    const PodRef pod = scene_.pod(test_case_.at("pod"));
    const Json actual = scene_.pre_filter(*pod);
    const Status status = scene_.last_status();
    if (expected_.contains("error")) {
      expect("is an error", status.is_error() || filter_errors(*pod), true);
      return;
    }
    diagnosis_.node_count = member(test_case_, "nodes").size();
    Json rejection;
    if (!status.ok()) {
      rejection = actual;
      diagnosis_.pre_filter_message = status.message(reasons());
      diagnosis_.add_rejector(status);
    }
    expect("preFilter", member(expected_, "preFilter"), rejection);
    expect("preFilterBy", member(expected_, "preFilterBy"), std::string(status.plugin));
    if (status.ok()) {
      const std::vector<std::string> skipped = scene_.skipped();
      expect("skipped", member(expected_, "skipped"),
             std::set<std::string>(skipped.begin(), skipped.end()));
      filter(*pod);
    }
    compare_message();
  }

 private:
  void expect(const std::string& what, const Json& expected, const Json& actual) {
    findings_.expect("combined." + what, expected, actual);
  }
  [[nodiscard]] const ReasonTable& reasons() { return scene_.profile().reasons(); }

  bool filter_errors(const plimsoll_pod& pod) {
    if (!scene_.last_status().ok()) return false;
    const Json& nodes = member(test_case_, "nodes");
    return std::any_of(nodes.begin(), nodes.end(), [&](const Json& node) {
      return scene_.filter(pod, node.at("metadata").at("name").get<std::string>()).is_error();
    });
  }

  void filter(const plimsoll_pod& pod) {
    Json rejected = Json::object();
    std::set<std::string> errors;
    std::set<std::string> feasible;
    for (const Json& node_json : member(test_case_, "nodes")) {
      const std::string node = node_json.at("metadata").at("name");
      const Status status = scene_.filter(pod, node);
      if (status.is_error()) {
        errors.insert(node);
      } else if (status.ok()) {
        feasible.insert(node);
      } else {
        rejected[node] = status.plugin;
        ++diagnosis_.nodes_by_reason[status.reason];
        diagnosis_.add_rejector(status);
      }
    }
    std::set<std::string> expected_errors;
    for (const auto& [node, text] : member(expected_, "errors").items()) {
      expected_errors.insert(node);
    }
    expect("rejectedBy", member(expected_, "rejectedBy"), rejected);
    expect("errors", expected_errors, errors);
    expect("feasible", member(expected_, "feasible"), feasible);
    is_decided_ = !feasible.empty() || !errors.empty();
  }

  void compare_message() {
    if (is_decided_) return expect("message", member(expected_, "message"), Json());
    expect("message", member(expected_, "message"), fit_error_message(diagnosis_, reasons()));
    std::set<std::string> plugins;
    for (const PluginIndex plugin : diagnosis_.rejectors) {
      plugins.insert(scene_.profile().name(plugin));
    }
    expect("unschedulablePlugins", member(expected_, "unschedulablePlugins"), plugins);
  }

  const Json& test_case_;
  const Json& expected_;
  Findings& findings_;
  VolumeScene scene_;
  Diagnosis diagnosis_;
  bool is_decided_ = false;
};

void check_plugins(const Json& test_case, Findings& findings) {
  std::set<std::string> different;
  for (const auto& [plugin, expected] : test_case.at("plugins").items()) {
    if (plugin == "VolumeBinding") {
      if (check_volume_binding(test_case, expected, findings)) different.insert("any");
      continue;
    }
    different.merge(check_plugin(plugin, test_case, expected, findings));
  }
  if (!test_case.contains("combined")) return;
  if (DefaultProfile({"VolumeBinding"}).find("VolumeBinding") == kNoPlugin) {
    findings.tally("combined results not compared: there is no VolumeBinding");
  } else if (!different.empty()) {
    findings.tally("combined results not compared: a node differs by a rule");
  } else {
    Together(test_case, findings).check();
    findings.tally("combined results compared");
  }
}

// ---- what-ifs of VolumeRestrictions

void check_simulate(const Json& test_case, Findings& findings) {
  VolumeScene scene(test_case, {"VolumeRestrictions"});
  const PodRef pod = scene.pod(test_case.at("pod"));
  std::map<std::string, PodRef> pods;
  std::map<std::string, Json> on_nodes;
  for (const Json& json : member(test_case, "existingPods")) {
    const std::string name = json.at("metadata").at("namespace").get<std::string>() + "/" +
                             json.at("metadata").at("name").get<std::string>();
    pods[name] = scene.pod(json);
    on_nodes[name] = json;
  }
  const auto pairs = [&] {
    Json list = Json::array();
    for (const auto& [name, json] : on_nodes) list.push_back(json);
    return exclusive_use(test_case, list);
  };
  const std::set<std::string> rules = pairs().rules;
  std::unique_ptr<WhatIf> what_if;
  for (const Json& step : test_case.at("steps")) {
    const std::string op = step.at("op");
    if (op == "prefilter") {
      Json said = scene.pre_filter(*pod);
      if (!scene.skipped().empty()) said = {{"code", "Skip"}};
      findings.expect(op, step.at("status"), said);
      findings.decide({});
      continue;
    }
    if (what_if == nullptr) {
      const NodeInfo* node = scene.profile().cluster().node(step.at("node").get<std::string>());
      what_if = make_what_if(scene.profile().framework(), scene.cycle(), *pod, *node,
                             scene.profile().nominator());
    }
    if (op != "filter") {
      const std::string name = step.at("pod");
      const Status changed =
          op == "addPod" ? what_if->add_pod(*pods.at(name)) : what_if->remove_pod(*pods.at(name));
      if (!changed.ok()) findings.add(op + " " + name + ": " + changed.error);
      if (op == "removePod") on_nodes.erase(name);
      for (const Json& json : member(test_case, "existingPods")) {
        const Json& meta = json.at("metadata");
        if (op == "addPod" && name == meta.at("namespace").get<std::string>() + "/" +
                                          meta.at("name").get<std::string>()) {
          on_nodes[name] = json;
        }
      }
    }
    const Json actual = scene.described(what_if->filter());
    if (same_status(step.at("filter"), actual)) {
      findings.decide({});
      continue;
    }
    // The claims must then be what differs, and be taken if and only if a pair is left.
    const bool is_taken = actual.at("code") == "Unschedulable" &&
                          actual.at("reasons").at(0) != "node(s) had no available disk";
    if (rules.empty() || is_taken != (pairs().pairs > 0)) {
      findings.expect(op + " " + step.value("pod", ""), step.at("filter"), actual);
    } else {
      findings.decide(rules);
    }
  }
}

// ---- hints

ClusterEvent event_of(const Json& hint, VolumeScene& scene) {
  std::string kind = hint.at("resource");
  kind.erase(0, kind.rfind('/') + 1);
  const std::string action = hint.at("action");
  const Json& old_object = member(hint, "old");
  const Json& new_object = member(hint, "new");
  if (kind == "Pod") return assigned_pod_deleted(scene.pod(old_object));
  if (kind == "Node") {
    if (action == "Add") return node_added(scene.profile().node(new_object));
    const auto events =
        node_updated(scene.profile().node(old_object), scene.profile().node(new_object));
    if (!events.empty()) return events.front();
    throw std::runtime_error("the nodes do not differ");
  }
  if (!old_object.is_null()) {
    const RawRef before = scene.object(kind, old_object);
    scene.profile().put_object(before);
    if (action == "Delete") return scene.profile().delete_object(before);
  }
  // The old and the new version have one name in the cluster, whatever a table of tests says.
  RawObject now = *scene.object(kind, new_object);
  if (!old_object.is_null()) {
    const RawRef before = scene.object(kind, old_object);
    now.ns = before->ns;
    now.name = before->name;
  }
  return scene.profile().put_object(decoded(std::move(now)));
}

void check_hint(const Json& test_case, Findings& findings) {
  const Json& hint = test_case.at("hint");
  const std::string plugin = hint.at("plugin");
  VolumeScene scene(test_case, {plugin});
  const PluginIndex index = scene.profile().find(plugin);
  if (index == kNoPlugin) return findings.skip("there is no " + plugin);
  const PodRef pod = scene.pod(test_case.at("pod"));
  const ClusterEvent event = event_of(hint, scene);
  const bool queue =
      scene.profile().policy().hint(*pod, plugin_key(0, index), event) == QueueHint::kQueue;
  findings.expect("hint", hint.at("result"), queue ? "Queue" : "QueueSkip");
  const auto asked = scene.profile().policy().interested(event);
  if (std::find(asked.begin(), asked.end(), plugin_key(0, index)) == asked.end()) {
    findings.add("the plugin did not register " + event.label);
  }
  findings.decide({});
}

// ---- in-tree volumes

void check_translation(const Json& test_case, Findings& findings) {
  const Json& expected = test_case.at("translate");
  const bool is_inline = expected.contains("volume");
  SymbolTable symbols;
  Result<volumes::CsiVolume> made = fail(ErrorCode::kInvalid, "it is not migratable");
  std::string affinity;
  std::string source;
  if (is_inline) {
    const Json pod = {{"metadata", {{"name", "p"}}},
                      {"spec", {{"volumes", {expected.at("volume")}}}}};
    const auto decoded = decode_pod(pod.dump(), symbols);
    if (!decoded) return findings.add(decoded.error().message);
    const plimsoll_volume& volume = sdk::List<plimsoll_volume>((*decoded)->volumes)[0];
    source = view(volume.kind);
    made = volumes::translate(volume);
  } else {
    const ObjectRef object =
        decode_object(sdk::kPersistentVolumes.resource, "", "pv", expected.at("pv").dump());
    const auto volume =
        volumes::read(*reinterpret_cast<const plimsoll_persistent_volume*>(object.get()));
    source = volume.source();
    if (const auto translated = volumes::translate(volume)) {
      made = *translated;
      if (translated->affinity != nullptr) affinity = translated->affinity->json();
    } else {
      made = fail(translated.error());
    }
  }
  const auto* plugin = volumes::in_tree_plugin_of(source);
  findings.expect("migratable", member(expected, "migratable"), plugin != nullptr);
  if (plugin == nullptr) return findings.decide({});
  findings.expect("inTreePlugin", member(expected, "inTreePlugin"), plugin->name);
  if (!plugin->is_switched_on) {
    return findings.skip("volumes of " + std::string(plugin->name) + " are never translated");
  }
  findings.decide({});
  findings.expect("is an error", expected.contains("err"), !made.has_value());
  if (!made) return;
  findings.expect("driver", member(expected, "driver"), made->driver);
  findings.expect("volumeHandle", member(expected, "volumeHandle"), made->handle);
  findings.expect("nodeAffinity", member(member(expected, "nodeAffinity"), "required"),
                  affinity.empty() ? Json() : Json::parse(affinity));
}

}  // namespace

void check_volumes(const Json& test_case, Findings& findings) {
  for (const std::string& rule : volume_rules()) findings.know_rule(rule);
  findings.know_rule(kClaimTwice);
  findings.know_rule(kSharedClaim);
  const std::string kind = test_case.at("kind");
  if (kind == "hint") return check_hint(test_case, findings);
  if (kind == "translate") return check_translation(test_case, findings);
  if (kind == "simulate") return check_simulate(test_case, findings);
  if (kind == "chain") return check_volume_chain(test_case, findings);
  if (kind == "args") return check_volume_binding_args(test_case, findings);
  check_plugins(test_case, findings);
}

}  // namespace plimsoll::conformance
