// What the API server's reviews mean; whatever is odd must not let anybody in.

#include "cli/access_reviews.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(TokenReview, NamesTheUser) {
  const auto user = read_token_review(
      R"({"kind":"TokenReview","status":{"authenticated":true,"audiences":["x"],"user":{
          "username":"system:serviceaccount:a:b","uid":"7","groups":["g","h"],
          "extra":{"k":["v","w"]}}}})");
  ASSERT_TRUE(user.has_value() && user->has_value());
  EXPECT_EQ((*user)->name, "system:serviceaccount:a:b");
  EXPECT_EQ((*user)->uid, "7");
  EXPECT_THAT((*user)->groups, ElementsAre("g", "h"));
  EXPECT_THAT((*user)->extra, ElementsAre(Pair("k", ElementsAre("v", "w"))));
  const auto bare = read_token_review(
      R"({"status":{"authenticated":true,"user":{"username":"u","groups":null}}})");
  ASSERT_TRUE(bare.has_value() && bare->has_value());
  EXPECT_EQ((*bare)->name, "u");
}

TEST(TokenReview, SomebodyMustBeNamed) {
  for (const char* body :
       {R"({"status":{}})", R"({"status":{"authenticated":false,"user":{"username":"u"}}})",
        R"({"status":{"error":"invalid bearer token","user":{}}})"}) {
    const auto user = read_token_review(body);
    ASSERT_TRUE(user.has_value()) << body;
    EXPECT_FALSE(user->has_value()) << body;
  }
  for (const char* body :
       {"", "[]", "null", "{", R"({"status":7})", R"({"status":null})",
        R"({"status":{"authenticated":"true","user":{"username":"u"}}})",
        R"({"status":{"authenticated":true}})", R"({"status":{"authenticated":true,"user":{}}})",
        R"({"status":{"authenticated":true,"user":[]}})",
        R"({"status":{"authenticated":true,"user":{"username":["u"]}}})",
        R"({"status":{"authenticated":true,"user":{"username":"u","groups":"g"}}})",
        R"({"status":{"authenticated":true,"user":{"username":"u","extra":["k"]}}})"}) {
    EXPECT_FALSE(read_token_review(body).has_value()) << body;
  }
}

TEST(AccessReview, OnlyAYesIsAYes) {
  const auto allowed = [](const char* body) { return read_access_review(body).value_or(false); };
  EXPECT_TRUE(allowed(R"({"status":{"allowed":true,"reason":"RBAC"}})"));
  EXPECT_TRUE(allowed(R"({"status":{"allowed":true,"denied":false}})"));
  EXPECT_FALSE(allowed(R"({"status":{"allowed":true,"denied":true}})"));
  EXPECT_FALSE(allowed(R"({"status":{"allowed":false}})"));
  EXPECT_FALSE(allowed(R"({"status":{}})"));
  EXPECT_FALSE(allowed(R"({"status":{"evaluationError":"x"}})"));
  for (const char* body : {"", "{}", R"({"status":true})", R"({"status":{"allowed":1}})"}) {
    EXPECT_FALSE(read_access_review(body).has_value()) << body;
  }
}

}  // namespace
}  // namespace plimsoll::cli
