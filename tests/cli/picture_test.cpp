// What pages are told of the nodes, little by little (cli/ask/picture.hpp).

#include "cli/ask/picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// What a page knows by the answers that it got.
struct Page {
  std::string state;
  std::map<std::string, int64_t> used;  // CPUs by node
  json said;

  void take(Picture& picture, int64_t now_ms) {
    said = json::parse(picture.answer(state, now_ms));
    state = said.at("state");
    if (!said.contains("changes")) used.clear();
    for (const json& node : said.at("nodes"))
      used[node.at("node")] = node.at("resources").at("cpu").at("used");
    if (!said.contains("names")) return;
    const auto names = said.at("names").get<std::vector<std::string>>();
    std::erase_if(used, [&](const auto& node) { return !std::ranges::count(names, node.first); });
  }
};

// A scheduler's loop: nodes in slots, and which of them changed, in order.
class PictureTest : public ::testing::Test {
 protected:
  static std::string name_of(uint32_t slot) { return "n" + std::to_string(slot); }

  void put(uint32_t slot, int64_t used) {
    if (!nodes_.contains(slot)) ++node_set_;
    nodes_[slot] = used;
    log_.push_back(slot);
  }
  void remove(uint32_t slot) {
    if (nodes_.erase(slot) == 0) return;
    ++node_set_;
    log_.push_back(slot);
  }

  StateSnapshot told(const StateChoice& choice) {
    StateSnapshot said;
    said.resource_names = {"cpu"};
    said.mark = {log_.size(), node_set_, {}};
    said.changes_only = choice.since.has_value();
    std::vector<uint32_t> slots;
    const auto add = [&](uint32_t slot) {
      if (!std::ranges::count(slots, slot)) slots.push_back(slot);
    };
    if (!choice.since) {
      for (const auto& [slot, used] : nodes_) slots.push_back(slot);
    } else {
      for (const uint32_t slot : choice.since->untold) add(slot);
      for (size_t at = choice.since->changes; at < log_.size(); ++at) add(log_[at]);
      while (slots.size() > choice.most) {
        said.mark.untold.insert(said.mark.untold.begin(), slots.back());
        slots.pop_back();
      }
      if (choice.since->node_set != node_set_) {
        said.names.emplace();
        for (const auto& [slot, used] : nodes_) said.names->push_back(name_of(slot));
      }
    }
    for (const uint32_t slot : slots) {
      if (!nodes_.contains(slot)) continue;
      auto node = decode_node(json{{"metadata", {{"name", name_of(slot)}}}}.dump(), symbols_);
      said.nodes.push_back({*node, 0, {100}, {nodes_[slot]}});
    }
    said.took_us = static_cast<int64_t>(us_per_node_ * static_cast<double>(said.nodes.size()));
    spent_us_ += said.changes_only ? said.took_us : 0;
    return said;
  }

  // A page asks, as a request does. True: the loop was asked.
  bool ask(Page& page, std::vector<std::string> first = {}) {
    const auto choice = picture_.question(now_ms_, std::move(first));
    if (choice) picture_.arrived(told(*choice), now_ms_);
    asked_first_ = choice ? choice->first : std::vector<std::string>();
    page.take(picture_, now_ms_);
    return choice.has_value();
  }

  [[nodiscard]] std::map<std::string, int64_t> there() const {
    std::map<std::string, int64_t> used;
    for (const auto& [slot, amount] : nodes_) used[name_of(slot)] = amount;
    return used;
  }

  SymbolTable symbols_;
  std::map<uint32_t, int64_t> nodes_;
  std::vector<uint32_t> log_;
  uint64_t node_set_ = 1;
  double us_per_node_ = 10;
  int64_t spent_us_ = 0;
  int64_t now_ms_ = 1'000'000;
  std::vector<std::string> asked_first_;
  Picture picture_{"era."};
};

TEST_F(PictureTest, TellsOfWhatChanged) {
  Page page;
  put(0, 1);
  put(1, 2);
  EXPECT_FALSE(picture_.known());
  EXPECT_TRUE(ask(page));
  EXPECT_TRUE(picture_.known());
  EXPECT_FALSE(page.said.contains("changes"));
  EXPECT_EQ(page.used, there());
  EXPECT_EQ(page.said["behind"], 0);
  EXPECT_EQ(page.said["age"], 0.0);
  EXPECT_EQ(page.said["standby"], false);
  put(1, 3);
  now_ms_ += Picture::kSoonestMs;
  EXPECT_TRUE(ask(page));
  EXPECT_TRUE(page.said["changes"]);
  EXPECT_THAT(page.said["nodes"], SizeIs(1));
  EXPECT_FALSE(page.said.contains("names"));
  EXPECT_EQ(page.used, there());
  // What was touched and is as it was is no change.
  put(1, 3);
  remove(0);
  put(2, 5);
  now_ms_ += Picture::kSoonestMs;
  EXPECT_TRUE(ask(page));
  EXPECT_THAT(page.said["nodes"], SizeIs(1));
  EXPECT_EQ(page.said["names"], (json{"n1", "n2"}));
  EXPECT_EQ(page.used, there());
}

