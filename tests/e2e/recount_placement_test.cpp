// The recount of placements finds what it is there to find: it is the judge of e2e_mixed_test.

#include <gmock/gmock.h>

#include "tests/e2e/placement_fixture.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using RecountPlacementTest = PlacementTest;

TEST_F(RecountPlacementTest, NothingIsWrongWhereNothingIs) {
  add_spread("w1", "a1");
  add_spread("w2", "b1");
  add_near("n", "other", "web", "a2");
  add_apart("x1", "a1");
  add_apart("x2", "a2");
  add_pod_with_claim("s1", "a1", "a");
  add_pod_with_claim("s2", "a1", "a");
  EXPECT_THAT(faults(), IsEmpty());
  EXPECT_THAT(waiting(), IsEmpty());
}

TEST_F(RecountPlacementTest, AForbiddenNodeIsFound) {
  add_pod("p", "app", "a1")["spec"]["nodeSelector"] = {{kZone, "b"}};
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("t/p on a1 is not on a node of its nodeSelector")));
  objects_.pods.clear();
  objects_.nodes[0]["spec"]["taints"] =
      json::array({{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}});
  add_pod("p", "app", "a1");
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("does not tolerate")));
  objects_.pods[0]["spec"]["tolerations"] =
      json::array({{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}});
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(RecountPlacementTest, AnUnevenSpreadIsFound) {
  add_spread("w1", "a1");
  add_spread("w2", "a2");
  const auto uneven = HasSubstr("is one of 2 in a; elsewhere by zone there are 0");
  EXPECT_THAT(faults(), ElementsAre(uneven, uneven));
  add_spread("w3", "");
  EXPECT_THAT(faults(), IsEmpty()) << "it may be in the other zone soon";
  EXPECT_THAT(waiting(), ElementsAre("t/w3 fits b1"));
}

// Nodes that the nodeSelector does not take are no domains; tainted ones are, unless the constraint
// says otherwise.
TEST_F(RecountPlacementTest, OnlySomeNodesAreDomains) {
  for (const char* name : {"w1", "w2"}) {
    add_spread(name,
               name == std::string("w1") ? "a1" : "a2")["spec"]["nodeSelector"] = {{kZone, "a"}};
  }
  EXPECT_THAT(faults(), IsEmpty());
  objects_.pods.clear();
  for (std::size_t b : {2, 3}) {
    objects_.nodes[b]["spec"]["taints"] =
        json::array({{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}});
  }
  for (const char* name : {"w1", "w2"}) add_spread(name, "a1");
  EXPECT_EQ(faults().size(), 2U);
  for (json& pod : objects_.pods) {
    pod["spec"]["topologySpreadConstraints"][0]["nodeTaintsPolicy"] = "Honor";
  }
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(RecountPlacementTest, PodsThatAreTooNearAreFound) {
  add_apart("x1", "a1");
  add_apart("x2", "a1");
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("x1 on a1 is too near to t/x2"),
                                    HasSubstr("x2 on a1 is too near to t/x1")));
}

TEST_F(RecountPlacementTest, AMissingNeighbourIsFound) {
  add_pod("anchor", "anchor", "a1");
  add_near("n", "other", "anchor", "b1");
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("t/n on b1 has no neighbour by zone")));
  // The first of those that want each other needs nobody; one elsewhere is not the first.
  objects_.pods.clear();
  add_near("c1", "club", "club", "a1");
  EXPECT_THAT(faults(), IsEmpty());
  add_near("c2", "club", "club", "b1");
  EXPECT_EQ(faults().size(), 2U);
  objects_.pods.back()["spec"]["nodeName"] = "a2";
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(RecountPlacementTest, AClaimThatIsNotAsItMustBeIsFound) {
  add_pod_with_claim("s", "b1", "a");
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("cannot use volume volume-data-s")));
  objects_.pods[0]["spec"]["nodeName"] = "a1";
  EXPECT_THAT(faults(), IsEmpty());
  storage_.claims[0]["status"]["phase"] = "Pending";
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("claim t/data-s, which is Pending")));
  storage_.claims[0]["status"]["phase"] = "Bound";
  storage_.volumes[0]["spec"]["claimRef"]["uid"] = "of-an-earlier-one";
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("but its volume is of t/data-s")));
  storage_.volumes.clear();
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("t/data-s without a volume")));
  storage_.claims.clear();
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("has no claim t/data-s")));
}

