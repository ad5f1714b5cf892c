#include "tests/sandbox/controllers_test.hpp"

namespace plimsoll::sandbox {
namespace {

class ClaimControllerTest : public ControllersTest {
 protected:
  void add_template(const std::string& name) {
    add(kResourceClaimTemplates,
        {{"metadata", {{"name", name}, {"namespace", "team"}}},
         {"spec",
          {{"metadata", {{"labels", {{"of", name}}}}},
           {"spec",
            {{"devices",
              {{"requests", {{{"name", "r"}, {"exactly", {{"deviceClassName", "gpu"}}}}}}}}}}}}});
  }
  void add_pod(const std::string& name, const json& claims) {
    add(kPods, {{"metadata", {{"name", name}, {"namespace", "team"}, {"uid", name + "-uid"}}},
                {"spec", {{"resourceClaims", claims}}}});
  }
  // Of the pod's first claim; empty: it has not been told.
  std::string told(const std::string& name) {
    const json pod = get(kPods, {"team", name});
    const json::json_pointer at("/status/resourceClaimStatuses/0/resourceClaimName");
    return pod.contains(at) ? pod.at(at).get<std::string>() : "";
  }
  void reserve(const std::string& claim, const std::vector<std::string>& pods) {
    change(kResourceClaims, {"team", claim}, [&](json& now) {
      now["metadata"]["finalizers"] = {"resource.kubernetes.io/delete-protection"};
      now["status"]["allocation"] = {{"devices", json::object()}};
      for (const std::string& pod : pods) {
        now["status"]["reservedFor"].push_back(
            {{"resource", "pods"}, {"name", pod}, {"uid", pod + "-uid"}});
      }
    });
  }
};

TEST_F(ClaimControllerTest, APodOfATemplateGetsAClaimThatGoesWithIt) {
  add_pod("early", {{{"name", "gpu"}, {"resourceClaimTemplateName", "one"}}});
  SimulatedControllers controllers(store_);
  EXPECT_EQ(told("early"), "");
  add_template("one");
  ASSERT_TRUE(eventually([&] { return !told("early").empty(); })) << "the template came later";
  const std::string name = told("early");
  const json claim = get(kResourceClaims, {"team", name});
  EXPECT_EQ(claim["metadata"]["ownerReferences"][0]["uid"], "early-uid");
  EXPECT_EQ(claim["metadata"]["labels"]["of"], "one");
  EXPECT_EQ(claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"], "gpu");
  reserve(name, {"early"});
  ASSERT_TRUE(store_.remove(kPods, {"team", "early"}));
  EXPECT_TRUE(eventually([&] { return get(kResourceClaims, {"team", name}).is_null(); }));
}

TEST_F(ClaimControllerTest, DevicesAreFreeOnceTheLastPodHasEnded) {
  add(kResourceClaims, {{"metadata", {{"name", "shared"}, {"namespace", "team"}}}});
  for (const char* pod : {"a", "b"}) {
    add_pod(pod, {{{"name", "gpu"}, {"resourceClaimName", "shared"}}});
  }
  reserve("shared", {"a", "b"});
  SimulatedControllers controllers(store_);
  change(kPods, {"team", "a"}, [](json& now) { now["status"]["phase"] = "Succeeded"; });
  const auto status = [&] { return get(kResourceClaims, {"team", "shared"})["status"]; };
  ASSERT_TRUE(eventually([&] { return status()["reservedFor"].size() == 1; }));
  EXPECT_TRUE(status().contains("allocation"));
  ASSERT_TRUE(store_.remove(kPods, {"team", "b"}));
  EXPECT_TRUE(eventually([&] { return !status().contains("allocation"); }));
  EXPECT_FALSE(status().contains("reservedFor"));
  EXPECT_TRUE(get(kResourceClaims, {"team", "shared"})["metadata"]["finalizers"].empty());
}

}  // namespace
}  // namespace plimsoll::sandbox
