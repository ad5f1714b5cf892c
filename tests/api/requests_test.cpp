#include "framework/api/requests.hpp"

#include <gtest/gtest.h>

#include <plimsoll/views.hpp>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll {
namespace {

struct Case {
  std::string_view what;
  std::string_view spec;
  std::string_view status;
  int64_t cpu;  // requests
  int64_t used_cpu;
  int64_t memory;
  int64_t nonzero_cpu;
  uint8_t qos;
};

constexpr Case kCases[] = {
    {"nothing asked", R"({"containers": [{"name": "a"}, {"name": "b"}]})", "{}", 0, 0, 0, 200,
     PLIMSOLL_QOS_BEST_EFFORT},
    {"an init container's peak", R"({
       "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "2"}}}],
       "containers": [{"name": "a", "resources": {"requests": {"cpu": "500m"}}}]})",
     "{}", 2000, 2000, 0, 2000, PLIMSOLL_QOS_BURSTABLE},
    {"sidecars run beside the init containers after them", R"({
       "initContainers": [
         {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "300m"}}},
         {"name": "i", "resources": {"requests": {"cpu": "1"}}}],
       "containers": [{"name": "a", "resources": {"requests": {"cpu": "500m"}}}]})",
     "{}", 1300, 1300, 0, 1300, PLIMSOLL_QOS_BURSTABLE},
    {"pod-level resources and overhead", R"({
       "resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "250m", "memory": "1Ki"},
       "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]})",
     "{}", 3250, 3250, 1024, 3250, PLIMSOLL_QOS_BURSTABLE},
    {"guaranteed", R"({"containers": [{"name": "a", "resources": {
       "requests": {"cpu": "1", "memory": "1Ki"}, "limits": {"cpu": "1000m", "memory": "1024"}}}]})",
     "{}", 1000, 1000, 1024, 1000, PLIMSOLL_QOS_GUARANTEED},
    {"the status says otherwise about the class", R"({"containers": [{"name": "a"}]})",
     R"({"qosClass": "Guaranteed"})", 0, 0, 0, 100, PLIMSOLL_QOS_GUARANTEED},
    {"a resize under way counts with the larger amount", R"({
       "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]})",
     R"({"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "2"},
         "resources": {"requests": {"cpu": "1500m"}}}]})",
     1000, 2000, 0, 2000, PLIMSOLL_QOS_BURSTABLE},
    {"a resize that cannot be done does not count", R"({
       "containers": [{"name": "a", "resources": {"requests": {"cpu": "8"}}}]})",
     R"({"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
         "containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "1"},
         "resources": {"requests": {"cpu": "1"}}}]})",
     8000, 1000, 0, 1000, PLIMSOLL_QOS_BURSTABLE},
    {"what one container gives up and another takes counts once", R"({"containers": [
       {"name": "a", "resources": {"requests": {"cpu": "1"}}},
       {"name": "b", "resources": {"requests": {"cpu": "2"}}}]})",
     R"({"containerStatuses": [
         {"name": "a", "allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "2"}}},
         {"name": "b", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}]})",
     3000, 3000, 0, 3000, PLIMSOLL_QOS_BURSTABLE},
    {"what is granted counts without what runs", R"({
       "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]})",
     R"({"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "2"}}]})", 1000, 2000, 0,
     2000, PLIMSOLL_QOS_BURSTABLE},
    {"init containers are resized too", R"({
       "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "1"}}}],
       "containers": [{"name": "a"}]})",
     R"({"initContainerStatuses": [{"name": "i", "allocatedResources": {"cpu": "3"}}]})", 1000,
     3000, 0, 3000, PLIMSOLL_QOS_BURSTABLE},
    // A kubelet of 1.36 or later reports the pod's sums with the overhead, which counts again then.
    {"the pod's own sums count instead of the containers'", R"({
       "overhead": {"cpu": "250m"},
       "containers": [{"name": "a", "resources": {"requests": {"cpu": "500m"}}}]})",
     R"({"allocatedResources": {"cpu": "750m"}, "resources": {"requests": {"cpu": "750m"}},
         "containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "4"}}]})",
     750, 1000, 0, 1000, PLIMSOLL_QOS_BURSTABLE},
    {"a pod level that only the status names", R"({
       "resources": {"requests": {"cpu": "1"}},
       "containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Ki"}}}]})",
     R"({"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "1"}})", 1000, 2000,
     1024, 2000, PLIMSOLL_QOS_BURSTABLE},
    {"empty pod-level resources leave the containers to decide", R"({"resources": {},
       "containers": [{"name": "a", "resources": {
         "requests": {"cpu": "2", "memory": "1Ki"}, "limits": {"cpu": "2", "memory": "1Ki"}}}]})",
     "{}", 2000, 2000, 1024, 2000, PLIMSOLL_QOS_GUARANTEED},
};

TEST(Requests, FollowPodRequests) {
  for (const Case& each : kCases) {
    SymbolTable symbols;
    const std::string json = R"({"metadata": {"name": "p"}, "spec": )" + std::string(each.spec) +
                             R"(, "status": )" + std::string(each.status) + "}";
    const auto pod = decode_pod(json, symbols);
    ASSERT_TRUE(pod) << each.what << ": " << pod.error().message;
    EXPECT_EQ(sdk::Resources((*pod)->requests).amount("cpu"), each.cpu) << each.what;
    EXPECT_EQ(sdk::Resources((*pod)->used).amount("cpu"), each.used_cpu) << each.what;
    EXPECT_EQ(sdk::Resources((*pod)->requests).amount("memory"), each.memory) << each.what;
    EXPECT_EQ((*pod)->nonzero_cpu, each.nonzero_cpu) << each.what;
    EXPECT_EQ((*pod)->qos, each.qos) << each.what;
  }
}

TEST(Requests, KnowWhatNodesAccountFor) {
  for (std::string_view name :
       {"cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "nvidia.com/gpu",
        "attachable-volumes-csi-x", "scheduling.kubernetes.io/foo"}) {
    EXPECT_TRUE(is_node_resource(name)) << name;
  }
  for (std::string_view name : {"storage", "requests.nvidia.com/gpu"}) {
    EXPECT_FALSE(is_node_resource(name)) << name;
  }
  EXPECT_TRUE(is_extended_resource("nvidia.com/gpu"));
  EXPECT_FALSE(is_extended_resource("hugepages-2Mi"));
}

}  // namespace
}  // namespace plimsoll
