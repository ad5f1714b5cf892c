// What the sandbox's API server makes of new objects is what a real one makes of them: which it
// refuses, and what the others become. Where they differ is listed in admission_differences.txt,
// with the reason.

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "framework/api/quantity.hpp"
#include "lab/sandbox/apiserver/api_handler.hpp"
#include "tests/kube/admission_corpus.hpp"
#include "tests/kube/kube_client.hpp"
#include "tests/kube/kube_test.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

// A difference that is known: a regular expression for all of "Kind path: how", and why it is left.
struct Known {
  std::regex where;
  std::string text;
  std::string reason;
  int seen = 0;
};

// A line "- reason" stands before the expressions that it is the reason for.
std::vector<Known> read_known() {
  std::vector<Known> known;
  std::ifstream file("tests/kube/admission_differences.txt");
  std::string reason;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("- ")) {
      reason = line.substr(2);
    } else if (!line.empty() && !line.starts_with('#')) {
      known.push_back({std::regex(line), line, reason});
    }
  }
  return known;
}

struct Answer {
  long code = 0;
  json body;
  [[nodiscard]] bool ok() const { return code < 300; }
};

class AdmissionTest : public KubeTest {
 protected:
  // There are no service accounts, and no volume for their tokens. The sandbox knows PodGroups.
  static void SetUpTestSuite() {
    options().apiserver_flags = {"--disable-admission-plugins=ServiceAccount",
                                 "--feature-gates=GenericWorkload=true",
                                 "--runtime-config=scheduling.k8s.io/v1beta1=true"};
  }

  void SetUp() override {
    KubeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(cluster().admin());
    for (const CorpusObject& each : corpus_scene()) {
      const KubeReply made = client_->post(each.collection, each.object);
      ASSERT_TRUE(made.ok() || made.reason() == "AlreadyExists") << made.body;
      const Answer ours = ask_ours(each);
      ASSERT_TRUE(ours.ok()) << ours.body;
      if (each.kind == "ResourceQuota") count_quota(each);
    }
    end_namespace();
    wait_for_scene();
  }

  // Nobody empties it, so it stays.
  void end_namespace() {
    ASSERT_TRUE(client_->del("/api/v1/namespaces/going").ok());
    ASSERT_TRUE(store_.modify(sandbox::kNamespaces, {"", "going"}, {},
                              [](json& ns) -> sandbox::ApiResult<void> {
                                ns["status"]["phase"] = "Terminating";
                                return {};
                              }));
  }

  // What a quota controller would do.
  void count_quota(const CorpusObject& each) {
    const std::string path = each.collection + "/" + each.object["metadata"].value("name", "");
    json quota = client_->get(path).json();
    for (const auto& [name, hard] : quota["spec"]["hard"].items()) {
      quota["status"]["hard"][name] = hard;
      quota["status"]["used"][name] = "0";
    }
    const KubeReply put = client_->put(path + "/status", quota);
    ASSERT_TRUE(put.ok()) << put.body;
  }

