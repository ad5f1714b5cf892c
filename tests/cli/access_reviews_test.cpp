// What the API server's reviews mean; whatever is odd must not let anybody in.

#include "cli/run/access_reviews.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "informer/http/base64.hpp"

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

// A token for the scheduler is believed only if the API server says that it looked at the audience.
TEST(TokenReview, TheAudienceMustComeBack) {
  const auto known = [](const std::string& audiences) {
    const auto user = read_token_review(
        R"({"status":{"authenticated":true,"user":{"username":"u"})" + audiences + "}}",
        kTokenAudience);
    return user.has_value() && user->has_value();
  };
  EXPECT_TRUE(known(R"(,"audiences":["x","plimsoll"])"));
  EXPECT_FALSE(known(R"(,"audiences":["https://kubernetes.default.svc"])"));
  EXPECT_FALSE(known(R"(,"audiences":"plimsoll")"));
  EXPECT_FALSE(known(""));
}

TEST(TokenReview, AJwtSaysWhomItIsFor) {
  const auto jwt = [](const std::string& claims) {
    std::string text = informer::encode_base64(claims);
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    text.erase(std::ranges::find(text, '='), text.end());
    return "e30." + text + ".c2ln";
  };
  EXPECT_TRUE(is_for_plimsoll(jwt(R"({"aud":["plimsoll"],"sub":"???>>>~~~"})")));
  EXPECT_TRUE(is_for_plimsoll(jwt(R"({"aud":"plimsoll"})")));
  for (const char* claims :
       {R"({"aud":["https://kubernetes.default.svc"]})", R"({"aud":{"plimsoll":1}})",
        R"({"aud":7})", R"({"sub":"plimsoll"})", R"(["plimsoll"])", "plimsoll", ""}) {
    EXPECT_FALSE(is_for_plimsoll(jwt(claims))) << claims;
  }
  for (const char* token : {"", ".", "..", "plimsoll", "a.*.b", "a.cGxpbXNvbGw"})
    EXPECT_FALSE(is_for_plimsoll(token)) << token;
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
