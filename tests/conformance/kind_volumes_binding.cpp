#include "tests/conformance/kind_volumes_binding.hpp"

#include <algorithm>
#include <plimsoll/fake_host.hpp>
#include <set>
#include <utility>

#include "plugins/builtin/volumes/pod_volumes.hpp"
#include "plugins/builtin/volumes/storage.hpp"
#include "tests/conformance/binding_scene.hpp"

namespace plimsoll::conformance {

const std::string kClaimTwice = "VolumeBinding takes a claim once that two volumes name";
const std::string kSharedClaim =
    "undoing a pod leaves what another pod assumes for a claim of both";

namespace {

const Json kSuccess = {{"code", "Success"}};
constexpr int64_t kTickMs = 1000;

std::set<std::string> claims_of(const Json& pod) {
  std::set<std::string> names;
  for (const Json& volume : member(member(pod, "spec"), "volumes")) {
    const Json& claim = member(member(volume, "persistentVolumeClaim"), "claimName");
    if (claim.is_string()) names.insert(claim.get<std::string>());
  }
  return names;
}

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

const Json& meta_of(const Json& object) {
  return member(object, "metadata");
}

// The rule by which a case may differ from here on (empty: none), and whether it does. What follows
// the first difference is not compared: it is about another cluster.
struct Deviation {
  std::string rule;
  bool happened = false;
};

// The answers of one pod's attempt on a scene, as the reference gave them.
class Attempt {
 public:
  Attempt(BindingScene& scene, PodRef pod, Findings& findings, std::string where,
          Deviation& deviation)
      : scene_(scene.scene()),
        pod_(std::move(pod)),
        findings_(findings),
        where_(std::move(where)),
        deviation_(deviation) {}

  bool pre_filter(const Json& wanted) {
    const Json said = begin();
    expect("preFilter", wanted, said);
    return said.at("code") == "Success";
  }

  // Also the writes that would follow; all nodes.
  // `observed`: answers of the reference that depend on the order of a map, each as a whole.
  void filter(const Json& nodes, const Json& expected, const Json& observed = Json()) {
    Json plans = Json::object();
    for (const Json& node_json : nodes) {
      const std::string node = text(meta_of(node_json), "name");
      const Json& verdict = member(member(expected, "filterRejected"), node);
      const Json said = scene_.described(scene_.filter(*pod_, node));
      expect("filter of " + node, verdict.is_null() ? kSuccess : verdict, said);
      if (said.at("code") != "Success") continue;
      feasible_.push_back(node);
      Json plan = plan_on(node);
      if (observed.is_null()) {
        expect("volumes on " + node, member(member(expected, "volumes"), node), plan);
      } else if (!plan.is_null()) {
        plans[node] = std::move(plan);
      }
    }
    if (!observed.is_null()) {
      const bool seen = std::find(observed.begin(), observed.end(), plans) != observed.end();
      expect("volumes", seen ? plans : observed, plans);
    }
    begin();
    filter_together(nodes, expected);
  }

  void score(const Json& expected) {
    if (expected.is_null() || feasible_.empty()) return;
    Framework& framework = scene_.profile().framework();
    std::vector<const plimsoll_node_info*> rows;
    for (const std::string& node : feasible_) rows.push_back(info(node).abi());
    const NodeRows nodes(rows);
    const Status pre = framework.run_pre_score(scene_.cycle(), *pod_, nodes);
    expect("preScore", member(expected, "preScore"), scene_.described(pre).at("code"));
    ScoreTable scores;
    const Status status = framework.run_score(scene_.cycle(), *pod_, nodes, scores, true);
    if (!status.ok()) return findings_.add("score: " + status.error);
    const Json& panics = member(expected, "referencePanics");
    for (size_t i = 0; i < feasible_.size(); ++i) {
      const bool compared = std::find(panics.begin(), panics.end(), feasible_[i]) == panics.end();
      if (compared) {
        expect("score of " + feasible_[i], member(member(expected, "raw"), feasible_[i]),
               scores.totals[i]);
      }
    }
  }

