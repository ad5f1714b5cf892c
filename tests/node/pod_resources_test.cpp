// The kubelet's pod-resources API, over a unix socket.

#include "node/kubelet/pod_resources.hpp"

#include <gmock/gmock.h>

#include <protozero/pbf_writer.hpp>

#include "node/kubelet/grpc_client.hpp"
#include "tests/node/grpc_server.hpp"
#include "tests/node/pod_resources_bytes.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::node {
namespace {

using protozero::pbf_writer;
using test::add_device;
using test::GrpcAnswer;
using test::GrpcServer;
using test::zones_bytes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using namespace std::chrono_literals;

std::string pod(const std::string& ns, const std::string& name,
                const std::vector<std::int64_t>& cpus) {
  std::string out;
  pbf_writer pod(out);
  pod.add_string(1, name);
  pod.add_string(2, ns);
  {
    pbf_writer container(pod, 3);
    container.add_string(1, "main");
    add_device(container, 2, "example.com/gpu", "g1", {1});
    add_device(container, 2, "example.com/gpu", "g0", {0});
    add_device(container, 2, "example.com/gpu", "g0", {1});  // near two zones
    container.add_packed_int64(3, cpus.begin(), cpus.end());
    container.add_string(15, "of a later version");
  }
  return out;
}

class PodResourcesTest : public ::testing::Test {
 protected:
  std::filesystem::path socket() const { return folder_.path() / "kubelet.sock"; }
  void answer(GrpcAnswer given) {
    server_.emplace(socket(), [given](const std::string&, const std::string&) { return given; });
  }

  plimsoll::test::TempDir folder_{"plimsoll-node"};
  std::optional<GrpcServer> server_;
};

TEST_F(PodResourcesTest, ListsWhatPodsHold) {
  std::string list;
  pbf_writer answer(list);
  answer.add_message(1, pod("b", "web", {7, 3, 4}));
  answer.add_message(1, pod("a", "web", {}));
  std::string asked;
  server_.emplace(socket(), [&](const std::string& method, const std::string& request) {
    asked = method + " " + std::to_string(request.size());
    return GrpcAnswer{.message = list};
  });
  const auto pods = PodResources(socket()).list();
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(asked, "/v1.PodResourcesLister/List 0");
  ASSERT_EQ(pods->size(), 2U);
  EXPECT_EQ((*pods)[0].ns, "a") << "in order, whatever the kubelet's";
  const ContainerUse& held = (*pods)[1].containers.at(0);
  EXPECT_EQ(held.name, "main");
  EXPECT_THAT(held.cpus, ElementsAre(3, 4, 7));
  EXPECT_THAT(held.devices, ElementsAre(Pair("example.com/gpu", ElementsAre("g0", "g1"))));
}

// Fields 4 and 5, since 1.37.
TEST_F(PodResourcesTest, ListsWhatPodsHoldAsAWhole) {
  std::string bytes;
  {
    pbf_writer list(bytes);
    pbf_writer whole(list, 1);
    whole.add_string(1, "whole");
    const std::vector<std::int64_t> cpus{9, 4, 8};
    whole.add_packed_int64(4, cpus.begin(), cpus.end());
    pbf_writer memory(whole, 5);
    memory.add_string(1, "memory");
  }
  const auto pods = decode_pod_list(bytes);
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_THAT(pods->at(0).cpus, ElementsAre(4, 8, 9));
  EXPECT_EQ(pods->at(0).name, "whole");
}

TEST_F(PodResourcesTest, SaysWhatCanBeGiven) {
  std::string message;
  pbf_writer answer(message);
  add_device(answer, 1, "example.com/gpu", "g0", {0});
  add_device(answer, 1, "example.com/gpu", "g0", {1});
  add_device(answer, 1, "example.com/nic", "n0", {});
  const std::vector<std::int64_t> cpus = {2, 1};
  answer.add_packed_int64(2, cpus.begin(), cpus.end());
  {
    pbf_writer memory(answer, 3);
    memory.add_string(1, "memory");
    memory.add_uint64(2, std::uint64_t{1} << 35);
    memory.add_message(3, zones_bytes({1}));
  }
  server_.emplace(socket(), [&](const std::string& method, const std::string&) {
    EXPECT_EQ(method, "/v1.PodResourcesLister/GetAllocatableResources");
    return GrpcAnswer{.message = message};
  });
  const auto given = PodResources(socket()).allocatable();
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_THAT(given->cpus, ElementsAre(1, 2));
  EXPECT_THAT(given->devices.at("example.com/gpu"), ElementsAre(Pair("g0", ElementsAre(0, 1))));
  EXPECT_THAT(given->devices.at("example.com/nic"), ElementsAre(Pair("n0", ElementsAre())));
  EXPECT_EQ(given->memory.at(1).at("memory"), std::int64_t{1} << 35);
}

TEST_F(PodResourcesTest, ManyPodsInManyFrames) {
  std::string list;
  pbf_writer answer(list);
  for (int i = 0; i < 5000; ++i) {
    answer.add_message(1, pod("ns", "pod-" + std::to_string(i), {i, i + 1}));
  }
  server_.emplace(socket(), [&](const std::string&, const std::string&) {
    return GrpcAnswer{.message = list};
  });
  const auto pods = PodResources(socket()).list();
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(pods->size(), 5000U);
}

TEST_F(PodResourcesTest, FailuresSayWhetherToTryAgain) {
  const auto code = [&] { return PodResources(socket()).list().error().code; };
  EXPECT_EQ(code(), ErrorCode::kUnavailable) << "there is no kubelet";
  answer({.status = 8, .text = "rejected by rate limit"});
  EXPECT_EQ(code(), ErrorCode::kThrottled);
  EXPECT_THAT(PodResources(socket()).list().error().message, HasSubstr("rejected by rate limit"));
  server_.reset();
  std::filesystem::remove(socket());
  answer({.status = 12});
  EXPECT_EQ(code(), ErrorCode::kNotFound);
  server_.reset();
  std::filesystem::remove(socket());
  answer({.status = 2, .text = "unknown"});
  EXPECT_EQ(code(), ErrorCode::kInvalid);
  server_.reset();
  std::filesystem::remove(socket());
  answer({.cut = true});
  EXPECT_EQ(code(), ErrorCode::kUnavailable);
  server_.reset();
  std::filesystem::remove(socket());
  answer({.message = "\xff\xff\xff"});
  EXPECT_EQ(code(), ErrorCode::kInvalid) << "not such a message";
}

TEST_F(PodResourcesTest, ACallEndsWithItsDeadline) {
  answer({.hang = true});
  const auto done = grpc_call(socket(), "/v1.PodResourcesLister/List", "", 50ms);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(done.error().message, HasSubstr("no answer in time"));
}

}  // namespace
}  // namespace plimsoll::node