  // The plugins of kube-apiserver hear of the scene by watches.
  void wait_for_scene() {
    const auto pod = [](const char* ns, const json& spec) {
      json object{{"metadata", {{"name", "p"}}}, {"spec", spec}};
      object["spec"]["containers"] = json::array({{{"name", "c"}, {"image", "x"}}});
      return CorpusObject{"/api/v1/namespaces/" + std::string(ns) + "/pods", "Pod", object};
    };
    const auto has = [&](const CorpusObject& each, const char* pointer, const json& value) {
      return ask_real(each).body.value(json::json_pointer(pointer), json()) == value;
    };
    const CorpusObject claim{
        "/api/v1/namespaces/plain/persistentvolumeclaims", "PersistentVolumeClaim",
        json::parse(R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1Gi"}}}})")};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      if (has(pod("plain", {{"priorityClassName", "high"}}), "/spec/priority", 1000) &&
          has(pod("plain", json::object()), "/spec/priority", 7) &&
          has(pod("plain", {{"runtimeClassName", "kata"}}), "/spec/overhead/cpu", "250m") &&
          has(pod("plain", {{"nodeName", "node"}}), "/metadata/labels/topology.kubernetes.io~1zone",
              "z") &&
          has(pod("limited", json::object()), "/spec/containers/0/resources/limits/cpu", "400m") &&
          has(pod("roomy", json::object()), "/spec/containers/0/resources/limits/memory", "1Gi") &&
          has(pod("going", json::object()), "/code", 403) &&
          has(pod("full", json::object()), "/code", 403) &&
          has(claim, "/spec/storageClassName", "fast")) {
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    FAIL() << "kube-apiserver does not admit by the classes and quotas that it has";
  }

  Answer ask_real(const CorpusObject& each) {
    const KubeReply reply = client_->post(each.collection + "?dryRun=All", each.object);
    return {reply.status, reply.json()};
  }
  // Nothing stays, as of a dry run.
  Answer try_ours(const CorpusObject& each) {
    Answer answer = ask_ours(each);
    if (!answer.ok()) return answer;
    const sandbox::Route route = sandbox::parse_route("POST", each.collection);
    const json& metadata = answer.body["metadata"];
    EXPECT_TRUE(store_.remove({route.group, route.plural},
                              {metadata.value("namespace", ""), metadata.value("name", "")}, {}));
    return answer;
  }
  Answer ask_ours(const CorpusObject& each) {
    sandbox::ApiRequest request{"POST", each.collection, "application/json", each.object.dump()};
    const auto answer = handler_.handle(sandbox::parse_route("POST", each.collection), request);
    const auto& response = std::get<sandbox::ApiResponse>(answer);
    return {response.code, json::parse(response.body, nullptr, false)};
  }

  void compare(const CorpusObject& each) {
    const Answer real = ask_real(each);
    const Answer ours = try_ours(each);
    ASSERT_NE(real.code, 0) << real.body;
    ++objects_;
    now_ = &each;
    if (real.ok() && ours.ok()) {
      look(each.kind, normal(real.body), normal(ours.body));
    } else if (real.ok()) {
      const std::string message = ours.body.value("message", "");
      const std::size_t why = message.find(" is invalid: ");
      note(each.kind + ": only the sandbox refuses it: " +
           general(why == std::string::npos ? message : message.substr(why + 13)));
    } else if (ours.ok()) {
      for (const std::string& cause : causes_of(real.body)) note(each.kind + cause);
    } else {
      ++refused_;
      if (real.code != ours.code) {
        note(each.kind + causes_of(real.body)[0] + ": refused with " + std::to_string(ours.code) +
             " instead of " + std::to_string(real.code));
      } else if (real.code == 403 && real.body["message"] != ours.body["message"]) {
        note(each.kind + ": another text: " + real.body.value("message", ""));
      }
    }
  }

  // " spec.containers[].name: taken instead of Required value", one for each cause.
  static std::vector<std::string> causes_of(const json& status) {
    std::vector<std::string> causes;
    const std::string taken = ": only kube-apiserver refuses it: ";
    const json details = status.value("details", json::object());
    for (const json& cause : details.value("causes", json::array())) {
      causes.push_back(" " + general(cause.value("field", "")) + taken + cause.value("reason", ""));
    }
    std::smatch field;
    const std::string message = status.value("message", "");
    if (causes.empty() && std::regex_search(message, field, std::regex("Go struct field ([^ ]+)")))
      causes.push_back(" " + general(field[1].str()) + taken + "its type");
    if (causes.empty()) causes.push_back(taken + message);
    return causes;
  }
  static std::string general(const std::string& path) {
    const std::string listed = std::regex_replace(path, std::regex(R"(\[\d+\])"), "[]");
    return std::regex_replace(listed, std::regex("initContainers"), "containers");
  }

  // Without what every object has of its own, and without what a decoder takes for missing.
  static json normal(json object) {
    for (const char* own : {"uid", "resourceVersion", "creationTimestamp", "managedFields"})
      object["metadata"].erase(own);
    drop_empty(object);
    if (object["metadata"].contains("generateName")) object["metadata"].erase("name");
    return object;
  }
  static bool is_empty(const json& value) {
    return value.is_null() || value == false || value == "" || value == json::array() ||
           value == json::object();
  }
  static void drop_empty(json& value, const std::string& name = "") {  // NOLINT(misc-no-recursion)
    static const std::set<std::string> kSaysMuch{
        "selector", "labelSelector", "namespaceSelector", "nodeTopology", "emptyDir", "preference"};
    static const std::set<std::string> kMapsOfTexts{"labels",      "annotations", "nodeSelector",
                                                    "matchLabels", "selector",    "parameters"};
    if (value.is_array()) {
      for (json& each : value) {
        drop_empty(each);
        if (is_empty(each)) each = nullptr;
      }
    }
    if (!value.is_object()) return;
    for (auto each = value.begin(); each != value.end();) {
      drop_empty(*each, each.key());
      const bool says = (each->is_object() && kSaysMuch.contains(each.key())) ||
                        (each->is_string() && kMapsOfTexts.contains(name));
      each = is_empty(*each) && !says ? value.erase(each) : std::next(each);
    }
  }
  // An object that is missing lacks each of the other's members.
  static const json& missing_beside(const json& other) {
    static const json kNull;
    static const json kEmpty = json::object();
    return other.is_object() && !other.empty() ? kEmpty : kNull;
  }
  static bool equal(const json& a, const json& b) {
    if (a == b) return true;
    const auto x = Quantity::parse_json(a.dump());
    const auto y = Quantity::parse_json(b.dump());
    return x && y && x->cmp(*y) == 0;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void look(const std::string& path, const json& real, const json& ours) {
    if (real.is_object() && ours.is_object()) {
      std::set<std::string> names;
      for (const auto& [name, value] : real.items()) names.insert(name);
      for (const auto& [name, value] : ours.items()) names.insert(name);
      for (const std::string& name : names) {
        const std::string here = path + (path == now_->kind ? " " : ".") +
                                 (name == "initContainers" ? "containers" : name);
        const json& a = real.contains(name) ? real[name] : missing_beside(ours[name]);
        const json& b = ours.contains(name) ? ours[name] : missing_beside(real[name]);
        if (!a.is_null() && !b.is_null()) {
          look(here, a, b);
          continue;
        }
        ++fields_;
        note(here + (a.is_null() ? ": only the sandbox has it" : ": only kube-apiserver sets it"));
      }
    } else if (real.is_array() && ours.is_array() && real.size() == ours.size()) {
      for (std::size_t i = 0; i < real.size(); ++i) look(path + "[]", real[i], ours[i]);
    } else {
      ++fields_;
      if (!equal(real, ours)) note(path + ": differs");
    }
  }

  void note(const std::string& difference) {
    ++differences_;
    for (Known& each : known_) {
      if (!std::regex_match(difference, each.where)) continue;
      ++each.seen;
      return;
    }
    auto& [count, example] = unknown_[difference];
    if (++count == 1) example = now_->object.dump();
  }

  std::optional<KubeClient> client_;
  sandbox::ObjectStore store_;
  sandbox::ApiHandler handler_{store_, {}};
  const CorpusObject* now_ = nullptr;
  int objects_ = 0;
  int refused_ = 0;
  int fields_ = 0;
  int differences_ = 0;
  std::vector<Known> known_ = read_known();
  std::map<std::string, std::pair<int, std::string>> unknown_;
};

TEST_F(AdmissionTest, IsThatOfARealServer) {
  for (const auto& corpus : {example_corpus(), random_corpus(1, 40)}) {
    for (const CorpusObject& each : corpus) compare(each);
  }
  std::printf("%d objects, of which both refuse %d; %d fields of the others; %d differences\n",
              objects_, refused_, fields_, differences_);
  std::string reason;
  for (const Known& each : known_) {
    if (each.reason != reason) std::printf("%s\n", each.reason.c_str());
    reason = each.reason;
    std::printf("%7d  %s\n", each.seen, each.text.c_str());
    EXPECT_GT(each.seen, 0) << "this difference is no more: " << each.text;
  }
  for (const auto& [difference, times] : unknown_) {
    ADD_FAILURE() << difference << " (" << times.first << "), such as " << times.second;
  }
}

}  // namespace
}  // namespace plimsoll::test