  Json reserve(const std::string& node) {
    return scene_.described(
        scene_.profile().framework().run_reserve(scene_.cycle(), *pod_, *info(node).abi()));
  }
  void unreserve(const std::string& node) {
    scene_.profile().framework().run_unreserve(scene_.cycle(), *pod_, node);
  }
  Json begin() {
    Json said = scene_.pre_filter(*pod_);
    return scene_.skipped().empty() ? said : Json{{"code", "Skip"}};
  }
  void expect(const std::string& what, const Json& wanted, const Json& said) {
    if (deviation_.happened) return;
    const bool is_status = wanted.is_object() && wanted.contains("code");
    const bool same = is_status ? same_status(wanted, said)
                                : wanted == said || (wanted.is_null() && said.empty());
    if (same) return findings_.decide({});
    if (deviation_.rule.empty()) return findings_.expect(where_ + what, wanted, said);
    deviation_.happened = true;
    findings_.decide({deviation_.rule});
    findings_.tally("cases not compared after the first difference by a rule");
  }

 private:
  const NodeInfo& info(const std::string& node) { return *scene_.profile().cluster().node(node); }

  // What would be written, as the vectors have it. Without Reserve, whose end would take away what
  // earlier pods have assumed.
  Json plan_on(const std::string& node) {
    constexpr const char* kStorage = "plimsoll.io/storage";
    sdk::FakeHost host;
    host.services[kStorage] = {1, scene_.profile().environment().services.find(kStorage, 1)};
    const auto storage = volumes::Storage::shared(host.handle());
    const volumes::StorageStore& store = storage->objects;
    std::vector<volumes::SeenClaim> seen;
    std::set<std::string> known;
    for (const plimsoll_volume& volume : sdk::List<plimsoll_volume>(pod_->volumes)) {
      const auto name = volumes::claim_name(sdk::Pod(pod_.get()), volume);
      if (!name || !known.insert(*name).second) continue;
      const volumes::ClaimRef claim = store.claim(view(pod_->meta.ns), *name);
      if (!claim->is_fully_bound()) seen.emplace_back(claim->key(), claim->version());
    }
    const plimsoll_node_info* row = info(node).abi();
    const plimsoll_nodes one{sizeof one, 1, &row, nullptr, nullptr};
    volumes::NodeSets sets{sdk::Nodes(&one)};
    const auto delayed = volumes::delayed_claims(store, seen);
    volumes::VolumeFinder finder(store, *delayed, sets);
    volumes::NodePlan found;
    (void)finder.faults_on(0, &found);
    Json plan;
    for (const auto& binding : found.bindings) {
      plan["static"].push_back({{"pv", binding.volume->name()}, {"pvc", binding.claim->name()}});
    }
    for (const auto& provision : found.provisions) {
      plan["provision"].push_back(provision.claim->name());
    }
    return plan;
  }

  // All nodes in one call must get what each gets alone.
  void filter_together(const Json& nodes, const Json& expected) {
    std::vector<const plimsoll_node_info*> rows;
    for (const Json& node : nodes) rows.push_back(info(text(meta_of(node), "name")).abi());
    std::vector<uint8_t> codes(rows.size());
    std::vector<uint32_t> reasons(rows.size());
    std::vector<PluginIndex> rejectors(rows.size());
    const Status status = scene_.profile().framework().run_filters(
        scene_.cycle(), *pod_, NodeRows(rows), {codes, reasons, rejectors});
    if (status.is_error()) return;  // some node's error; each was compared
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string node(view(rows[i]->node->meta.name));
      const Json& verdict = member(member(expected, "filterRejected"), node);
      Status one;
      one.code = static_cast<Code>(codes[i]);
      one.reason = reasons[i];
      expect("filter of all, " + node, verdict.is_null() ? kSuccess : verdict,
             scene_.described(one));
    }
  }

  VolumeScene& scene_;
  PodRef pod_;
  Findings& findings_;
  std::string where_;
  Deviation& deviation_;
  std::vector<std::string> feasible_;
};

Json event(std::string_view kind, const Json& object, std::string_view type = "MODIFIED") {
  return {{"kind", kind}, {"object", object}, {"type", type}};
}

// The controllers' part after a write, if all goes well.
class HappyControllers {
 public:
  HappyControllers(const Json& test_case, BindingScene& scene)
      : test_case_(test_case), scene_(scene) {}

  void written(const BindingScene::Write& write) {
    if (write.resource == "persistentvolumes") {
      scene_.show_at(200, event("PersistentVolume", write.object));
      Json bound = write.object;
      bound["metadata"]["resourceVersion"] = next();
      bound["status"]["phase"] = "Bound";
      scene_.show_at(1100, event("PersistentVolume", bound));
      const Json& reference = write.object.at("spec").at("claimRef");
      bind(claim(reference), write.name);
      return;
    }
    scene_.show_at(200, event("PersistentVolumeClaim", write.object));
    Json volume = {{"metadata", {{"name", "pvc-" + write.name}, {"resourceVersion", next()}}},
                   {"spec", {{"claimRef", meta_of(write.object)}}},
                   {"status", {{"phase", "Bound"}}}};
    scene_.show_at(1200, event("PersistentVolume", volume, "ADDED"));
    bind(write.object, "pvc-" + write.name);
  }

