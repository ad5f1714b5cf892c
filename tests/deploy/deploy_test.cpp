#include "tests/deploy/deploy_test.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tests/e2e/facts.hpp"
#include "tests/kube/yaml_json.hpp"
#include "tests/support/free_port.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr const char* kPriorityClasses = "/apis/scheduling.k8s.io/v1/priorityclasses";

constexpr const char* kResourceApi = "/apis/resource.k8s.io/v1/";

std::string resource_claims_path(const std::string& ns) {
  return kResourceApi + ("namespaces/" + ns) + "/resourceclaims";
}

constexpr std::array kPodGroupApis{"scheduling.x-k8s.io", "scheduling.sigs.k8s.io"};

json pod_group_kind(const std::string& group) {
  const json anything{
      {"openAPIV3Schema", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}};
  return {
      {"metadata",
       {{"name", "podgroups." + group},
        {"annotations", {{"api-approved.kubernetes.io", "unapproved, for tests"}}}}},
      {"spec",
       {{"group", group},
        {"scope", "Namespaced"},
        {"names", {{"plural", "podgroups"}, {"kind", "PodGroup"}}},
        {"versions",
         {{{"name", "v1alpha1"}, {"served", true}, {"storage", true}, {"schema", anything}}}}}}};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (const std::size_t at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
  return text;
}

}  // namespace

std::vector<json> base_objects() {
  std::vector<json> all;
  const auto kustomization = read_yaml("deploy/base/kustomization.yaml");
  if (!kustomization) return all;
  for (const json& file : kustomization->front().at("resources")) {
    const auto documents = read_yaml("deploy/base/" + file.get<std::string>());
    EXPECT_TRUE(documents) << documents.error().message;
    if (documents) all.insert(all.end(), documents->begin(), documents->end());
  }
  for (const json& map : kustomization->front().at("configMapGenerator")) {
    json data = json::object();
    for (const std::string file : map.at("files")) {
      data[file] = read_file("deploy/base/" + file).value_or("");
    }
    all.push_back({{"apiVersion", "v1"},
                   {"kind", "ConfigMap"},
                   {"metadata", {{"name", map.at("name")}, {"namespace", map.at("namespace")}}},
                   {"data", data}});
  }
  return all;
}

std::string Right::text() const {
  const std::size_t slash = std::min(resource.find('/'), resource.size());
  return verb + " " + resource.substr(0, slash) + (group.empty() ? "" : "." + group) +
         resource.substr(slash) + (name.empty() ? "" : " (" + name + ")");
}

std::vector<Right> rights_of(const std::vector<json>& objects) {
  std::vector<Right> rights;
  for (const json& object : objects) {
    for (const json& rule : object.value("rules", json::array())) {
      if (!rule.contains("resources")) continue;  // of those who scrape
      for (const std::string group : rule.at("apiGroups")) {
        for (const std::string resource : rule.at("resources")) {
          for (const std::string verb : rule.at("verbs")) {
            for (const std::string name : rule.value("resourceNames", json{""})) {
              rights.push_back({verb, group, resource, name});
            }
          }
        }
      }
    }
  }
  return rights;
}

void DeployTest::SetUp() {
  E2eTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  // There already, after the first test.
  client().post(kPriorityClasses, {{"metadata", {{"name", "urgent"}}}, {"value", 1000}});
  for (const char* group : kPodGroupApis) {
    client().post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", pod_group_kind(group));
    ASSERT_TRUE(eventually(30s, [&] {
      return client().get("/apis/" + std::string(group) + "/v1alpha1/podgroups").status == 200;
    })) << group;
  }
}

void DeployTest::TearDown() {
  stop_scheduler();
  provisioner_.reset();
  if (!IsSkipped()) {
    for (const std::string& path : installed_) (void)client().del(path);
    for (const std::string& collection :
         {claims_path_of(ns()), std::string(kVolumesPath), std::string(kClassesPath),
          resource_claims_path(ns()), kResourceApi + std::string("resourceslices"),
          kResourceApi + std::string("deviceclasses")}) {
      const auto all = client().list(collection);
      if (!all) continue;
      for (const json& each : *all) {  // no controller takes the protection off
        (void)client().patch(collection + "/" + text_at(each, "/metadata/name"),
                             {{"metadata", {{"finalizers", nullptr}}}});
      }
      (void)client().del(collection + "?gracePeriodSeconds=0");
    }
    const auto leases = client().list(kLeases);
    for (const json& lease : leases.value_or(std::vector<json>{})) {
      const std::string name = text_at(lease, "/metadata/name");
      if (!name.starts_with("apiserver-")) (void)client().del(std::string(kLeases) + "/" + name);
    }
  }
  E2eTest::TearDown();
}