TEST_F(RecountPlacementTest, WhatIsBoundTwiceIsFound) {
  add_claim("one", "a");
  add_claim("two", "a")["spec"]["volumeName"] = "volume-one";
  EXPECT_THAT(faults(), ElementsAre("volume-one is named by t/one and t/two"));
  storage_.claims[1]["spec"]["volumeName"] = "volume-two";
  storage_.volumes[1]["spec"]["claimRef"]["name"] = "one";
  EXPECT_THAT(faults(), ElementsAre("t/one is named by volume-one and volume-two"));
}

TEST_F(RecountPlacementTest, AClaimThatIsLeftForANodeIsFound) {
  json& claim = add_claim("one", "a");
  claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = "a1";
  EXPECT_THAT(faults(), IsEmpty());
  claim["spec"].erase("volumeName");
  EXPECT_THAT(faults(), ElementsAre("t/one is left for a1 without a volume"));
}

TEST_F(RecountPlacementTest, AClaimOfOnePodWithTwoPodsIsFound) {
  add_pod_with_claim("s", "a1", "a");
  storage_.claims[0]["spec"]["accessModes"] = {"ReadWriteOncePod"};
  EXPECT_THAT(faults(), IsEmpty());
  add_pod("t", "app", "a1")["spec"]["volumes"] = objects_.pods[0]["spec"]["volumes"];
  EXPECT_THAT(faults(), ElementsAre("t/data-s is used by t/s and t/t"));
  storage_.claims[0]["spec"]["accessModes"] = {"ReadWriteOnce"};
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(RecountPlacementTest, TooManyVolumesOfANodeAreFound) {
  for (const char* name : {"s1", "s2", "s3"}) add_pod_with_claim(name, "a1", "a");
  EXPECT_THAT(faults(), ElementsAre("a1 has 3 volumes of disk and attaches 2"));
  storage_.csi_nodes[0]["spec"]["drivers"][0].erase("allocatable");
  EXPECT_THAT(faults(), IsEmpty()) << "it says no limit";
}

// Each thing that keeps a pod from a node is enough, and without it the pod fits.
TEST_F(RecountPlacementTest, WhatKeepsAPodWaiting) {
  const auto only_a1 = [](json& pod) { pod["spec"]["nodeSelector"] = {{kHost, "a1"}}; };
  const auto fits = ElementsAre(HasSubstr("fits a1"));
  only_a1(add_pod("p", "app", ""));
  EXPECT_THAT(waiting(), fits);
  EXPECT_THAT(kept_waiting(placement(), "them"), IsEmpty());
  for (const char* name : {"1", "2", "3", "4"}) add_pod(name, "room", "a1");
  EXPECT_THAT(waiting(), IsEmpty()) << "no CPU is left";

  objects_.pods.clear();
  only_a1(add_apart("x1", ""));
  EXPECT_THAT(waiting(), fits);
  add_apart("x2", "a1");
  EXPECT_THAT(waiting(), IsEmpty());

  objects_.pods.clear();
  only_a1(add_pod("y", "apart", ""));
  EXPECT_THAT(waiting(), fits);
  add_apart("x", "a1");
  EXPECT_THAT(waiting(), IsEmpty()) << "the other one keeps it away";

  objects_.pods.clear();
  only_a1(add_near("n", "other", "anchor", ""));
  EXPECT_THAT(waiting(), IsEmpty());
  add_pod("anchor", "anchor", "a2");
  EXPECT_THAT(waiting(), fits);
}

TEST_F(RecountPlacementTest, WhichVolumesKeepAPodWaiting) {
  add_pod_with_claim("s", "", "");
  EXPECT_THAT(waiting(), ElementsAre("t/s fits a1")) << "its volume is made there";
  for (const char* node : {"a1", "a2", "b1", "b2"}) {
    for (const char* number : {"1", "2"}) {
      add_pod_with_claim(std::string(node) + "-" + number, node, std::string(1, node[0]));
    }
  }
  EXPECT_THAT(waiting(), IsEmpty()) << "no node attaches one more";

  objects_.pods.clear();
  add_claim("on-disk", "", "local");
  add_claim_to(add_pod("l", "local", ""), "on-disk");
  EXPECT_THAT(waiting(), IsEmpty());
  add_volume("disk", kHost, "b2", "local");
  EXPECT_THAT(waiting(), ElementsAre("t/l fits b2"));
  storage_.volumes.back()["spec"]["claimRef"] = {{"namespace", "t"}, {"name", "another"}};
  EXPECT_THAT(waiting(), IsEmpty()) << "somebody has it";
}

// A field that the recount does not know must not pass for nothing.
TEST_F(RecountPlacementTest, WhatIsNotKnownThrows) {
  add_spread("w", "a1")["spec"]["topologySpreadConstraints"][0]["minDomains"] = 2;
  EXPECT_THROW((void)placement(), std::invalid_argument);
}

}  // namespace
}  // namespace plimsoll::test