 private:
  std::string next() { return std::to_string(++version_); }
  const Json& claim(const Json& reference) const {
    for (const Json& each : member(test_case_, "pvcs")) {
      if (text(meta_of(each), "name") == text(reference, "name") &&
          text(meta_of(each), "namespace") == text(reference, "namespace")) {
        return each;
      }
    }
    throw std::runtime_error("there is no claim " + reference.dump());
  }
  void bind(Json claim, const std::string& volume) {
    claim["metadata"]["resourceVersion"] = next();
    claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes";
    claim["spec"]["volumeName"] = volume;
    scene_.show_at(1400, event("PersistentVolumeClaim", claim));
  }

  const Json& test_case_;
  BindingScene& scene_;
  int version_ = 2000;
};

Json described(const BindingScene::Write& write, const Json& expected) {
  Json said = {{"resource", write.resource},
               {"name", write.name},
               {"resourceVersion", write.resource_version}};
  if (!write.ns.empty()) said["namespace"] = write.ns;
  if (!write.error.empty()) said["error"] = write.error;
  if (!write.changes) said["noOp"] = true;
  const Json& annotations = member(meta_of(write.object), "annotations");
  if (!annotations.empty()) said["annotations"] = annotations;
  const Json& reference = member(member(write.object, "spec"), "claimRef");
  if (!reference.is_null()) said["claimRef"] = reference;
  // The reference does not say of a write that failed whether it would have changed anything.
  if (!write.error.empty() && !expected.contains("noOp")) said.erase("noOp");
  return said;
}

void check_writes(const Json& wanted, std::vector<BindingScene::Write>& writes, Attempt& attempt) {
  attempt.expect("number of writes", wanted.size(), writes.size());
  for (size_t i = 0; i < std::min(wanted.size(), writes.size()); ++i) {
    attempt.expect("write " + std::to_string(i), wanted[i], described(writes[i], wanted[i]));
  }
}

void check_reserve(const Json& test_case, const Json& wanted, BindingScene& scene,
                   const PodRef& pod, Attempt& attempt) {
  const std::string node = wanted.at("node");
  if (attempt.begin().at("code") != "Success") return;
  (void)scene.scene().filter(*pod, node);
  const Json reserved = attempt.reserve(node);
  attempt.expect("reserve", wanted.at("reserve"), reserved);
  if (reserved.at("code") != "Success") return;
  const auto cycle = scene.scene().shared_cycle();
  const Status flight =
      scene.scene().profile().framework().run_pre_bind_pre_flight(*cycle, *pod, node);
  attempt.expect("preBindPreFlight", member(wanted, "preBindPreFlight"),
                 scene.scene().described(flight));
  if (!flight.ok()) return;
  scene.refuse(member(wanted, "writes"));
  HappyControllers happy(test_case, scene);
  for (const Json& each : member(wanted, "events")) {
    scene.show_at(each.at("atMs").get<int64_t>(), each);
  }
  if (test_case.at("kind") != "prebind" && wanted.at("controller") == "happy") {
    scene.written = [&](const BindingScene::Write& write) { happy.written(write); };
  }
  const auto run = scene.pre_bind(pod, node, cycle);
  const int64_t elapsed =
      member(wanted, "elapsedMs").is_null() ? 0 : wanted.at("elapsedMs").get<int64_t>();
  scene.run_until(*run, elapsed, std::max<int64_t>(elapsed, 0) + 2 * kTickMs);
  check_writes(member(wanted, "writes"), scene.writes(), attempt);
  attempt.expect("PreBind has ended", true, run->ended);
  if (!run->ended) return;
  Json status = scene.scene().described(run->status);
  attempt.expect("preBind", wanted.at("preBind"), status);
  if (run->status.is_error()) {
    attempt.expect("preBind's text", wanted.at("preBind").at("reasons"), status.at("reasons"));
  }
  // The reference looks every second, we look when something changes.
  const int64_t looked = (run->ended_at_ms + kTickMs - 1) / kTickMs * kTickMs;
  if (wanted.contains("elapsedMs")) attempt.expect("elapsedMs", elapsed, looked);
  if (!wanted.contains("afterUnreserve")) return;
  attempt.unreserve(node);
  const Json& after = wanted.at("afterUnreserve");
  // Its filter looks at the nodes as they were, whatever the informer has told since.
  for (const Json& each : member(test_case, "nodes")) scene.scene().profile().add_node(each);
  if (attempt.pre_filter(after.at("preFilter"))) attempt.filter(member(test_case, "nodes"), after);
}

}  // namespace

