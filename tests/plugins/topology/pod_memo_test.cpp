#include "plugins/topology/pod/pod_memo.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "plugins/topology/pod/pod_request.hpp"

namespace plimsoll::topology {
namespace {

class PodMemoTest : public ::testing::Test {
 protected:
  PodRef pod(const std::string& containers, const std::string& spec = "") {
    auto made = decode_pod(R"({"metadata":{"name":"p)" + std::to_string(++pods_) +
                               R"(","namespace":"ns","uid":"u"},"spec":{)" + spec +
                               R"("containers":)" + containers + "}}",
                           symbols_);
    EXPECT_TRUE(made.has_value());
    return *made;
  }
  static std::string container(const std::string& name, const std::string& resources) {
    return R"([{"name":")" + name + R"(","resources":)" + resources + "}]";
  }
  std::shared_ptr<int> value_for(const PodRef& asked) {
    return memo_.of(*asked, [this](const plimsoll_pod&) {
      ++made_;
      return std::make_shared<int>(made_);
    });
  }

  SymbolTable symbols_;
  PodMemo<int> memo_;
  int pods_ = 0;
  int made_ = 0;
};

constexpr const char* kTwoCpus = R"({"requests":{"cpu":"2"},"limits":{"cpu":"2"}})";

TEST_F(PodMemoTest, LikePodsShareOneValue) {
  const auto first = value_for(pod(container("main", kTwoCpus)));
  EXPECT_EQ(value_for(pod(container("main", kTwoCpus))), first);
  EXPECT_EQ(made_, 1);
}

TEST_F(PodMemoTest, WhateverIsReadTellsThemApart) {
  const std::string sidecar =
      R"("initContainers":[{"name":"i","restartPolicy":"Always","resources":{}}],)";
  const std::string init = R"("initContainers":[{"name":"i","resources":{}}],)";
  const PodRef all[] = {
      pod(container("main", kTwoCpus)),
      pod(container("other", kTwoCpus)),
      pod(container("main", R"({"requests":{"cpu":"3"},"limits":{"cpu":"3"}})")),
      pod(container("main", R"({"requests":{"cpu":"2"},"limits":{"cpu":"3"}})")),
      pod(container("main", R"({"requests":{"memory":"2"},"limits":{"memory":"2"}})")),
      pod(container("main", R"({"requests":{"cpu":"2","memory":"1"}})")),
      pod(container("main", kTwoCpus), R"("overhead":{"cpu":"1"},)"),
      pod(container("main", kTwoCpus), R"("resources":{"requests":{"cpu":"4"}},)"),
      pod(container("main", kTwoCpus), R"("resources":{"limits":{"cpu":"4"}},)"),
      pod(container("main", kTwoCpus), init),
      pod(container("main", kTwoCpus), sidecar),
      pod(R"([{"name":"main","resources":{}},{"name":"main","resources":{}}])"),
  };
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < static_cast<int>(std::size(all)); ++i) {
      EXPECT_EQ(*value_for(all[i]), i + 1);
    }
  }
}

TEST_F(PodMemoTest, MoreKindsThanAreKeptAreMadeAgain) {
  const auto of = [&](int cpus) {
    return pod(container("main", R"({"requests":{"cpu":")" + std::to_string(cpus) + R"("}})"));
  };
  const auto first = value_for(of(1));
  for (int cpus = 2; cpus <= 1000; ++cpus) EXPECT_EQ(*value_for(of(cpus)), cpus);
  EXPECT_EQ(*first, 1);  // whoever has a value keeps it
  EXPECT_NE(value_for(of(1)), first);
  EXPECT_EQ(made_, 1001);
}

TEST_F(PodMemoTest, AnotherThreadGetsValuesOfItsOwn) {
  const PodRef asked = pod(container("main", kTwoCpus));
  const auto mine = value_for(asked);
  std::shared_ptr<int> theirs;
  std::thread([&] { theirs = value_for(asked); }).join();
  EXPECT_NE(theirs, mine);
  EXPECT_EQ(value_for(asked), mine);
}

TEST_F(PodMemoTest, NamesOutliveThePod) {
  std::string names;
  PodRef first = pod(container("main", kTwoCpus), R"("overhead":{"example.com/x":"1"},)");
  PodRequest request(*first);
  request.keep_names(names);
  first.reset();
  ASSERT_EQ(request.containers.size(), 1U);
  EXPECT_EQ(request.containers[0].name, "main");
  EXPECT_EQ(request.containers[0].requests.at(0).name, "cpu");
  EXPECT_EQ(request.effective.back().name, "example.com/x");
}

}  // namespace
}  // namespace plimsoll::topology
