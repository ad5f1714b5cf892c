#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "lab/sandbox/apiserver/api_server.hpp"
#include "tests/sandbox/http_client.hpp"

namespace plimsoll::sandbox::test {
namespace {

using nlohmann::json;

class WatchTest : public testing::Test {
 protected:
  explicit WatchTest(ServerOptions options = {}, StoreOptions store_options = {})
      : store(store_options), server(ApiServer::start(store, std::move(options)).value()) {}

  void create(const std::string& name, json labels = json::object()) {
    ASSERT_TRUE(store.create(kPods, {{"metadata", {{"name", name}, {"labels", std::move(labels)}}},
                                     {"status", {{"phase", "Pending"}}}}));
  }
  // The server notices an end a little after its client.
  void await_no_watches() {
    for (int i = 0; i < 3000 && server->open_watches() > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(server->open_watches(), 0U);
  }
  void set_phase(const std::string& name, const std::string& phase) {
    ASSERT_TRUE(store.modify(kPods, {"default", name}, {}, [&](json& pod) -> ApiResult<void> {
      pod["status"]["phase"] = phase;
      return {};
    }));
  }
  std::string now() const { return std::to_string(store.resource_version()); }
  std::string watch_path(const std::string& query) const {
    return "/api/v1/pods?watch=true&" + query;
  }

  ObjectStore store;
  std::unique_ptr<ApiServer> server;
};

// "ADDED a", "BOOKMARK ", ...
std::string show(const std::optional<json>& event) {
  if (!event) return "nothing";
  return (*event)["type"].get<std::string>() + " " +
         (*event)["object"]["metadata"].value("name", "");
}

TEST_F(WatchTest, SendsWhatHappensAfterTheVersion) {
  create("before");
  const std::string version = now();
  create("between");
  WatchClient watch(server->port(), watch_path("resourceVersion=" + version));
  EXPECT_EQ(show(watch.next()), "ADDED between");
  create("after");
  set_phase("before", "Running");
  ASSERT_TRUE(store.remove(kPods, {"default", "after"}));
  EXPECT_EQ(show(watch.next()), "ADDED after");
  const auto modified = watch.next();
  EXPECT_EQ(show(modified), "MODIFIED before");
  EXPECT_EQ((*modified)["object"]["status"]["phase"], "Running");
  const auto deleted = watch.next();
  EXPECT_EQ(show(deleted), "DELETED after");
  EXPECT_EQ((*deleted)["object"]["metadata"]["resourceVersion"], now());
}

TEST_F(WatchTest, WithoutAVersionTheStateComesFirst) {
  create("a");
  create("b");
  for (const char* query : {"", "resourceVersion=0"}) {
    WatchClient watch(server->port(), watch_path(query));
    EXPECT_EQ(show(watch.next()), "ADDED a");
    EXPECT_EQ(show(watch.next()), "ADDED b");
  }
}

TEST_F(WatchTest, SelectorsTurnChangesIntoArrivalsAndDepartures) {
  create("a");
  WatchClient watch(server->port(),
                    watch_path("fieldSelector=status.phase!%3DSucceeded&resourceVersion=" + now()));
  set_phase("a", "Running");
  set_phase("a", "Succeeded");
  set_phase("a", "Pending");
  EXPECT_EQ(show(watch.next()), "MODIFIED a");
  const auto left = watch.next();
  EXPECT_EQ(show(left), "DELETED a");
  EXPECT_EQ((*left)["object"]["status"]["phase"], "Running");
  const auto back = watch.next();
  EXPECT_EQ(show(back), "ADDED a");
  EXPECT_GT(std::stoull((*back)["object"]["metadata"]["resourceVersion"].get<std::string>()),
            std::stoull((*left)["object"]["metadata"]["resourceVersion"].get<std::string>()));
}

TEST_F(WatchTest, NamespacesAndLabelsNarrowAWatch) {
  WatchClient watch(
      server->port(),
      "/api/v1/namespaces/other/pods?watch=1&labelSelector=x%3D1&resourceVersion=" + now());
  create("a", {{"x", "1"}});
  for (const char* x : {"0", "1"}) {
    ASSERT_TRUE(store.create(
        kPods,
        {{"metadata",
          {{"name", std::string("o") + x}, {"namespace", "other"}, {"labels", {{"x", x}}}}}}));
  }
  EXPECT_EQ(show(watch.next()), "ADDED o1");
}

TEST_F(WatchTest, StreamingListEndsTheInitialStateWithABookmark) {
  create("a");
  const std::string path = watch_path("sendInitialEvents=true&allowWatchBookmarks=true");
  WatchClient refused(server->port(), path);
  EXPECT_EQ(refused.code(), 422);
  WatchClient watch(server->port(), path + "&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(show(watch.next()), "ADDED a");
  const auto bookmark = watch.next();
  EXPECT_EQ(show(bookmark), "BOOKMARK ");
  EXPECT_EQ((*bookmark)["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
  EXPECT_EQ((*bookmark)["object"]["metadata"]["resourceVersion"], now());
  EXPECT_EQ((*bookmark)["object"]["kind"], "Pod");
  create("b");
  EXPECT_EQ(show(watch.next()), "ADDED b");
}

TEST_F(WatchTest, TimeoutEndsWithABookmarkAndTheConnectionLives) {
  WatchClient watch(
      server->port(),
      watch_path("timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion=" + now()));
  ASSERT_TRUE(store.create(kNodes, {{"metadata", {{"name", "n"}}}}));
  const auto bookmark = watch.next();
  EXPECT_EQ(show(bookmark), "BOOKMARK ");
  EXPECT_EQ((*bookmark)["object"]["metadata"]["resourceVersion"], now());
  EXPECT_EQ(show(watch.next()), "nothing");
  EXPECT_TRUE(watch.ended());
  await_no_watches();
  HttpClient client(server->port());
  EXPECT_EQ(client.get(watch_path("timeoutSeconds=1&resourceVersion=" + now())).body, "");
  EXPECT_EQ(client.get("/readyz").body, "ok");  // the same connection serves the next request
}

TEST_F(WatchTest, AGoneClientIsNoticed) {
  {
    WatchClient watch(server->port(), watch_path("resourceVersion=" + now()));
    EXPECT_EQ(server->open_watches(), 1U);
  }
  await_no_watches();
}

TEST_F(WatchTest, DisconnectCutsWatches) {
  WatchClient watch(server->port(), watch_path("resourceVersion=" + now()));
  server->disconnect_clients();
  EXPECT_EQ(show(watch.next()), "nothing");
  EXPECT_FALSE(watch.ended());
  EXPECT_EQ(WatchClient(server->port(), watch_path("resourceVersion=" + now())).code(), 200);
}

TEST_F(WatchTest, RemovingTheKindEndsItsWatches) {
  WatchClient watch(
      server->port(),
      "/apis/scheduling.koordinator.sh/v1alpha1/devices?watch=1&resourceVersion=" + now());
  ASSERT_TRUE(store.remove_kind(kDevices));
  EXPECT_EQ(show(watch.next()), "nothing");
  EXPECT_TRUE(watch.ended());
}

class ShortHistory : public WatchTest {
 protected:
  ShortHistory() : WatchTest({}, {.history_per_kind = 4}) {}
};

TEST_F(ShortHistory, TooOldIsGone) {
  const std::string version = now();
  for (int i = 0; i < 10; ++i) create("p" + std::to_string(i));
  WatchClient watch(server->port(), watch_path("resourceVersion=" + version));
  EXPECT_EQ(watch.code(), 410);
  const json status = json::parse(watch.failure());
  EXPECT_EQ(status["reason"], "Expired");
  EXPECT_THAT(status["message"].get<std::string>(),
              testing::StartsWith("too old resource version: "));
}

class FrequentBookmarks : public WatchTest {
 protected:
  FrequentBookmarks() : WatchTest({.bookmark_interval = std::chrono::milliseconds(30)}) {}
};

TEST_F(FrequentBookmarks, AdvanceTheVersionOfAQuietKind) {
  WatchClient watch(server->port(), watch_path("allowWatchBookmarks=1&resourceVersion=" + now()));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store.create(kNodes, {{"metadata", {{"name", "n" + std::to_string(i)}}}}));
  }
  const std::string latest = now();
  std::string seen;
  for (int i = 0; i < 100 && seen != latest; ++i) {
    const auto bookmark = watch.next();
    ASSERT_EQ(show(bookmark), "BOOKMARK ");
    seen = (*bookmark)["object"]["metadata"]["resourceVersion"];
  }
  EXPECT_EQ(seen, latest);
}

TEST(WatchList, CanBeSwitchedOff) {
  ObjectStore store;
  const auto server = ApiServer::start(store, {.handler = {.watch_list = false}}).value();
  WatchClient watch(
      server->port(),
      "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(watch.code(), 422);
  EXPECT_THAT(watch.failure(), testing::HasSubstr("WatchList feature gate"));
}

}  // namespace
}  // namespace plimsoll::sandbox::test
