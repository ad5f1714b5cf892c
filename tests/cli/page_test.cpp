// The page as it is served, and as one file.

#include "ui/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plimsoll::ui {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string header(const serving::Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return "";
}

TEST(Page, IsServedWithAPolicyThatLetsNothingElseRun) {
  std::size_t bytes = 0;
  for (const std::string& name : names()) {
    const serving::Response answer = file(name);
    EXPECT_EQ(answer.status, 200) << name;
    bytes += answer.body.size();
    EXPECT_THAT(header(answer, "Content-Security-Policy"),
                AllOf(HasSubstr("default-src 'none'; script-src 'self'; style-src 'self'; "
                                "connect-src 'self'"),
                      HasSubstr("frame-ancestors 'none'"), Not(HasSubstr("unsafe"))));
    EXPECT_EQ(header(answer, "Referrer-Policy"), "no-referrer");
  }
  EXPECT_LT(bytes, 300'000U);
  EXPECT_EQ(file("").content_type, "text/html; charset=utf-8");
  EXPECT_EQ(file("../index.html").status, 404);
  // Every script of the page is in a file, and every file is one of the page's.
  EXPECT_THAT(file("").body, Not(AnyOf(HasSubstr("://"), HasSubstr("style=\""),
                                       ContainsRegex("<script>| on[a-z]+="))));
  EXPECT_THAT(file("app.js").body, Not(AnyOf(HasSubstr("innerHTML"), HasSubstr("outerHTML"),
                                             HasSubstr("eval("), HasSubstr("insertAdjacentHTML"),
                                             HasSubstr("document.write"), HasSubstr("DOMParser"))));
}

TEST(Page, NothingThatTheDataSaysEndsItsBlock) {
  const json data{{"</script><script>alert(1)</script>", "<!--<script>"}};
  const std::string page = single_file(data.dump());
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::size_t end = page.find('<', at + begin.size());
  EXPECT_EQ(page.compare(end, 9, "</script>"), 0);
  EXPECT_EQ(json::parse(page.substr(at + begin.size(), end - at - begin.size())), data);
  EXPECT_EQ(json::parse(data_of(page).value()), data);
  EXPECT_EQ(data_of("{}"), std::nullopt);
  EXPECT_THAT(page, Not(AnyOf(HasSubstr("app.js"), HasSubstr("style.css"))));
  EXPECT_THAT(page, ContainsRegex("content=\"default-src 'none'; script-src "
                                  "'sha256-[A-Za-z0-9+/]{43}='; style-src "
                                  "'sha256-[A-Za-z0-9+/]{43}='; img-src data:"));
}

}  // namespace
}  // namespace plimsoll::ui
