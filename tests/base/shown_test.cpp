// What strangers wrote does not reach a log or a terminal raw.

#include "framework/base/shown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "framework/base/log.hpp"
#include "framework/base/quote.hpp"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Shown, OnlyWhatMustNotBeRawChanges) {
  const struct {
    std::string_view raw, shown;
  } cases[] = {
      {"", ""},
      {"plain \\ \"text\" ~", "plain \\ \"text\" ~"},
      {"Gerät 装置 🚢", "Gerät 装置 🚢"},
      {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
      {"\x1b[2J\x07\x7f", "\\u001b[2J\\u0007\\u007f"},
      {std::string_view("a\0b", 3), "a\\u0000b"},
      {"csi \xc2\x9b nel \xc2\x85", "csi \\u009b nel \\u0085"},
      {"\u202eevil\u202c \u2066x\u2069 \u200f\u061c",
       "\\u202eevil\\u202c \\u2066x\\u2069 \\u200f\\u061c"},
      {"line\u2028paragraph\u2029", "line\\u2028paragraph\\u2029"},
      {"\x9b half \xe2\x82", "\ufffd half \ufffd\ufffd"},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(shown(each.raw), each.shown);
    EXPECT_EQ(shown(each.shown), each.shown) << "twice";
  }
  EXPECT_EQ(shown_lines("a\nb\tc\r\x1b"), "a\nb\tc\\r\\u001b");
}

TEST(Shown, QuotedTextsHaveTheSameRule) {
  std::string json;
  append_json_string(json, "\x1b\u009b\u202e\"\n\x9b");
  EXPECT_EQ(json, "\"\\u001b\\u009b\\u202e\\\"\\n\ufffd\"");
  EXPECT_EQ(go_quoted("\x1b\u009b\u202e"), "\"\\x1b\\u009b\\u202e\"");
}

// A message is read by people; what it is about may be a whole file.
TEST(Shown, OfALongTextTheBeginningIsQuoted) {
  const std::string longest(200, 'a');
  EXPECT_EQ(go_quoted(longest), '"' + longest + '"');
  EXPECT_EQ(go_quoted(longest + "b"), '"' + longest + "...\"");
  EXPECT_EQ(go_quoted(longest.substr(1) + "\u00e4b"), '"' + longest.substr(1) + "...\"");
}

TEST(Shown, WhatAProgramPrints) {
  std::ostringstream terminal;
  {
    const ShownOutput output(terminal);
    terminal << "POD  "
             << "a\x1b]0;title\x07"
             << "\n\tb " << 17;
    EXPECT_EQ(terminal.str(), "POD  a\\u001b]0;title\\u0007\n") << "by lines";
    terminal << std::flush;
    EXPECT_EQ(terminal.str(), "POD  a\\u001b]0;title\\u0007\n\tb 17");
    terminal << "\xe2\x80"
             << "\xae last";  // a character that comes in two parts
  }
  EXPECT_EQ(terminal.str(), "POD  a\\u001b]0;title\\u0007\n\tb 17\\u202e last");
  terminal << "\x1b";
  EXPECT_THAT(terminal.str(), HasSubstr("\x1b")) << "it is over";
}

TEST(Shown, RecordsOfTheLog) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    ::testing::internal::CaptureStderr();
    log_to_stderr(LogLevel::kInfo, format);
    log_warn("said \x1b[1A\nforged", {{"pod", "ns/\x1b[2K\u202e"}, {"why", "two words\x9b\r"}});
    log_warn("the next one");
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, Not(HasSubstr("\x1b")));
    EXPECT_THAT(log, Not(HasSubstr("\r")));
    EXPECT_THAT(log, Not(HasSubstr("\u202e")));
    EXPECT_THAT(log, Not(HasSubstr("\nforged")));
    EXPECT_THAT(log, HasSubstr("said \\u001b[1A\\nforged"));
    EXPECT_THAT(log, HasSubstr("ns/\\u001b[2K\\u202e"));
    EXPECT_THAT(log, HasSubstr("two words\ufffd\\r"));
  }
}

}  // namespace
}  // namespace plimsoll
