#include "plugins/dynamicresources/values/semver.hpp"

#include <gtest/gtest.h>

namespace plimsoll::dra {
namespace {

TEST(Semver, ReadsWhatTheStandardAllows) {
  for (const char* text : {"0.0.0", "1.2.3", "10.20.30", "1.0.0-alpha", "1.0.0-alpha.1",
                           "1.0.0-0A.is.legal", "1.0.0-x-y-z.--", "1.0.0+build.001",
                           "1.0.0-rc.1+build.1", "1.0.0--1.0.0", "18446744073709551615.0.0"}) {
    EXPECT_TRUE(Semver::parse(text).has_value()) << text;
  }
  for (const char* text : {"",
                           "1",
                           "1.2",
                           "1.2.3.4",
                           "01.2.3",
                           "1.02.3",
                           "1.2.03",
                           "v1.2.3",
                           " 1.2.3",
                           "1.2.3 ",
                           "1.2.3-",
                           "1.2.3+",
                           "1.2.3-a..b",
                           "1.2.3-01",
                           "1.2.3-é",
                           "1.2.3+a..b",
                           "-1.2.3",
                           "1.2.x",
                           "18446744073709551616.0.0",
                           "1.2.3-18446744073709551616"}) {
    EXPECT_FALSE(Semver::parse(text).has_value()) << text;
  }
}

TEST(Semver, OrdersAsTheStandardDoes) {
  const char* rising[] = {"0.9.9",        "1.0.0-1",       "1.0.0-2",          "1.0.0-11",
                          "1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
                          "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",       "1.0.0",
                          "1.0.1",        "1.2.0",         "2.0.0-0",          "2.0.0"};
  for (size_t i = 0; i < std::size(rising); ++i) {
    for (size_t j = 0; j < std::size(rising); ++j) {
      EXPECT_EQ(Semver::parse(rising[i]) < Semver::parse(rising[j]), i < j)
          << rising[i] << " " << rising[j];
    }
  }
  EXPECT_EQ(Semver::parse("1.0.0+a"), Semver::parse("1.0.0+b"));
}

TEST(Semver, ReadsShortFormsWhereThatIsAskedFor) {
  const auto same = [](const char* lenient, const char* strict) {
    EXPECT_EQ(Semver::parse_lenient(lenient), Semver::parse(strict)) << lenient;
  };
  same("v1.2.3", "1.2.3");
  same("v01.002", "1.2.0");
  same("1", "1.0.0");
  same("000.1.0", "0.1.0");
  same("1.2.03-rc.1+b", "1.2.3-rc.1");
  for (const char* text : {"", "v", "1.2-rc", "1+b", " 1.0.0", "1.0.0 ", "vv1", "1..2", "1.2.3-01"})
    EXPECT_FALSE(Semver::parse_lenient(text).has_value()) << text;
}

}  // namespace
}  // namespace plimsoll::dra