void DeployTest::install(const std::vector<json>& objects) {
  for (const json& object : objects) {
    const std::string collection = collection_of(object);
    const KubeReply checked =
        client().post(collection + "?dryRun=All&fieldValidation=Strict", object);
    ASSERT_EQ(checked.status, 201) << object.dump() << ": " << checked.body;
    create(collection, object);
    installed_.push_back(collection + "/" + text_at(object, "/metadata/name"));
  }
}

void DeployTest::wait_for_rights(const std::vector<json>& objects) {
  for (const json& object : objects) {
    if (object.at("kind") == "Role" &&
        object.at("rules").dump().find("leases") != std::string::npos)
      lease_namespace_ = text_at(object, "/metadata/namespace");
  }
  for (const Right& right : rights_of(objects)) {
    ASSERT_TRUE(eventually(30s, [&] { return may(right); })) << right.text();
  }
}

KubeAccess DeployTest::account() {
  KubeAccess access = cluster().admin();
  access.cert_file.clear();
  access.key_file.clear();
  const json answer = create("/api/v1/namespaces/kube-system/serviceaccounts/plimsoll/token",
                             {{"apiVersion", "authentication.k8s.io/v1"},
                              {"kind", "TokenRequest"},
                              {"spec", {{"expirationSeconds", 3600}}}});
  access.token = text_at(answer, "/status/token");
  return access;
}

ChildOptions DeployTest::deployed_command(const std::string& server) {
  const std::string kube_system = "/api/v1/namespaces/kube-system/";
  const json deployment =
      client().get("/apis/apps/v1/namespaces/kube-system/deployments/plimsoll").json();
  const json& pod = deployment.at("spec").at("template").at("spec");
  EXPECT_EQ(text_at(pod, "/serviceAccountName"), "plimsoll");
  const json& container = pod.at("containers").at(0);
  const std::string map = text_at(pod, "/volumes/0/configMap/name");
  const std::string mounted = text_at(container, "/volumeMounts/0/mountPath");
  const json data = client().get(kube_system + "configmaps/" + map).json().at("data");
  for (const auto& [file, text] : data.items()) {
    EXPECT_TRUE(write_file(folder_ / file, text.get<std::string>()));
  }
  const auto written = cluster().write_kubeconfig(
      folder_ / "kubeconfig", server.empty() ? account() : KubeAccess{.server = server});
  EXPECT_TRUE(written) << written.error().message;
  port_ = free_port().value_or(0);
  const auto program = plimsoll_program();
  EXPECT_TRUE(program) << program.error().message;
  ChildOptions options{.argv = {program ? program->string() : ""}};
  for (const json& arg : container.at("args")) {
    std::string text = replaced(arg, mounted, folder_.path().string());
    text = replaced(text, "=0.0.0.0", "=127.0.0.1");
    options.argv.push_back(replaced(text, "=10259", "=" + std::to_string(port_)));
  }
  // As on the address of a pod.
  options.argv.push_back("--secure-loopback");
  options.argv.insert(options.argv.end(), {"--kubeconfig", (folder_ / "kubeconfig").string(),
                                           "--plugin-dir", std::getenv("PLIMSOLL_PLUGIN_DIR")});
  const std::string runtime = folder_ / "run";
  std::filesystem::create_directories(runtime);
  for (const json& variable : container.at("env")) {
    options.env.emplace_back(variable.at("name"),
                             replaced(variable.at("value"), "/run/plimsoll", runtime));
  }
  return options;
}

void DeployTest::start_deployed() {
  start_command(deployed_command());
}

json DeployTest::pod(const std::string& name, const std::string& node, const Resources& requests) {
  json object = pod_object({.name = name, .scheduler = kScheduler, .requests = requests});
  object["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", node}};
  return object;
}