TEST_F(PictureTest, AsksTheLoopOnceForAllPages) {
  Page one, two;
  put(0, 1);
  EXPECT_TRUE(ask(one, {"n7"}));
  put(0, 2);
  now_ms_ += Picture::kSoonestMs / 2;
  EXPECT_FALSE(ask(two, {"n8"}));
  EXPECT_THAT(two.used, ElementsAre(std::pair("n0", 1)));
  EXPECT_EQ(two.said["age"], 0.5);
  now_ms_ += Picture::kSoonestMs / 2;
  EXPECT_TRUE(ask(two, {"n9"}));
  EXPECT_THAT(asked_first_, UnorderedElementsAre("n8", "n9")) << "what both show goes first";
  EXPECT_EQ(two.used, there());
  EXPECT_FALSE(ask(one));
  EXPECT_EQ(one.used, there()) << "the same answer for both";
  // While the loop is asked, nobody else asks it.
  now_ms_ += Picture::kSoonestMs;
  const auto under_way = picture_.question(now_ms_);
  ASSERT_TRUE(under_way);
  now_ms_ += Picture::kSoonestMs;
  EXPECT_FALSE(picture_.question(now_ms_));
  picture_.arrived(told(*under_way), now_ms_);
  now_ms_ += Picture::kSoonestMs;
  EXPECT_TRUE(picture_.question(now_ms_));
}

TEST_F(PictureTest, StatesOfOthersAreNone) {
  Page page;
  put(0, 1);
  ask(page);
  for (const std::string state : {"", "era.", "era.2", "era.0", "era.1x", "era.-1", "other.1",
                                  "era.99999999999999999999", "\xff<script>"}) {
    const json said = json::parse(picture_.answer(state, now_ms_));
    EXPECT_FALSE(said.contains("changes")) << state;
    EXPECT_THAT(said["nodes"], SizeIs(1)) << state;
  }
}

TEST_F(PictureTest, ForgetsWhatNobodyLooksAt) {
  Page page;
  put(0, 1);
  put(1, 1);
  ask(page);
  picture_.forget(now_ms_ + Picture::kForgottenMs);
  EXPECT_TRUE(picture_.known());
  now_ms_ += Picture::kForgottenMs + 1;
  picture_.forget(now_ms_);
  EXPECT_FALSE(picture_.known());
  remove(1);
  EXPECT_TRUE(ask(page));
  EXPECT_FALSE(page.said.contains("changes")) << "its state is of a picture that is gone";
  EXPECT_EQ(page.used, there());
  // Too old to be brought up to date, and not forgotten yet.
  now_ms_ += Picture::kForgottenMs + 1;
  put(0, 9);
  const auto choice = picture_.question(now_ms_);
  ASSERT_TRUE(choice);
  EXPECT_FALSE(choice->since);
  picture_.arrived(told(*choice), now_ms_);
  page.take(picture_, now_ms_);
  EXPECT_EQ(page.used, there());
}

// Whatever changes, the loop's time stays within its share, the nodes are told of in turn, and the
// age that is said is true.
TEST_F(PictureTest, KeepsToItsShareOfTheLoop) {
  constexpr uint32_t kNodes = 100;
  Page page;
  std::vector<int64_t> changed_ms(kNodes, -1);  // since when the page is wrong; -1: it is right
  us_per_node_ = 400;
  for (uint32_t slot = 0; slot < kNodes; ++slot) put(slot, 0);
  ask(page);
  const int64_t begin_ms = now_ms_;
  size_t late = 0;
  for (int second = 0; second < 300; ++second) {
    now_ms_ += 1'000;
    for (uint32_t slot = 0; slot < kNodes; ++slot) {
      put(slot, 1 + second);
      if (changed_ms[slot] < 0) changed_ms[slot] = now_ms_ - 1'000;
    }
    ask(page);
    for (const json& node : page.said["nodes"]) {
      const std::string name = node["node"];
      changed_ms[std::stoul(name.substr(1))] = -1;
    }
    const double age_ms = page.said["age"].get<double>() * 1e3;
    for (const int64_t since_ms : changed_ms) {
      if (since_ms < 0) continue;
      ++late;
      ASSERT_LE(static_cast<double>(now_ms_ - since_ms), age_ms + 1'000 + 0.5);
    }
  }
  EXPECT_GT(late, 0U);
  const auto passed_us = static_cast<double>(now_ms_ - begin_ms) * 1e3;
  EXPECT_LE(static_cast<double>(spent_us_), passed_us * Picture::kLoopShare + 2 * us_per_node_);
  EXPECT_GE(static_cast<double>(spent_us_), passed_us * Picture::kLoopShare * 0.8);
  const auto [first, last] =
      std::ranges::minmax_element(page.used, {}, [](const auto& node) { return node.second; });
  EXPECT_GT(first->second, 0) << "no node is passed over";
  EXPECT_LT(first->second, last->second);
}

// Pages that come and go, ask when they like, and are told of a few nodes at a time: once nothing
// changes any more, each has what there is.
TEST_F(PictureTest, ChangesMakeTheWhole) {
  std::mt19937_64 random(test::test_seed());
  const auto some = [&](size_t below) { return random() % below; };
  us_per_node_ = 300;
  std::vector<Page> pages(3);
  for (int round = 0; round < 300; ++round) {
    for (size_t changes = some(30); changes > 0; --changes) {
      const auto slot = static_cast<uint32_t>(some(20));
      if (some(6) == 0)
        remove(slot);
      else
        put(slot, static_cast<int64_t>(some(3)));
    }
    now_ms_ += static_cast<int64_t>(some(3'000));
    if (some(50) == 0) now_ms_ += Picture::kForgottenMs;
    if (some(10) == 0) picture_.forget(now_ms_);
    Page& page = pages[some(pages.size())];
    if (some(20) == 0) page = Page();
    ask(page, {name_of(static_cast<uint32_t>(some(20)))});
    if (some(5) != 0) continue;
    do {
      now_ms_ += Picture::kSoonestMs;
      ask(page);
    } while (page.said["behind"] != 0 || page.said["age"] != 0.0);
    for (Page& each : pages) {
      each.take(picture_, now_ms_);
      ASSERT_EQ(each.used, there()) << "round " << round;
    }
  }
  EXPECT_THAT(pages[0].used, ::testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace plimsoll::cli
