#include "config/profile/plugin_args.hpp"

#include <gtest/gtest.h>

#include "config/text/yaml_document.hpp"

namespace plimsoll::config {
namespace {

TEST(Args, ArePassedOn) {
  const auto passed = [](std::string_view text) {
    const ParsedText parsed = parse_single_document(text);
    return passed_on_args("NodeDevice", "DeviceShare", &parsed.documents.at(0));
  };
  EXPECT_EQ(passed("{apiVersion: a, kind: DeviceShareArgs, x: 1}"), R"({"x":1})");
  EXPECT_EQ(passed("{kind: NodeDeviceArgs, x: 1}"), R"({"x":1})");
  EXPECT_EQ(passed("{apiVersion: a, kind: Other, x: 1}"),
            R"({"apiVersion":"a","kind":"Other","x":1})");
  EXPECT_EQ(passed_on_args("A", "A", nullptr), "{}");
}

}  // namespace
}  // namespace plimsoll::config