void DeployTest::add_volumes() {
  for (const auto& [name, driver] : {std::pair("wait", "driver.example.com"),
                                     std::pair("local", "kubernetes.io/no-provisioner")}) {
    create(kClassesPath, {{"metadata", {{"name", name}}},
                          {"provisioner", driver},
                          {"volumeBindingMode", "WaitForFirstConsumer"}});
  }
  create(kVolumesPath, {{"metadata", {{"name", "disk"}}},
                        {"spec",
                         {{"accessModes", {"ReadWriteOnce"}},
                          {"capacity", {{"storage", "1Gi"}}},
                          {"csi", {{"driver", "disk.example.com"}, {"volumeHandle", "disk"}}},
                          {"storageClassName", "local"}}}});
  change(std::string(kVolumesPath) + "/disk/status", {{"status", {{"phase", "Available"}}}});
  create(claims_path_of(ns()), claim_object("static", "local"));
  create(claims_path_of(ns()), claim_object("made", "wait"));
  provisioner_ = std::make_unique<Provisioner>(
      cluster().admin(), ns(),
      Provisioner::Classes{
          {"wait", {.driver = "driver.example.com", .label = "kubernetes.io/hostname"}}});
}

void DeployTest::add_resource_claim() {
  const std::string driver = "cards.example.com";
  create(kResourceApi + std::string("deviceclasses"),
         {{"metadata", {{"name", "cards"}}},
          {"spec",
           {{"extendedResourceName", "example.com/card"},
            {"selectors", {{{"cel", {{"expression", "device.driver == '" + driver + "'"}}}}}}}}});
  create(kResourceApi + std::string("resourceslices"),
         {{"metadata", {{"name", "cards"}}},
          {"spec",
           {{"driver", driver},
            {"nodeName", "cards"},
            {"pool", {{"name", "cards"}, {"generation", 1}, {"resourceSliceCount", 1}}},
            {"devices", {{{"name", "card-0"}}, {{"name", "card-1"}}}}}}});
  create(resource_claims_path(ns()),
         {{"metadata", {{"name", "card"}}},
          {"spec",
           {{"devices",
             {{"requests", {{{"name", "one"}, {"exactly", {{"deviceClassName", "cards"}}}}}}}}}}});
  // The claim of an attempt before: it is removed, and another is made.
  json extended = pod("extended", "cards", {{"cpu", "1"}, {"example.com/card", "1"}});
  extended["spec"]["schedulingGates"] = {{{"name", "example.com/wait"}}};
  const json created = create(pods_path(), extended);
  create(resource_claims_path(ns()),
         {{"metadata",
           {{"name", "stale"},
            {"annotations", {{"resource.kubernetes.io/extended-resource-claim", "true"}}},
            {"ownerReferences",
             {{{"apiVersion", "v1"},
               {"kind", "Pod"},
               {"name", "extended"},
               {"uid", text_at(created, "/metadata/uid")},
               {"controller", true}}}}}},
          {"spec",
           {{"devices",
             {{"requests", {{{"name", "one"}, {"exactly", {{"deviceClassName", "cards"}}}}}}}}}}});
  change(pods_path("extended"), {{"spec", {{"schedulingGates", nullptr}}}});
}

void DeployTest::give_work() {
  for (const char* name : {"n", "full", "cards"}) {
    json node = node_object(
        name, {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "20"}, {"koordinator.sh/gpu", "100"}});
    node["metadata"]["labels"]["kubernetes.io/hostname"] = name;
    create(kNodes, node);
  }
  const Resources zone{{"cpu", "4"}, {"memory", "8Gi"}};
  create(kNrts, nrt_object({.node = "n", .zones = {zone, zone}}));
  create(kDevices, device_object("n", {gpu_device(0, 0)}));
  add_volumes();

  const Resources small{{"cpu", "1"}, {"memory", "1Gi"}};
  create(pods_path(), pod("aligned", "n", small));
  create(pods_path(),
         pod("with-gpu", "n", {{"cpu", "1"}, {"memory", "1Gi"}, {"koordinator.sh/gpu", "100"}}));
  json storing = pod("storing", "n", small);
  for (const char* claim : {"static", "made"}) add_claim_to(storing, claim);
  create(pods_path(), storing);
  add_resource_claim();
  json claiming = pod("claiming", "cards", small);
  claiming["spec"]["resourceClaims"] = {{{"name", "card"}, {"resourceClaimName", "card"}}};
  create(pods_path(), claiming);
  for (const auto& [name, label] : {std::pair("member", "scheduling.x-k8s.io/pod-group"),
                                    std::pair("older", "pod-group.scheduling.sigs.k8s.io")}) {
    json member = pod(name, "n", small);
    member["metadata"]["labels"][label] = "nobody-made-it";
    create(pods_path(), member);
  }
  // The empty node would hold it, so pods that go are reason to try it again.
  create(pods_path(), pod("too-big", "n", {{"cpu", "8"}, {"memory", "1Gi"}}));

  json victim = pod("victim", "full", {{"cpu", "6"}, {"memory", "1Gi"}});
  victim["spec"]["schedulerName"] = "somebody-else";
  create(pods_path(), victim);
  create(pods_path() + "/victim/binding", binding_object("victim", "full"));
  json urgent = pod("urgent", "full", {{"cpu", "6"}, {"memory", "1Gi"}});
  urgent["spec"]["priorityClassName"] = "urgent";
  create(pods_path(), urgent);
}

