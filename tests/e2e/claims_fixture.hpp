#pragma once
// The base of the suites with resource claims: one class of devices, "cards", and what a driver
// publishes. No controller takes care of claims but the test.

#include <set>
#include <string>

#include "tests/e2e/e2e_test.hpp"
#include "tests/e2e/facts.hpp"

namespace plimsoll::test {

inline constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";
inline constexpr const char* kDeviceClasses = "/apis/resource.k8s.io/v1/deviceclasses";
inline constexpr const char* kCardDriver = "cards.example.com";

class ClaimsFixture : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const std::string expression = std::string("device.driver == '") + kCardDriver + "'";
    create(kDeviceClasses, {{"metadata", {{"name", "cards"}}},
                            {"spec", {{"selectors", {{{"cel", {{"expression", expression}}}}}}}}});
    is_set_up_ = true;
  }
  // Also where the test itself was skipped.
  void TearDown() override {
    if (is_set_up_) {
      stop_scheduler();
      if (const auto all = client().list(claims())) {
        for (const nlohmann::json& each : *all) {  // no controller takes the protection off
          (void)client().patch(claim_path(text_at(each, "/metadata/name")),
                               {{"metadata", {{"finalizers", nullptr}}}});
        }
      }
      for (const std::string& collection :
           {claims(), std::string(kSlices), std::string(kDeviceClasses)}) {
        (void)client().del(collection + "?gracePeriodSeconds=0");
      }
    }
    E2eTest::TearDown();
  }

  [[nodiscard]] std::string claims() const {
    return "/apis/resource.k8s.io/v1/namespaces/" + ns() + "/resourceclaims";
  }
  [[nodiscard]] std::string claim_path(const std::string& name) const {
    return claims() + "/" + name;
  }
  void add_slice(const std::string& node, const nlohmann::json& devices) {
    create(kSlices, {{"metadata", {{"name", node + "-cards"}}},
                     {"spec",
                      {{"driver", kCardDriver},
                       {"nodeName", node},
                       {"pool", {{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
                       {"devices", devices}}}});
  }
  // Of a claim for so many cards.
  static nlohmann::json claim_spec(int count) {
    return {
        {"devices",
         {{"requests",
           {{{"name", "card"}, {"exactly", {{"deviceClassName", "cards"}, {"count", count}}}}}}}}};
  }

  // One round of the claim controller and the garbage collector: makes claims of templates, and
  // takes back what pods that are gone had. Claims are read first: a pod that one of them names was
  // there before.
  void control(KubeClient& own) {
    const auto all = own.list(claims());
    const auto pods = own.list(pods_path());
    if (!all || !pods) return;  // the next round tries again
    std::set<std::string> uids;
    for (const nlohmann::json& pod : *pods) {
      uids.insert(text_at(pod, "/metadata/uid"));
      if (value_at(pod, "/status/resourceClaimStatuses").is_null()) make_claims(own, pod);
    }
    for (const nlohmann::json& claim : *all) take_back(own, claim, uids);
  }

  void make_claims(KubeClient& own, const nlohmann::json& pod) {
    nlohmann::json statuses = nlohmann::json::array();
    for (const nlohmann::json& entry : value_at(pod, "/spec/resourceClaims")) {
      const std::string from = entry.value("resourceClaimTemplateName", "");
      if (from.empty()) continue;
      nlohmann::json metadata{
          {"name", text_at(pod, "/metadata/name") + "-" + text_at(entry, "/name")}};
      metadata["annotations"]["resource.kubernetes.io/pod-claim-name"] = entry["name"];
      metadata["ownerReferences"] = {{{"apiVersion", "v1"},
                                      {"kind", "Pod"},
                                      {"name", pod["metadata"]["name"]},
                                      {"uid", pod["metadata"]["uid"]},
                                      {"controller", true}}};
      (void)own.post(claims(), {{"metadata", metadata}, {"spec", claim_spec(from.back() - '0')}});
      statuses.push_back({{"name", entry["name"]}, {"resourceClaimName", metadata["name"]}});
    }
    if (statuses.empty()) return;
    (void)own.patch(pods_path(text_at(pod, "/metadata/name")) + "/status",
                    {{"status", {{"resourceClaimStatuses", statuses}}}});
  }

  // The reservations of pods that are gone, then the devices, then what these pods owned.
  void take_back(KubeClient& own, const nlohmann::json& claim, const std::set<std::string>& pods) {
    const std::string path = claim_path(text_at(claim, "/metadata/name"));
    const nlohmann::json reserved = value_at(claim, "/status/reservedFor");
    nlohmann::json users = nlohmann::json::array();
    for (const nlohmann::json& user : reserved) {
      if (pods.contains(user["uid"])) users.push_back(user);
    }
    nlohmann::json seen{{"resourceVersion", claim["metadata"]["resourceVersion"]}};
    if (users.size() < reserved.size()) {
      nlohmann::json status{{"reservedFor", users}};
      if (users.empty()) status["allocation"] = nullptr;
      const auto reply = own.patch(path + "/status", {{"metadata", seen}, {"status", status}});
      if (!reply.ok()) return;
      seen["resourceVersion"] = reply.json()["metadata"]["resourceVersion"];
    }
    const std::string owner = text_at(claim, "/metadata/ownerReferences/0/uid");
    const bool orphan = !owner.empty() && !pods.contains(owner);
    if (!users.empty() || (reserved.empty() && !orphan)) return;
    seen["finalizers"] = nullptr;
    if (own.patch(path, {{"metadata", seen}}).ok() && orphan) (void)own.del(path);
  }

 private:
  bool is_set_up_ = false;
};

}  // namespace plimsoll::test
