// The role that we ship is enough for all that the scheduler does, and each of its rights is
// needed.

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>

#include "tests/deploy/deploy_test.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RightsTest : public DeployTest {
 public:
  // A server that streams lists needs no right to list; older ones do.
  static void SetUpTestSuite() {
    DeployTest::SetUpTestSuite();
    for (const char* flag : {"--feature-gates=WatchList=false,GenericWorkload=true",
                             "--runtime-config=scheduling.k8s.io/v1beta1=true",
                             // No controller takes the protection of groups off.
                             "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,"
                             "StorageObjectInUseProtection,PodGroupProtection"}) {
      options().apiserver_flags.emplace_back(flag);
    }
  }

 protected:
  void give_all_work() {
    give_work();
    create("/apis/scheduling.k8s.io/v1beta1/namespaces/" + ns() + "/podgroups",
           {{"metadata", {{"name", "crew"}}},
            {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", 1}}}}}}}});
    json member = pod_object({.name = "in-crew",
                              .scheduler = kScheduler,
                              .requests = {{"cpu", "1"}, {"memory", "1Gi"}}});
    member["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "n"}};
    member["spec"]["schedulingGroup"] = {{"podGroupName", "crew"}};
    create(pods_path(), member);
  }
};

TEST_F(RightsTest, TheWholeWorkIsAllowed) {
  const std::vector<json> base = base_objects();
  ASSERT_NO_FATAL_FAILURE(install(base));
  ASSERT_NO_FATAL_FAILURE(wait_for_rights(base));
  const std::size_t from = audit().size();
  ASSERT_NO_FATAL_FAILURE(start_deployed());
  give_all_work();
  expect_work_done();
  EXPECT_EQ(wait_bound("in-crew"), "n") << wait_refused("in-crew");
  EXPECT_NE(
      client().get(kLeases + std::string("/plimsoll")).json()["spec"].value("holderIdentity", ""),
      "");
  EXPECT_EQ(scrape().status, 403) << "it asked who we are, and what we may";
  EXPECT_THAT(log(), Not(HasSubstr("forbidden: User")));
  // Without leader election it keeps a mark instead.
  stop_scheduler();
  ChildOptions alone = deployed_command();
  std::ranges::replace(alone.argv, "--leader-elect=true", "--leader-elect=false");
  ASSERT_NO_FATAL_FAILURE(start_command(alone));
  const std::string mark = kLeases + std::string("/plimsoll-") + kScheduler;
  EXPECT_TRUE(eventually(30s, [&] { return client().get(mark).status == 200; }));
  EXPECT_THAT(log(), Not(HasSubstr("forbidden: User")));
  EXPECT_THAT(audit().forbidden(kAccount, from), IsEmpty());
}

std::string test_name(const Right& right) {
  std::string name = right.text();
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class WithoutARightTest : public RightsTest, public testing::WithParamInterface<Right> {
 protected:
  // The base, with roles that have all its rights but one.
  static std::vector<json> base_without(const Right& taken) {
    std::vector<json> objects = base_objects();
    for (json& object : objects) {
      if (!object.contains("rules")) continue;
      const std::vector<Right> rights = rights_of({object});
      json& rules = object["rules"] = json::array();
      for (const Right& right : rights) {
        if (right.text() == taken.text()) continue;
        json rule{
            {"apiGroups", {right.group}}, {"resources", {right.resource}}, {"verbs", {right.verb}}};
        if (!right.name.empty()) rule["resourceNames"] = {right.name};
        rules.push_back(rule);
      }
    }
    return objects;
  }
};

TEST_P(WithoutARightTest, ItIsMissed) {
  const Right& taken = GetParam();
  const std::vector<json> objects = base_without(taken);
  ASSERT_EQ(rights_of(objects).size() + 1, rights_of(base_objects()).size());
  ASSERT_NO_FATAL_FAILURE(install(objects));
  ASSERT_NO_FATAL_FAILURE(wait_for_rights(objects));
  ASSERT_TRUE(eventually(30s, [&] { return !may(taken); }));
  const std::size_t from = audit().size();
  // A pod is read when it has changed since it was decided on.
  auto proxy = ApiProxy::start(account());
  ASSERT_TRUE(proxy) << proxy.error().message;
  // So is a claim that has changed since its devices were chosen.
  const bool reads_pod = taken.text() == "get pods";
  const bool reads_claim = taken.text() == "get resourceclaims.resource.k8s.io";
  const bool reads = reads_pod || reads_claim;
  if (reads_pod) (*proxy)->hold(ApiProxy::What::kRequest, "POST", "/aligned/binding");
  if (reads_claim) (*proxy)->hold(ApiProxy::What::kRequest, "PATCH", "/resourceclaims/card");
  ChildOptions command = deployed_command(reads ? (*proxy)->server() : "");
  if (taken.resource == "leases" && taken.name.starts_with("plimsoll-")) {
    std::ranges::replace(command.argv, "--leader-elect=true", "--leader-elect=false");
    create(kLeases, {{"metadata", {{"name", taken.name}}}});  // the mark of an earlier start
  }
  auto started = ChildProcess::start(command);
  ASSERT_TRUE(started) << started.error().message;
  give_all_work();
  if (reads) {
    ASSERT_TRUE((*proxy)->wait_held(30s)) << tail(started->output(), 30);
    const std::string changed =
        reads_pod ? pods_path("aligned")
                  : "/apis/resource.k8s.io/v1/namespaces/" + ns() + "/resourceclaims/card";
    change(changed, {{"metadata", {{"labels", {{"changed", "meanwhile"}}}}}});
    EXPECT_TRUE((*proxy)->pass_on(30s));
  }
  // The API server asks for it beside the right to the status, and says so in an answer of its own.
  if (taken.resource == "resourceclaims/binding") {
    EXPECT_TRUE(eventually(60s,
                           [&] {
                             return wait_refused("claiming").find("resourceclaims/binding") !=
                                    std::string::npos;
                           }))
        << wait_refused("claiming") << tail(started->output(), 30);
    return;
  }
  EXPECT_TRUE(eventually(60s, [&] {
    stir();
    (void)scrape();
    return !audit().forbidden(kAccount, from).empty();
  })) << tail(started->output(), 30);
  if (taken.name == "plimsoll") {  // nobody leads for long, and the log says why
    EXPECT_TRUE(started->wait_for_output("the leader lease is refused", 30s)) << started->output();
  }
  const std::string text = taken.text().substr(0, taken.text().find(" ("));
  EXPECT_THAT(audit().forbidden(kAccount, from), ElementsAre(text));
}

INSTANTIATE_TEST_SUITE_P(Rights, WithoutARightTest, testing::ValuesIn(rights_of(base_objects())),
                         [](const auto& each) { return test_name(each.param); });

}  // namespace
}  // namespace plimsoll::test
