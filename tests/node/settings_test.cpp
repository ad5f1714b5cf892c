#include "node/kubelet/settings.hpp"

#include <gmock/gmock.h>

namespace plimsoll::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(Settings, OfConfigzAndOfTheFile) {
  const char* file = R"({"kind":"KubeletConfiguration","topologyManagerPolicy":"restricted",
      "topologyManagerScope":"pod","topologyManagerPolicyOptions":{"prefer-closest-numa-nodes":"true"},
      "cpuManagerPolicy":"static","cpuManagerPolicyOptions":{"full-pcpus-only":"true"},
      "memoryManagerPolicy":"Static","maxPods":50,"evictionHard":{"memory.available":"1Gi"},
      "featureGates":{"PodLevelResourceManagers":true,"Other":false}})";
  for (const std::string& text :
       {std::string(file), R"({"kubeletconfig":)" + std::string(file) + "}"}) {
    const auto settings = parse_settings(text);
    ASSERT_TRUE(settings) << settings.error().message;
    EXPECT_EQ(settings->topology_manager_policy, "restricted");
    EXPECT_EQ(settings->topology_manager_scope, "pod");
    EXPECT_THAT(settings->topology_manager_options,
                ElementsAre(Pair("prefer-closest-numa-nodes", "true")));
    EXPECT_EQ(settings->cpu_manager_policy, "static");
    EXPECT_THAT(settings->cpu_manager_options, ElementsAre(Pair("full-pcpus-only", "true")));
    EXPECT_EQ(settings->memory_manager_policy, "Static");
    EXPECT_EQ(settings->max_pods, 50);
    EXPECT_TRUE(settings->pod_level_resource_managers);
  }
}

TEST(Settings, WhatIsAbsentHasTheKubeletsDefault) {
  for (const char* text : {"{}", R"({"cpuManagerPolicy":"","topologyManagerScope":null})"}) {
    const auto settings = parse_settings(text);
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->topology_manager_policy, "none");
    EXPECT_EQ(settings->topology_manager_scope, "container");
    EXPECT_EQ(settings->cpu_manager_policy, "none");
    EXPECT_EQ(settings->memory_manager_policy, "None");
    EXPECT_EQ(settings->max_pods, 110);
  }
}

TEST(Settings, WhatIsWrongIsNamed) {
  const auto error = [](const char* text) {
    const auto settings = parse_settings(text);
    return settings ? "" : settings.error().message;
  };
  EXPECT_THAT(error("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error(R"({"cpuManagerPolicy":1})"), HasSubstr("cpuManagerPolicy: must be a string"));
  EXPECT_THAT(error(R"({"cpuManagerPolicyOptions":{"a":true}})"),
              HasSubstr("cpuManagerPolicyOptions.a"));
  EXPECT_THAT(error(R"({"kubeletconfig":[]})"), HasSubstr("kubeletconfig"));
}

}  // namespace
}  // namespace plimsoll::node
