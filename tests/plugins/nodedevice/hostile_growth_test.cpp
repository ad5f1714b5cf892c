// Every list and map of Device objects and of annotations about devices: what an object costs, and
// the memory that it takes, is linear in its entries, and goes with it.

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "plugins/nodedevice/accounts/accounts.hpp"
#include "plugins/nodedevice/accounts/accounts_json.hpp"
#include "plugins/nodedevice/allocation/explain.hpp"
#include "tests/plugins/nodedevice/accounts_text.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"
#include "tests/support/growth.hpp"

namespace plimsoll::devices {
namespace {

using plimsoll::test::expect_linear;
using plimsoll::test::Growing;
using test::Json;

std::string numbered(const std::string& what, size_t round, size_t i) {
  return what + "-" + std::to_string(round) + "-" + std::to_string(i);
}

// A Device object, filled by `fill`; a pod asks for what its node has, and pods hold some of it.
void expect_linear_device(
    const std::string& what,
    const std::function<void(Json& object, size_t entries, size_t round)>& fill) {
  auto accounts = std::make_shared<Accounts>(test::types(), nullptr);
  accounts->node_added("n", 0);
  expect_linear(what, [&](size_t entries, size_t round) {
    Json object = test::fixture_a("n");
    fill(object, entries, round);
    const std::string text = object.dump();
    const auto take = [accounts, text] {
      static const std::vector<test::Ask> kAsks = {
          {{"nvidia.com/gpu", 2}}, {{"koordinator.sh/gpu", 30}}, {{"koordinator.sh/rdma", 1}}};
      accounts->device_changed("n", text);
      accounts->device_changed("n", text);  // reports repeat
      const Allocator allocator(test::types(), nullptr);
      for (const test::Ask& ask : kAsks) {
        PodDemand demand =
            test::demand_of(ask, R"({"rdma":{"vfSelector":{"matchLabels":{"a":"b"}}}})");
        Allocation given;
        (void)allocator.allocate(*accounts->at_slot(0), {}, demand, given);
        (void)explain_devices(test::types(), *accounts->at_slot(0), demand);
        const auto requests = test::quantities(ask);
        accounts->pod_assigned({"pod-of-" + ask[0].first, "n", std::nullopt, requests});
      }
      (void)test::accounts_text(*accounts);
      (void)accounts_json(*accounts);
    };
    const auto drop = [accounts] {
      accounts->device_deleted("n");
      for (const char* name : {"nvidia.com/gpu", "koordinator.sh/gpu", "koordinator.sh/rdma"})
        accounts->pod_removed("pod-of-" + std::string(name));
    };
    return Growing{take, drop};
  });
}

void annotate(Json& object, const char* key, const Json& value) {
  object["metadata"]["annotations"][key] = value.dump();
}

TEST(HostileGrowth, ListsAndMapsOfADeviceObject) {
  expect_linear_device("devices", [](Json& object, size_t entries, size_t) {
    for (size_t i = 0; i < entries; ++i)
      object["spec"]["devices"].push_back(test::gpu(static_cast<int>(entries - i) + 100, "16Gi"));
  });
  expect_linear_device("devices with one minor", [](Json& object, size_t entries, size_t) {
    for (size_t i = 0; i < entries; ++i) object["spec"]["devices"].push_back(test::gpu(9, "16Gi"));
  });
  expect_linear_device("devices that cannot be read", [](Json& object, size_t entries, size_t) {
    for (size_t i = 0; i < entries; ++i)
      object["spec"]["devices"].push_back({{"type", "gpu"}, {"minor", 100 + i}, {"resources", 7}});
  });
  for (const char* key : {"labels", "resources"})
    expect_linear_device(key, [key](Json& object, size_t entries, size_t round) {
      for (size_t i = 0; i < entries; ++i)
        object["spec"]["devices"][0][key][numbered("example.com/x", round, i)] = "1";
    });
  expect_linear_device("virtual functions", [](Json& object, size_t entries, size_t round) {
    Json& group = object["spec"]["devices"][8]["vfGroups"][0];
    for (size_t i = 0; i < entries; ++i)
      group["vfs"].push_back({{"minor", i}, {"busID", numbered("bus", round, i)}});
  });
  expect_linear_device(
      "virtual functions with labels", [](Json& object, size_t entries, size_t round) {
        Json& group = object["spec"]["devices"][8]["vfGroups"][0];
        for (size_t i = 0; i < entries / 2; ++i) {
          group["vfs"].push_back({{"minor", i}, {"busID", numbered("bus", round, i)}});
          group["labels"][numbered("label", round, i)] = "x";
        }
      });
  expect_linear_device("groups of them", [](Json& object, size_t entries, size_t round) {
    Json& groups = object["spec"]["devices"][8]["vfGroups"];
    for (size_t i = 0; i < entries; ++i)
      groups.push_back({{"vfs", {{{"busID", numbered("bus", round, i)}}}}});
  });
}

TEST(HostileGrowth, AnnotationsAndLabelsOfADeviceObject) {
  for (const char* key : {"labels", "annotations"})
    expect_linear_device(key, [key](Json& object, size_t entries, size_t round) {
      for (size_t i = 0; i < entries; ++i)
        object["metadata"][key][numbered("example.com/x", round, i)] = "y";
    });
  constexpr const char* kPartitions = "scheduling.koordinator.sh/gpu-partitions";
  expect_linear_device("partitions", [](Json& object, size_t entries, size_t) {
    Json list = Json::array();
    for (size_t i = 0; i < entries; ++i)
      list.push_back({{"minors", {i % 8, (i + 1) % 8}}, {"gpuLinkType", "NVLink"}});
    annotate(object, kPartitions, {{"2", list}});
  });
  expect_linear_device("sizes of partitions", [](Json& object, size_t entries, size_t) {
    Json table = Json::object();
    for (size_t i = 0; i < entries; ++i) table[std::to_string(i)] = Json::array();
    annotate(object, kPartitions, table);
  });
  expect_linear_device("minors of a partition", [](Json& object, size_t entries, size_t) {
    Json minors = Json::array();
    for (size_t i = 0; i < entries; ++i) minors.push_back(i);
    annotate(object, kPartitions, {{"2", {{{"minors", minors}, {"ringBusBandwidth", "1Gi"}}}}});
  });
  constexpr const char* kCheckpoints = "node.koordinator.sh/devices-checkpoints";
  expect_linear_device("checkpoints", [](Json& object, size_t entries, size_t round) {
    Json list = Json::array();
    for (size_t i = 0; i < entries; ++i)
      list.push_back({{"podUID", numbered("uid", round, i)}, {"deviceIDs", {"GPU-1"}}});
    annotate(object, kCheckpoints, list);
  });
  expect_linear_device("devices of a checkpoint", [](Json& object, size_t entries, size_t round) {
    Json ids = Json::array();
    for (size_t i = 0; i < entries; ++i) ids.push_back(numbered("GPU", round, i));
    annotate(object, kCheckpoints, {{{"podUID", "u"}, {"deviceIDs", ids}}});
  });
  expect_linear_device("checkpoints and devices", [](Json& object, size_t entries, size_t round) {
    Json list = Json::array();
    for (size_t i = 0; i < entries / 2; ++i) {
      object["spec"]["devices"].push_back(test::gpu(static_cast<int>(i) + 100, "16Gi"));
      list.push_back({{"podUID", numbered("uid", round, i)}, {"deviceIDs", {"GPU-101"}}});
    }
    annotate(object, kCheckpoints, list);
  });
  expect_linear_device("links", [](Json& object, size_t entries, size_t) {
    Json list = Json::array();
    for (size_t i = 0; i < entries; ++i) list.push_back({{"minors", {i % 8, (i + 1) % 8}}});
    annotate(object, "plimsoll.io/device-links", {{"gpu", list}});
  });
  expect_linear_device("minors of a link", [](Json& object, size_t entries, size_t) {
    Json minors = Json::array();
    for (size_t i = 0; i < entries; ++i) minors.push_back(i);
    annotate(object, "plimsoll.io/device-links", {{"gpu", {{{"minors", minors}}}}});
  });
}

// The annotation of a pod that asks for as many devices as there are entries.
void expect_linear_annotation(const std::string& what,
                              const std::function<Json(size_t entries, size_t round)>& text_of) {
  auto accounts = std::make_shared<Accounts>(test::types(), nullptr);
  accounts->node_added("n", 0);
  Json object = test::fixture_a("n");
  for (Json& device : object["spec"]["devices"])
    device["minor"] = device["minor"].get<int>() + 1'000'000;
  accounts->device_changed("n", object.dump());
  expect_linear(what, [&](size_t entries, size_t round) {
    const std::string text = text_of(entries, round).dump();
    const std::string uid = numbered("uid", round, entries);
    const auto take = [accounts, text, uid, entries] {
      const test::Ask ask{{"nvidia.com/gpu", static_cast<int64_t>(entries)}};
      const auto requests = test::quantities(ask);
      accounts->pod_assigned({uid, "n", text, requests});
      accounts->pod_assigned({uid, "n", text, requests});
      (void)test::accounts_text(*accounts);
      (void)explain_doubts(*accounts, *accounts->at_slot(0), 1);
    };
    return Growing{take, [accounts, uid] { accounts->pod_removed(uid); }};
  });
}

TEST(HostileGrowth, AllocationAnnotations) {
  const Json right = {{"koordinator.sh/gpu-core", "100"}};
  const auto list_of = [](const std::function<Json(size_t, size_t)>& entry) {
    return [entry](size_t entries, size_t round) {
      Json list = Json::array();
      for (size_t i = 0; i < entries; ++i) list.push_back(entry(i, round));
      return Json{{"gpu", list}};
    };
  };
  expect_linear_annotation("devices", list_of([&](size_t i, size_t) {
                             return Json{{"minor", 99'999 - i}, {"resources", right}};
                           }));
  expect_linear_annotation(
      "devices that contradict", list_of([](size_t i, size_t) {
        return Json{{"minor", i}, {"resources", {{"koordinator.sh/gpu-core", 1}}}};
      }));
  expect_linear_annotation("one device", list_of([&](size_t, size_t) {
                             return Json{{"minor", 0}, {"resources", right}};
                           }));
  expect_linear_annotation("entries that cannot be read", list_of([](size_t, size_t) {
                             return Json{{"minor", "x"}};
                           }));
  expect_linear_annotation("resources", [](size_t entries, size_t round) {
    Json resources = {{"koordinator.sh/gpu-core", "100"}};
    for (size_t i = 0; i < entries; ++i) resources[numbered("example.com/x", round, i)] = "1";
    return Json{{"gpu", {{{"minor", 0}, {"resources", resources}}}}};
  });
  expect_linear_annotation("virtual functions", [&](size_t entries, size_t round) {
    Json vfs = Json::array();
    for (size_t i = 0; i < entries; ++i) vfs.push_back({{"busID", numbered("bus", round, i)}});
    return Json{{"gpu", {{{"minor", 0}, {"resources", right}, {"extension", {{"vfs", vfs}}}}}}};
  });
  expect_linear_annotation("types", [](size_t entries, size_t round) {
    Json types = Json::object();
    for (size_t i = 0; i < entries; ++i) types[numbered("type", round, i)] = {{{"minor", i}}};
    return types;
  });
}

TEST(HostileGrowth, LinksOfANode) {
  auto accounts = std::make_shared<Accounts>(test::types(), nullptr);
  accounts->node_added("n", 0);
  accounts->device_changed("n", test::fixture_a("n").dump());
  for (const bool one : {true, false})
    expect_linear(one ? "minors of a link of the Node" : "links of the Node", [&](size_t entries,
                                                                                  size_t round) {
      Json minors = Json::array();
      Json list = Json::array();
      for (size_t i = 0; i < entries; ++i) {
        minors.push_back(i);
        list.push_back({{"minors", {i % 8, (i + 1) % 8}}, {"type", numbered("t", round, i)}});
      }
      if (one) list = {{{"minors", minors}, {"type", numbered("t", round, 0)}}};
      const std::string text = Json{{"gpu", list}}.dump();
      return Growing{[=] { (void)accounts->node_links("n", text); },
                     [=] { (void)accounts->node_links("n", std::nullopt); }};
    });
}

TEST(HostileGrowth, HintsOfAPod) {
  const auto parses = [](const std::string& what, const std::function<Json(size_t, size_t)>& hint,
                         bool is_joint = false) {
    expect_linear(what, [&](size_t entries, size_t round) {
      const std::string text = hint(entries, round).dump();
      auto kept = std::make_shared<DeviceHints>();
      return Growing{[=] {
                       auto read = is_joint ? parse_device_hints(test::types(), "", text, "")
                                            : parse_device_hints(test::types(), text, "", "");
                       if (read) *kept = *std::move(read);
                     },
                     [=] { *kept = {}; }};
    });
  };
  parses("labels", [](size_t entries, size_t round) {
    Json labels = Json::object();
    for (size_t i = 0; i < entries; ++i) labels[numbered("label", round, i)] = "x";
    return Json{{"rdma", {{"selector", {{"matchLabels", labels}}}}}};
  });
  parses("expressions", [](size_t entries, size_t round) {
    Json list = Json::array();
    for (size_t i = 0; i < entries; ++i)
      list.push_back({{"key", numbered("key", round, i)}, {"operator", "Exists"}});
    return Json{{"rdma", {{"vfSelector", {{"matchExpressions", list}}}}}};
  });
  parses("values", [](size_t entries, size_t round) {
    Json values = Json::array();
    for (size_t i = 0; i < entries; ++i) values.push_back(numbered("value", round, i));
    return Json{
        {"rdma",
         {{"selector",
           {{"matchExpressions", {{{"key", "k"}, {"operator", "In"}, {"values", values}}}}}}}}};
  });
  parses(
      "types",
      [](size_t entries, size_t round) {
        Json names = Json::array();
        for (size_t i = 0; i < entries; ++i) names.push_back(numbered("type", round, i));
        return Json{{"deviceTypes", names}};
      },
      true);
}

}  // namespace
}  // namespace plimsoll::devices
