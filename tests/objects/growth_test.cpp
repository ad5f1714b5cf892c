// Cost and memory of the objects that the framework decodes grow as they do, and go when they go.
#include <gtest/gtest.h>

#include <functional>
#include <plimsoll/kinds.hpp>
#include <string>

#include "framework/objects/kinds.hpp"
#include "framework/objects/object_store.hpp"
#include "tests/support/growth.hpp"

namespace plimsoll {
namespace {

// `text(i)` joined by commas.
std::string joined(size_t count, const std::function<std::string(const std::string&)>& text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += (i == 0 ? "" : ",") + text(std::to_string(i));
  return all;
}

void expect_linear_object(std::string_view resource, const std::string& begin,
                          const std::function<std::string(const std::string&)>& entry,
                          const std::string& end) {
  ObjectStore store;
  // The reader keeps scratch memory for the largest object so far: it is there from the start.
  (void)decode_object(resource, "ns", "n", begin + joined(test::GrowthLimits().many, entry) + end);
  test::expect_linear(std::string(resource) + " " + begin, [&](size_t entries, size_t round) {
    RawObject raw{std::string(resource),
                  "ns",
                  "n" + std::to_string(round),
                  "",
                  "",
                  begin + joined(entries, entry) + end};
    return test::Growing{[&store, raw] { store.put(*decoded(raw)); },
                         [&store, raw] { store.erase(raw); }};
  });
}

std::string label(const std::string& number) {
  return "\"k" + number + "\": \"v" + number + "\"";
}

TEST(ObjectGrowth, Labels) {
  expect_linear_object(sdk::kNamespaces.resource, R"({"metadata": {"labels": {)", label, "}}}");
}

TEST(ObjectGrowth, Selectors) {
  expect_linear_object(sdk::kServices.resource, R"({"spec": {"selector": {)", label, "}}}");
  expect_linear_object(
      sdk::kStatefulSets.resource, R"({"spec": {"selector": {"matchExpressions": [)",
      [](const std::string& number) {
        return R"({"key": "k)" + number + R"(", "operator": "In", "values": ["v"]})";
      },
      "]}}}");
}

TEST(ObjectGrowth, PodGroups) {
  for (const char* begin : {R"({"status": {"conditions": [)", R"({"spec": {"resourceClaims": [)"}) {
    expect_linear_object(
        "podgroups.v1beta1.scheduling.k8s.io", begin,
        [](const std::string& number) {
          return R"({"type": "PodGroupInitiallyScheduled", "message": "m)" + number + "\"}";
        },
        "]}}");
  }
}

TEST(ObjectGrowth, DevicesAndClaims) {
  const auto device = [](const std::string& number) {
    return R"({"name": "d)" + number + R"(", "attributes": {"a)" + number +
           R"(": {"ints": [1, 2]}}, "capacity": {"c": {"value": "1"}}})";
  };
  expect_linear_object(sdk::kResourceSlices.resource, R"({"spec": {"devices": [)", device, "]}}");
  expect_linear_object(
      sdk::kResourceSlices.resource, R"({"spec": {"devices": [{"attributes": {)",
      [](const std::string& number) { return "\"a" + number + R"(": {"string": "x"})"; }, "}}]}}");
  expect_linear_object(
      sdk::kResourceClaims.resource, R"({"status": {"reservedFor": [)",
      [](const std::string& number) {
        return R"({"resource": "pods", "name": "p", "uid": ")" + number + "\"}";
      },
      "]}}");
}

TEST(ObjectGrowth, DisruptedPods) {
  expect_linear_object(sdk::kDisruptionBudgets.resource, R"({"status": {"disruptedPods": {)", label,
                       "}}}");
}

TEST(ObjectGrowth, StorageObjects) {
  expect_linear_object(sdk::kPersistentVolumeClaims.resource, R"({"metadata": {"annotations": {)",
                       label, "}}}");
  expect_linear_object(
      sdk::kPersistentVolumes.resource,
      R"({"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [)",
      [](const std::string& number) {
        return R"({"matchExpressions": [{"key": "k", "operator": "In", "values": [")" + number +
               R"("]}]})";
      },
      "]}}}}");
  expect_linear_object(
      sdk::kCsiNodes.resource, R"({"spec": {"drivers": [)",
      [](const std::string& number) { return R"({"name": "d)" + number + R"("})"; }, "]}}");
}

// Not only large ones: many of them, each in a namespace of its own.
TEST(ObjectGrowth, ManyObjects) {
  ObjectStore store;
  test::expect_linear("many services", [&](size_t entries, size_t round) {
    const auto each = [=](const std::function<void(const RawObject&)>& visit) {
      for (size_t i = 0; i < entries; ++i) {
        const std::string ns = std::to_string(round) + "-" + std::to_string(i);
        visit({"services", ns, "web", "", "", R"({"spec": {"selector": {"app": "a"}}})"});
      }
    };
    return test::Growing{
        [&store, each] { each([&](const RawObject& raw) { store.put(*decoded(raw)); }); },
        [&store, each] { each([&](const RawObject& raw) { store.erase(raw); }); }};
  });
}

}  // namespace
}  // namespace plimsoll
