#include "framework/placement/nominator.hpp"

#include <gtest/gtest.h>

#include <map>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll {
namespace {

class NominatorTest : public ::testing::Test {
 protected:
  // A version of the pod with this status.nominatedNodeName.
  PodRef pod(const std::string& name, const std::string& nominated = "", int version = 1) {
    return *decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" +
                           name + R"(","resourceVersion":")" + std::to_string(version) +
                           R"("},"spec":{},"status":{"nominatedNodeName":")" + nominated + R"("}})",
                       symbols_);
  }
  std::vector<std::string> on(std::string_view node) {
    std::vector<std::string> names;
    for (const PodRef& each : nominator_.pods_of(node)) {
      names.emplace_back(std::string(view(each->meta.name)) + ":" +
                         std::string(view(each->meta.resource_version)));
    }
    return names;
  }
  using Names = std::vector<std::string>;

  SymbolTable symbols_;
  std::vector<std::string> changed_;
  Nominator nominator_{[this](std::string_view node) { changed_.emplace_back(node); }};
};

TEST_F(NominatorTest, OverrideBeatsTheStatusAndNoopFollowsIt) {
  struct Row {
    const char* status;
    Nominating nominating;
    std::string expected;
  };
  const std::vector<Row> rows = {
      {"", Nominating::keep(), ""},       {"n1", Nominating::keep(), "n1"},
      {"n1", Nominating::to("n2"), "n2"}, {"", Nominating::to("n2"), "n2"},
      {"n1", Nominating::clear(), ""},    {"", Nominating::clear(), ""},
  };
  for (const Row& row : rows) {
    nominator_.add(pod("a", row.status), row.nominating);
    EXPECT_EQ(nominator_.node_of("u-a"), row.expected);
    EXPECT_EQ(nominator_.by_node().size(), row.expected.empty() ? 0U : 1U);
  }
}

TEST_F(NominatorTest, KeepsTheOrderOfNominationsAndOnePlaceForEachPod) {
  nominator_.add(pod("a"), Nominating::to("n1"));
  nominator_.add(pod("b"), Nominating::to("n1"));
  nominator_.add(pod("c"), Nominating::to("n1"));
  EXPECT_EQ(on("n1"), (Names{"a:1", "b:1", "c:1"}));
  nominator_.add(pod("a"), Nominating::to("n2"));
  EXPECT_EQ(on("n1"), (Names{"b:1", "c:1"}));
  EXPECT_EQ(on("n2"), Names{"a:1"});
  nominator_.remove("u-b");
  nominator_.remove("u-b");
  nominator_.remove("unknown");
  EXPECT_EQ(on("n1"), Names{"c:1"});
}

// Nodes come and go in any order: whichever is left keeps its own pods and their highest priority.
TEST_F(NominatorTest, ListsTheNodesThatAreLeft) {
  const auto with_priority = [&](const std::string& name, int priority) {
    return *decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" +
                           name + R"("},"spec":{"priority":)" + std::to_string(priority) + "}}",
                       symbols_);
  };
  nominator_.add(with_priority("a", 5), Nominating::to("n1"));
  nominator_.add(with_priority("b", 7), Nominating::to("n2"));
  nominator_.add(with_priority("c", 1), Nominating::to("n3"));
  nominator_.add(with_priority("d", 3), Nominating::to("n3"));
  const auto listed = [&] {
    std::map<std::string, int32_t> nodes;
    for (const NominatedNode& node : nominator_.by_node()) {
      EXPECT_EQ(&node.pods, &nominator_.pods_of(node.name));
      nodes[node.name] = node.highest_priority;
    }
    return nodes;
  };
  using Listed = std::map<std::string, int32_t>;
  EXPECT_EQ(listed(), (Listed{{"n1", 5}, {"n2", 7}, {"n3", 3}}));
  nominator_.remove("u-a");  // the last of the list takes its place
  EXPECT_EQ(listed(), (Listed{{"n2", 7}, {"n3", 3}}));
  nominator_.remove("u-d");
  EXPECT_EQ(listed(), (Listed{{"n2", 7}, {"n3", 1}}));
  nominator_.remove("u-c");
  nominator_.remove("u-b");
  EXPECT_EQ(listed(), Listed());
  nominator_.add(with_priority("a", 2), Nominating::to("n3"));
  EXPECT_EQ(listed(), (Listed{{"n3", 2}}));
}

// nominator_test.go, TestPriorityQueue_UpdateNominatedPodForNode and ..._NominatedPodUpdated.
TEST_F(NominatorTest, AnUpdateThatKnowsNothingKeepsWhatIsInMemory) {
  nominator_.add(pod("a"), Nominating::to("n1"));
  nominator_.update(*pod("a"), pod("a", "", 2));  // from before the nomination was written
  EXPECT_EQ(on("n1"), Names{"a:2"});
  nominator_.update(*pod("a", "", 2), pod("a", "n1", 3));  // it was written
  EXPECT_EQ(on("n1"), Names{"a:3"});
  nominator_.update(*pod("a", "n1", 3), pod("a", "n2", 4));  // somebody nominated it elsewhere
  EXPECT_EQ(on("n1"), Names{});
  EXPECT_EQ(on("n2"), Names{"a:4"});
  nominator_.update(*pod("a", "n2", 4), pod("a", "", 5));  // taken away
  EXPECT_EQ(nominator_.node_of("u-a"), "");
  nominator_.update(*pod("a", "", 5), pod("a", "", 6));  // nothing to keep
  EXPECT_TRUE(nominator_.by_node().empty());
}

// Nominated elsewhere than its status still says: an update about something else changes nothing.
TEST_F(NominatorTest, AnUpdateFromBeforeTheWriteKeepsWhatIsInMemory) {
  nominator_.add(pod("a", "n1"), Nominating::to("n2"));
  nominator_.update(*pod("a", "n1"), pod("a", "n1", 2));
  EXPECT_EQ(on("n1"), Names{});
  EXPECT_EQ(on("n2"), Names{"a:2"});
}

TEST_F(NominatorTest, SaysWhichNodesChanged) {
  nominator_.add(pod("a"), Nominating::to("n1"));
  nominator_.add(pod("b"), Nominating::clear());
  EXPECT_EQ(changed_, Names{"n1"});
  nominator_.add(pod("a"), Nominating::to("n2"));
  EXPECT_EQ(changed_, (Names{"n1", "n1", "n2"}));
  nominator_.remove("u-a");
  EXPECT_EQ(changed_, (Names{"n1", "n1", "n2", "n2"}));
}

}  // namespace
}  // namespace plimsoll