void DeployTest::expect_work_done() {
  EXPECT_EQ(wait_bound("aligned"), "n");
  EXPECT_FALSE(texts_at(client().get(pods_path("aligned")).json(),
                        "/metadata/annotations")["topology.plimsoll.io/zones"]
                   .empty());
  EXPECT_NE(wait_event("aligned", "Scheduled"), "");
  EXPECT_EQ(wait_bound("with-gpu"), "n");
  EXPECT_FALSE(texts_at(client().get(pods_path("with-gpu")).json(),
                        "/metadata/annotations")["scheduling.koordinator.sh/device-allocated"]
                   .empty());
  EXPECT_EQ(wait_bound("storing", 60s), "n");
  EXPECT_EQ(wait_bound("claiming"), "cards") << wait_refused("claiming");
  EXPECT_EQ(wait_bound("extended", 60s), "cards") << wait_refused("extended");
  EXPECT_NE(wait_refused("too-big"), "");
  // Nobody has made their groups.
  for (const char* member : {"member", "older"})
    EXPECT_FALSE(client().get(pods_path(member)).json()["spec"].contains("nodeName")) << member;
  EXPECT_TRUE(eventually(60s, [&] {  // its kubelet would let it end
    return client().get(pods_path("victim")).json()["metadata"].contains("deletionTimestamp");
  }));
  EXPECT_NE(wait_event("victim", "Preempted"), "");
  remove(pods_path("victim"));
  EXPECT_EQ(wait_bound("urgent"), "full");
  // The same event once more is a patch of the first.
  EXPECT_TRUE(eventually(60s, [&] {
    stir();
    const auto told = events("too-big", "FailedScheduling");
    return !told.empty() && told.front()["series"].is_object();
  }));
}

void DeployTest::stir() {
  json passing = pod("passing", "n", {{"cpu", "1"}, {"memory", "1Gi"}});
  passing["spec"]["schedulerName"] = "somebody-else";
  passing["spec"]["nodeName"] = "n";
  create(pods_path(), passing);
  remove(pods_path("passing"));
}

WebAnswer DeployTest::scrape() {
  return web_request(
      "GET", "https://127.0.0.1:" + std::to_string(port_) + "/metrics", {}, {},
      {.headers = {"Authorization: Bearer " + account().token}, .trusts_anybody = true});
}

bool DeployTest::may(const Right& right) {
  const std::size_t slash = std::min(right.resource.find('/'), right.resource.size());
  json attributes = {{"verb", right.verb},
                     {"group", right.group},
                     {"resource", right.resource.substr(0, slash)},
                     {"name", right.name}};
  if (slash != right.resource.size()) attributes["subresource"] = right.resource.substr(slash + 1);
  if (right.resource == "leases") attributes["namespace"] = lease_namespace_;
  if (right.resource == "configmaps") attributes["namespace"] = kHome;
  const json answer = create(
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      {{"apiVersion", "authorization.k8s.io/v1"},
       {"kind", "SubjectAccessReview"},
       {"spec",
        {{"user", kAccount},
         {"groups",
          {"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}},
         {"resourceAttributes", attributes}}}});
  return answer.at("status").value("allowed", false);
}

}  // namespace plimsoll::test
