#include "plugins/topology/service/annotation_writer.hpp"

#include <gtest/gtest.h>

#include <plimsoll/fake_host.hpp>

#include "plugins/topology/ledger/ledger.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

// Two zones of eight CPUs; the ledger has pods in zone 0, their annotations name another.
class AnnotationWriterTest : public ::testing::Test {
 protected:
  AnnotationWriterTest() {
    ledger_.node_added("n1", 0);
    ledger_.report(scene_.nrt(cpu_report(1, {"8", "8"}, fingerprint_of({}), "single-numa-node")),
                   kYear2026Ms);
    host_.answer_status = 200;
  }
  ~AnnotationWriterTest() override { host_.drop_deferred(); }

  void promised(const std::string& name, const std::string& annotation) {
    PodSpec spec = guaranteed(name, 2);
    ASSERT_TRUE(ledger_.reserve(*scene_.pod(spec), 0, kYear2026Ms).complete);
    spec.annotation = annotation;
    pods_.push_back(scene_.pod(spec));
    host_.pods.push_back(pods_.back().get());
  }
  void run_timers() {
    for (sdk::FakeHost::Deferred& timer : std::exchange(host_.deferred, {})) timer.run();
  }
  static std::string patch_of(const std::string& name) {
    return "PATCH /api/v1/namespaces/ns/pods/" + name +
           R"(/status {"metadata":{"annotations":{"topology.plimsoll.io/zones":)" +
           R"("{\"c0\":{\"cpu\":[0]}}"},"uid":"uid-)" + name + R"("}})";
  }

  TopologyScene scene_;
  sdk::FakeHost host_;
  Ledger ledger_{scene_.index()};
  std::vector<PodRef> pods_;
  std::shared_ptr<AnnotationWriter> writer_ =
      std::make_shared<AnnotationWriter>(sdk::Host(host_.table(), "test"), ledger_.ask());
};

TEST_F(AnnotationWriterTest, WritesOneAfterTheOther) {
  promised("a", R"({"c0":{"cpu":[1]}})");
  promised("b", R"({"c0":{"cpu":[0,1]}})");
  writer_->add("uid-a");
  writer_->add("uid-b");
  EXPECT_EQ(host_.requests, std::vector<std::string>{patch_of("a")});
  run_timers();
  EXPECT_EQ(host_.requests, (std::vector<std::string>{patch_of("a"), patch_of("b")}));
  run_timers();
  EXPECT_TRUE(host_.deferred.empty());
  EXPECT_EQ(host_.metrics.at("numa_annotations_corrected_total{written}"), std::vector<double>{2});
}

TEST_F(AnnotationWriterTest, WritesWhatIsWrongOnly) {
  promised("right", R"({"c0":{"cpu":[0]}})");
  promised("bare", "");
  for (const char* uid : {"uid-right", "uid-bare", "uid-gone"}) writer_->add(uid);
  EXPECT_TRUE(host_.requests.empty());
  promised("wrong", R"({"c0":{"cpu":[1]}})");
  host_.answer_status = 403;
  host_.answer_body = "pods may not be patched";
  writer_->add("uid-wrong");
  run_timers();
  EXPECT_EQ(host_.metrics.at("numa_annotations_corrected_total{failed}"), std::vector<double>{1});
  ASSERT_FALSE(host_.logs.empty());
  EXPECT_NE(host_.logs.back().find("pods may not be patched"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::topology
