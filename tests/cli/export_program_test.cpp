// What `plimsoll export` writes is the cluster that it was made of, as far as decisions go.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "config/manifest.hpp"
#include "sandbox/apiserver/api_server.hpp"
#include "sandbox/apiserver/cluster_loader.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kSample = "examples/clusters/quickstart/";

// The sample cluster with its waiting pods, served.
class PlimsollExport : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> texts;
    for (const char* file : {"cluster.yaml", "pods.yaml"}) {
      const auto objects = config::load_manifests(kSample + file);
      ASSERT_TRUE(objects) << objects.error().message;
      for (const auto& object : *objects) texts.push_back(object.json);
    }
    // In the order in which an API server lists them: in it pods of one second get their turn.
    json items = json::array();
    for (const std::string& text : texts) items.push_back(json::parse(text));
    std::stable_sort(items.begin(), items.end(), [](const json& a, const json& b) {
      const auto place = [](const json& object) {
        const json& metadata = object.at("metadata");
        return std::pair(metadata.value("namespace", ""), metadata.value("name", ""));
      };
      return place(a) < place(b);
    });
    const std::string original =
        json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump();
    ASSERT_TRUE(write_file(dir_ / "original.json", original));
    // Created in this order, too: the second may change meanwhile.
    const auto loaded = sandbox::load_cluster(store_, {original});
    ASSERT_TRUE(loaded) << loaded.error().message;
    server_ = std::move(sandbox::ApiServer::start(store_).value());
    ASSERT_TRUE(write_file(dir_ / "kubeconfig",
                           "current-context: c\nclusters: [{name: k, cluster: {server: '" +
                               server_->url() +
                               "'}}]\nusers: [{name: u, user: {}}]\n"
                               "contexts: [{name: c, context: {cluster: k, user: u}}]\n"));
  }

  Finished plimsoll(std::vector<std::string> arguments) {
    ChildOptions options;
    options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/plimsoll"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.stderr_file = dir_ / "stderr";
    auto done = run(options, 120s);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Finished{};
  }
  Finished exported(const std::string& file, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"export", "--kubeconfig", path("kubeconfig"), "-o",
                                       path(file)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return plimsoll(std::move(arguments));
  }
  // The result of a simulation of what was exported.
  json simulated(const std::string& file) {
    const Finished done = plimsoll({"simulate", "--config", "examples/profiles/topology.yaml",
                                    "--cluster", path(file), "-o", "json"});
    EXPECT_EQ(done.status.code, 0) << done.err;
    return json::parse(done.out, nullptr, false);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir_ / name).string(); }
  TempDir dir_;
  sandbox::ObjectStore store_;
  std::unique_ptr<sandbox::ApiServer> server_;
};

TEST_F(PlimsollExport, IsSimulatedLikeTheClusterItself) {
  const Finished done = exported("cluster.json");
  ASSERT_EQ(done.status.code, 0) << done.err;
  EXPECT_EQ(server_->writes(), 0U) << "an export only reads";
  EXPECT_THAT(done.err, HasSubstr("exported "));
  const json first = simulated("cluster.json");
  ASSERT_GT(first.value("bound", 0), 0);
  EXPECT_EQ(first.at("pods"), simulated("original.json").at("pods"));

  // The same cluster from its own export, once more: nothing was lost on the way.
  ASSERT_EQ(exported("again.json").status.code, 0);
  EXPECT_EQ(read_file(dir_ / "again.json").value(), read_file(dir_ / "cluster.json").value());
}

// Each pod has another name, and its place is the same.
TEST_F(PlimsollExport, AnAnonymousOneHasTheSamePlacements) {
  ASSERT_TRUE(sandbox::load_cluster(store_, {R"({"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7,
     "metadata": {"name": "before-christmas"}, "description": "what our-shop needs"},
    {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "our-runtime"},
     "handler": "our-shop", "overhead": {"podFixed": {"cpu": "250m"}},
     "scheduling": {"nodeSelector": {"our-shop/pool": "our-shop"}}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pays"}, "spec": {
     "containers": [], "priorityClassName": "before-christmas", "affinity": {"podAffinity": {
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {
       "topologyKey": "kubernetes.io/hostname", "mismatchLabelKeys": ["our-shop/owner"]}}]}}}}]})"}));
  ASSERT_EQ(exported("cluster.json").status.code, 0);
  ASSERT_EQ(exported("anonymous.json", {"--anonymise"}).status.code, 0);
  const std::string text = read_file(dir_ / "anonymous.json").value();
  const json open = json::parse(read_file(dir_ / "cluster.json").value());
  for (const json& object : open.at("items")) {
    const std::string name = object.at("metadata").at("name");
    EXPECT_THAT(text, Not(HasSubstr('"' + name + '"'))) << object.at("kind");
  }
  EXPECT_THAT(text, Not(HasSubstr("our-")));
  EXPECT_THAT(text, HasSubstr(R"("cpu": "250m")"));
  const json want = simulated("cluster.json"), have = simulated("anonymous.json");
  EXPECT_EQ(have.value("bound", -1), want.value("bound", 0));
  EXPECT_EQ(have.at("kubelets").at("rejected"), want.at("kubelets").at("rejected"));
}

// Half a cluster would be simulated as if it were a whole one.
TEST_F(PlimsollExport, WritesNothingWhereAKindCannotBeRead) {
  sandbox::Fault refused;
  refused.verb = "list";
  refused.resource = "pods";
  refused.count = 1000;
  refused.status = {403, "Forbidden", "pods is forbidden"};
  server_->inject(refused);
  const Finished done = exported("cluster.json");
  EXPECT_EQ(done.status.code, 1);
  EXPECT_THAT(done.err, HasSubstr("listing pods: the API server answered 403 (pods is forbidden)"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "cluster.json"));
}

}  // namespace
}  // namespace plimsoll::test
