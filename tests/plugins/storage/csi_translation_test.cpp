// In-tree volumes as CSI volumes where the recorded calls say nothing.

#include "plugins/storage/csi_translation.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/decoded_objects.hpp"

namespace plimsoll::volumes {
namespace {

using Json = nlohmann::json;

// The handle, or the error with a "!" in front.
std::string handle_of(const std::string& spec, const std::string& labels = "{}") {
  test::DecodedObjects decoded;
  const auto translated = translate(
      read(decoded(sdk::kPersistentVolumes, "", "pv",
                   R"({"metadata": {"labels": )" + labels + R"(}, "spec": )" + spec + "}")));
  return translated ? translated->handle : "!" + translated.error().message;
}

std::string ebs(const std::string& id) {
  return handle_of(Json{{"awsElasticBlockStore", {{"volumeID", id}}}}.dump());
}

TEST(CsiTranslation, ReadsTheIdsOfEbsVolumes) {
  EXPECT_EQ(ebs("vol-1"), "vol-1");
  EXPECT_EQ(ebs("anything at all"), "anything at all");
  EXPECT_EQ(ebs("aws://zone/vol-1"), "vol-1");
  EXPECT_EQ(ebs("aws:///vol-1/"), "vol-1");
  EXPECT_EQ(ebs("aws://zone/vol%2d1?x=y#z"), "vol-1");
  for (const char* wrong : {"aws://", "aws://vol-1", "aws://zone/x", "aws://zone/vol-1/more",
                            "aws://zone/vol-%", "aws://zone/vol-%4", "aws://zone/vol-%zz"}) {
    EXPECT_EQ(ebs(wrong).substr(0, 1), "!") << wrong;
  }
}

TEST(CsiTranslation, PutsGceDisksIntoTheirZoneOrRegion) {
  const std::string disk = R"({"gcePersistentDisk": {"pdName": "d"}})";
  EXPECT_EQ(handle_of(disk), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
  EXPECT_EQ(handle_of(disk, R"({"topology.kubernetes.io/zone": "a-b-c__a-b-d"})"),
            "projects/UNSPECIFIED/regions/a-b/disks/d");
  EXPECT_EQ(handle_of(disk, R"({"topology.kubernetes.io/zone": "a-b-c__a-x-d"})").substr(0, 1),
            "!");
}

TEST(CsiTranslation, LeavesAloneWhatNobodyMigrates) {
  EXPECT_EQ(handle_of(R"({"azureFile": {"shareName": "s"}})").substr(0, 1), "!");
  EXPECT_EQ(handle_of(R"({"nfs": {}})").substr(0, 1), "!");
  EXPECT_EQ(handle_of("{}").substr(0, 1), "!");
}

// The affinity of a GCE disk, as the operators and values of its expressions by key.
Json topology_of(const Json& expressions, const std::string& labels = "{}") {
  const Json spec = {
      {"gcePersistentDisk", {{"pdName", "d"}}},
      {"nodeAffinity",
       {{"required",
         {{"nodeSelectorTerms", Json::array({{{"matchExpressions", expressions}}})}}}}}};
  test::DecodedObjects decoded;
  const auto translated = translate(
      read(decoded(sdk::kPersistentVolumes, "", "pv",
                   R"({"metadata": {"labels": )" + labels + R"(}, "spec": )" + spec.dump() + "}")));
  if (!translated) return translated.error().message;
  return Json::parse(translated->affinity->json())["nodeSelectorTerms"][0]["matchExpressions"];
}

Json expression(const char* key, const char* op, const Json& values) {
  return {{"key", key}, {"operator", op}, {"values", values}};
}

// getTopologyValues and replaceTopology do not look at the operator.
TEST(CsiTranslation, RenamesTheZoneWhateverTheOperatorIs) {
  constexpr const char* kGeneral = "topology.kubernetes.io/zone";
  constexpr const char* kGce = "topology.gke.io/zone";
  const std::string label = R"({"topology.kubernetes.io/zone": "z2"})";
  for (const std::string& labels : {std::string("{}"), label}) {
    EXPECT_EQ(topology_of(Json::array({expression(kGeneral, "NotIn", {"z1", "z3"})}), labels),
              Json::array({expression(kGce, "NotIn", {"z1", "z3"})}));
  }
  const Json exists = {{"key", kGeneral}, {"operator", "Exists"}};
  const Json renamed = {{"key", kGce}, {"operator", "Exists"}};
  EXPECT_EQ(topology_of(Json::array({expression(kGeneral, "In", {"z1", "z2"}), exists})),
            Json::array({expression(kGce, "In", {"z1", "z2"}), renamed}));
  EXPECT_EQ(topology_of(Json::array({exists})), Json::array({exists})) << "it has no values";
  EXPECT_EQ(topology_of(Json::array({exists}), label),
            Json::array({exists, expression(kGce, "In", Json::array({"z2"}))}));
  EXPECT_EQ(topology_of(Json::array(
                {expression("failure-domain.beta.kubernetes.io/zone", "NotIn", {"a", "b"}),
                 expression("failure-domain.beta.kubernetes.io/region", "NotIn", {"r", "s"})})),
            Json::array({expression(kGce, "NotIn", {"a", "b"}),
                         expression("topology.kubernetes.io/region", "NotIn", {"r", "s"})}));
}

// Whatever an affinity is made of, there is an answer and no crash.
TEST(CsiTranslation, SurvivesOddAffinities) {
  const std::string labels = R"({"topology.kubernetes.io/zone": "z"})";
  for (const char* required :
       {R"({"nodeSelectorTerms": []})", R"({"nodeSelectorTerms": [{}]})", "{}",
        R"({"nodeSelectorTerms": [{"matchExpressions": [{"key": "topology.kubernetes.io/zone",
            "operator": "In"}]}]})",
        R"({"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In",
            "values": ["n"]}]}]})"}) {
    const std::string spec = R"({"cinder": {"volumeID": "v"}, "nodeAffinity": {"required": )" +
                             std::string(required) + "}}";
    EXPECT_EQ(handle_of(spec, labels), "v") << required;
  }
}

}  // namespace
}  // namespace plimsoll::volumes
