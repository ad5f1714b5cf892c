#include "config/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace plimsoll::config {
namespace {

// "kind source json" per object, or the error.
std::string summary(std::string_view text) {
  const auto objects = parse_manifests(text, "f");
  if (!objects) return "error: " + objects.error().message;
  std::string out;
  for (const ManifestObject& object : *objects) {
    out +=
        object.api_version + ' ' + object.kind + ' ' + object.source() + ' ' + object.json + '\n';
  }
  return out;
}

TEST(Manifest, ReadsSeveralYamlDocuments) {
  EXPECT_EQ(summary("apiVersion: v1\nkind: Pod\n---\n# nothing\n---\napiVersion: v1\nkind: Node\n"
                    "metadata: {name: a, labels: {x: \"1\"}}\n"),
            "v1 Pod f:1 {\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\n"
            "v1 Node f:6 {\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\","
            "\"labels\":{\"x\":\"1\"}}}\n");
}

TEST(Manifest, ExpandsLists) {
  const char* json =
      "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n"
      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",  \"n\":1.50},\n"
      "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n"
      "  {\"apiVersion\":\"x/v1\",\"kind\":\"Device\"}]}]}";
  EXPECT_EQ(summary(json),
            "v1 Pod f:2 {\"apiVersion\":\"v1\",\"kind\":\"Pod\",  \"n\":1.50}\n"
            "x/v1 Device f:4 {\"apiVersion\":\"x/v1\",\"kind\":\"Device\"}\n");
  EXPECT_EQ(summary("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"),
            "v1 Pod f:4 {\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\n");
  EXPECT_EQ(summary("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":null}"), "");
}

TEST(Manifest, GivesItemsOfTypedListsTheirKind) {
  EXPECT_EQ(summary("{\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"items\":[{\"a\":1},{}]}"),
            "v1 Pod f:1 {\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"a\":1}\n"
            "v1 Pod f:1 {\"kind\":\"Pod\",\"apiVersion\":\"v1\"}\n");
  EXPECT_EQ(summary("apiVersion: v1\nkind: PodList\nitems:\n- {a: 1}\n"),
            "v1 Pod f:4 {\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"a\":1}\n");
}

TEST(Manifest, ReadsJsonObjectsInARow) {
  EXPECT_EQ(
      summary("{\"apiVersion\":\"v1\",\"kind\":\"A\"}\n{\"apiVersion\":\"v1\",\"kind\":\"B\"}"),
      "v1 A f:1 {\"apiVersion\":\"v1\",\"kind\":\"A\"}\n"
      "v1 B f:2 {\"apiVersion\":\"v1\",\"kind\":\"B\"}\n");
}

TEST(Manifest, ReadsYamlFlowStyle) {
  EXPECT_EQ(summary("{apiVersion: v1, kind: A}"),
            "v1 A f:1 {\"apiVersion\":\"v1\",\"kind\":\"A\"}\n");
}

TEST(Manifest, ReportsEveryProblemWithItsLine) {
  EXPECT_EQ(
      summary(
          "kind: Pod\n---\napiVersion: v1\n---\n- 1\n---\napiVersion: v1\nkind: A\na: 1\na: 2\n"),
      "error: f:1:1: an object without an apiVersion: every object needs apiVersion, kind and "
      "metadata\n"
      "f:3:1: an object without a kind: every object needs apiVersion, kind and metadata\n"
      "f:5:1: expected a Kubernetes object, got a list\n"
      "f:10:1: duplicate field \"a\", first given in line 9");
  EXPECT_EQ(summary("{\"kind\": \"Pod\",\n \"x\": }"),
            "error: f:2:7: not valid JSON: not a JSON value: strings need double quotes");
  EXPECT_EQ(summary("[1, 2]"), "error: f:1:1: expected a Kubernetes object");
  EXPECT_EQ(summary("apiVersion: v1\nkind: Pod\nmetadata:\n  name: n\n  namespace: 007\n"),
            "error: f:4:9: metadata.name: expected a string, got the boolean false (n): put it in "
            "quotes\n"
            "f:5:14: metadata.namespace: expected a string, got the integer 7 (007): put it in "
            "quotes");
  EXPECT_EQ(summary("a: b: c\n"), "error: f:1:5: not valid YAML: illegal map value");
  std::string table = "job,gpus";  // no YAML at all
  for (int i = 0; i < 1000; ++i) table += "\n" + std::to_string(i) + ",8";
  EXPECT_THAT(summary(table),
              testing::MatchesRegex("error: f:1:1: expected a Kubernetes object, got "
                                    "the string \"job,gpus 0,8 1,8 .{150,185}[.]{3}\""));
}

TEST(Manifest, ReadsFiles) {
  const auto missing = load_manifests("tests/config/no_such_file.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "tests/config/no_such_file.yaml: No such file or directory");
  const auto folder = load_manifests("tests/config");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "tests/config: is a folder, not a file");
  const auto profile = load_manifests("examples/profiles/topology.yaml");
  ASSERT_TRUE(profile);
  ASSERT_EQ(profile->size(), 1U);
  EXPECT_EQ(profile->at(0).kind, "KubeSchedulerConfiguration");
}

}  // namespace
}  // namespace plimsoll::config