bool names_claim_twice(const Json& pod) {
  std::set<std::string> names;
  for (const Json& volume : member(member(pod, "spec"), "volumes")) {
    const Json& claim = member(member(volume, "persistentVolumeClaim"), "claimName");
    if (claim.is_string() && !names.insert(claim.get<std::string>()).second) return true;
  }
  return false;
}

bool check_volume_binding(const Json& test_case, const Json& expected, Findings& findings) {
  BindingScene scene(test_case);
  const Json& pod_json = test_case.at("pod");
  const PodRef pod = scene.scene().pod(pod_json);
  Deviation deviation{names_claim_twice(pod_json) ? kClaimTwice : ""};
  Attempt attempt(scene, pod, findings, "VolumeBinding.", deviation);
  if (attempt.pre_filter(expected.at("preFilter"))) {
    attempt.filter(member(test_case, "nodes"), expected, member(test_case, "observedVolumes"));
    attempt.score(member(expected, "score"));
  }
  if (test_case.contains("reserve")) {
    check_reserve(test_case, test_case.at("reserve"), scene, pod, attempt);
  }
  return deviation.happened;
}

void check_volume_chain(const Json& test_case, Findings& findings) {
  BindingScene scene(test_case);
  struct Reserved {
    PodRef pod;
    std::set<std::string> claims;
    std::shared_ptr<CycleContext> cycle;  // null: it has no place
  };
  std::map<std::string, Reserved> pods;
  Deviation deviation;
  for (const Json& json : test_case.at("pods")) {
    if (names_claim_twice(json)) deviation.rule = kClaimTwice;
    pods[text(meta_of(json), "name")] = {scene.scene().pod(json), claims_of(json), nullptr};
  }
  const auto shares = [&pods](const Reserved& one) {
    return std::ranges::any_of(pods, [&](const auto& other) {
      return &other.second != &one && other.second.cycle != nullptr &&
             std::ranges::any_of(one.claims, [&](const std::string& claim) {
               return other.second.claims.contains(claim);
             });
    });
  };
  size_t number = 0;
  for (const Json& step : test_case.at("steps")) {
    const std::string where = "step " + std::to_string(number++) + ": ";
    const std::string op = step.at("op");
    if (op == "event") {
      scene.show(step.at("event"));
      continue;
    }
    Reserved& reserved = pods.at(step.at("pod"));
    Attempt attempt(scene, reserved.pod, findings, where, deviation);
    if (op == "unreserve") {
      if (reserved.cycle == nullptr) continue;
      scene.scene().continue_with(std::exchange(reserved.cycle, nullptr));
      attempt.unreserve(step.at("node"));
      if (deviation.rule.empty() && shares(reserved)) deviation.rule = kSharedClaim;
      continue;
    }
    const Json& expected = step.at("VolumeBinding");
    if (!attempt.pre_filter(expected.at("preFilter"))) continue;
    attempt.filter(member(test_case, "nodes"), expected);
    if (!step.contains("node")) continue;
    const std::string node = step.at("node");
    (void)attempt.begin();
    (void)scene.scene().filter(*reserved.pod, node);
    reserved.cycle = scene.scene().shared_cycle();
    if (step.contains("event")) scene.show(step.at("event"));
    const Json said = attempt.reserve(node);
    attempt.expect("reserve", step.at("status"), said);
    if (said.at("code") != "Success") {
      attempt.unreserve(node);
      reserved.cycle = nullptr;
    }
  }
}

void check_volume_binding_args(const Json& test_case, Findings& findings) {
  const Json& validation = test_case.at("argsValidation");
  Json args = validation.at("args");
  const bool scoring = member(validation, "storageCapacityScoring") == true;
  // The reference judges args that defaults were not filled into.
  if (scoring && !args.contains("shape")) args["shape"] = Json::array();
  args["featureGates"] = {{"StorageCapacityScoring", scoring}};
  bool refused = false;
  try {
    DefaultProfile profile({"VolumeBinding"}, {{"VolumeBinding", args.dump()}});
  } catch (const std::runtime_error&) {
    refused = true;
  }
  findings.expect("is refused", validation.contains("err"), refused);
  findings.decide({});
}

}  // namespace plimsoll::conformance
