// Many writers, several watchers: every watcher sees every event, once and in order.

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

#include "lab/sandbox/apiserver/api_server.hpp"
#include "tests/sandbox/http_client.hpp"

namespace plimsoll::sandbox::test {
namespace {

using nlohmann::json;

constexpr int kPodCount = 20'000;
constexpr int kWatchers = 4;

struct Seen {
  int added = 0;
  int modified = 0;
  int deleted = 0;
  bool in_order = true;
  std::map<std::string, std::string> state;  // name -> resourceVersion, as the events build it
};

Seen follow(std::uint16_t port, const std::string& path, int expected) {
  Seen seen;
  std::uint64_t last = 0;
  WatchClient watch(port, path);
  for (int i = 0; i < expected; ++i) {
    const auto event = watch.next(60'000);
    if (!event) return seen;
    const std::string type = (*event)["type"];
    const json& metadata = (*event)["object"]["metadata"];
    const std::string version = metadata["resourceVersion"];
    seen.in_order = seen.in_order && std::stoull(version) > last;
    last = std::stoull(version);
    if (type == "ADDED") ++seen.added;
    if (type == "MODIFIED") ++seen.modified;
    if (type == "DELETED") ++seen.deleted;
    if (type == "DELETED")
      seen.state.erase(metadata["name"]);
    else
      seen.state[metadata["name"]] = version;
  }
  return seen;
}

TEST(Load, EveryWatcherSeesEveryEventInOrder) {
  ObjectStore store({.history_per_kind = 4 * kPodCount});
  const auto server = ApiServer::start(store).value();
  const std::string version = std::to_string(store.resource_version());
  constexpr int kExpected = kPodCount + kPodCount / 2 + kPodCount / 4;

  std::vector<Seen> seen(kWatchers);
  std::vector<std::thread> threads;
  for (int i = 0; i < kWatchers; ++i) {
    threads.emplace_back([&, i] {
      seen[i] =
          follow(server->port(), "/api/v1/pods?watch=1&resourceVersion=" + version, kExpected);
    });
  }
  const auto write = [&](int from) {
    for (int i = from; i < kPodCount; i += 2) {
      const std::string name = "pod-" + std::to_string(i);
      ASSERT_TRUE(store.create(kPods, {{"metadata", {{"name", name}}}}));
      if (i % 4 < 2) {
        ASSERT_TRUE(store.modify(kPods, {"default", name}, {}, [](json& pod) -> ApiResult<void> {
          pod["spec"]["nodeName"] = "n";
          return {};
        }));
      }
      if (i % 8 < 2) {
        ASSERT_TRUE(store.remove(kPods, {"default", name}));
      }
    }
  };
  std::thread even([&] { write(0); });
  write(1);
  even.join();
  for (std::thread& thread : threads) thread.join();

  HttpClient client(server->port());
  std::map<std::string, std::string> final_state;
  const json list = client.get("/api/v1/pods?resourceVersion=0").json();
  for (const json& pod : list["items"]) {
    final_state[pod["metadata"]["name"]] = pod["metadata"]["resourceVersion"];
  }
  EXPECT_EQ(final_state.size(), static_cast<std::size_t>(kPodCount - kPodCount / 4));
  for (const Seen& one : seen) {
    EXPECT_TRUE(one.in_order);
    EXPECT_EQ(one.added, kPodCount);
    EXPECT_EQ(one.modified, kPodCount / 2);
    EXPECT_EQ(one.deleted, kPodCount / 4);
    EXPECT_EQ(one.state, final_state);
  }
}

}  // namespace
}  // namespace plimsoll::sandbox::test
