#include "lab/sandbox/store/object_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

json pod(const std::string& name, const std::string& ns = "default") {
  return {{"metadata", {{"name", name}, {"namespace", ns}}},
          {"spec", {{"containers", json::array()}}}};
}

ApiResult<void> label(json& object, const std::string& value) {
  object["metadata"]["labels"]["v"] = value;
  return {};
}

TEST(ObjectStore, FillsInIdentityAndGivesOneVersionPerWrite) {
  ObjectStore store({.seed = 7});
  const auto first = store.create(kPods, pod("a"));
  const auto second = store.create(kNodes, {{"metadata", {{"name", "n"}}}});
  ASSERT_TRUE(first && second);
  EXPECT_GT((*second)->resource_version, (*first)->resource_version);
  const json object = (*first)->parse();
  EXPECT_EQ(object["apiVersion"], "v1");
  EXPECT_EQ(object["kind"], "Pod");
  EXPECT_EQ(object["metadata"]["resourceVersion"], std::to_string((*first)->resource_version));
  EXPECT_EQ(object["metadata"]["uid"].get<std::string>().size(), 36U);
  EXPECT_EQ(object["metadata"]["creationTimestamp"].get<std::string>().back(), 'Z');
  EXPECT_EQ(object["metadata"]["generation"], 1);
}

TEST(ObjectStore, RefusesWhatKubernetesRefuses) {
  ObjectStore store;
  ASSERT_TRUE(store.create(kPods, pod("a")));
  EXPECT_EQ(store.create(kPods, pod("a")).error().message, "pods \"a\" already exists");
  EXPECT_TRUE(store.create(kPods, pod("a", "other")));
  EXPECT_EQ(store.create(kPods, pod("")).error().code, 422);
  EXPECT_EQ(store.create(kPods, pod("Upper")).error().code, 422);
  EXPECT_EQ(store.create(kPods, json("text")).error().code, 400);
  EXPECT_EQ(store.get(kPods, {"default", "z"}).error().message, "pods \"z\" not found");
  EXPECT_EQ(store.create({"x.io", "things"}, pod("a")).error().code, 404);
}

TEST(ObjectStore, GenerateNameGivesFreshNames) {
  ObjectStore store;
  const json object = {{"metadata", {{"generateName", "job-"}}}};
  const auto a = store.create(kPods, object);
  const auto b = store.create(kPods, object);
  ASSERT_TRUE(a && b);
  EXPECT_THAT((*a)->key.name, testing::MatchesRegex("job-[b-z2-9]{5}"));
  EXPECT_NE((*a)->key.name, (*b)->key.name);
}

TEST(ObjectStore, AChangeOfNothingWritesNothing) {
  ObjectStore store;
  const auto created = store.create(kPods, pod("a"));
  const auto same =
      store.modify(kPods, {"default", "a"}, {}, [](json&) -> ApiResult<void> { return {}; });
  ASSERT_TRUE(same);
  EXPECT_EQ((*same)->resource_version, (*created)->resource_version);
  EXPECT_EQ(store.resource_version(), (*created)->resource_version);
}

TEST(ObjectStore, PreconditionsAreHeld) {
  ObjectStore store;
  const auto created = store.create(kPods, pod("a"));
  const auto change = [](json& object) { return label(object, "1"); };
  const auto other_uid = store.modify(kPods, {"default", "a"}, {"nope", ""}, change);
  ASSERT_FALSE(other_uid);
  EXPECT_EQ(other_uid.error().code, 409);
  EXPECT_THAT(
      other_uid.error().message,
      testing::HasSubstr("Precondition failed: UID in precondition: nope, UID in object meta: " +
                         (*created)->uid));
  EXPECT_EQ(store.remove(kPods, {"default", "a"}, {"", "1"}).error().code, 409);
  EXPECT_TRUE(store.remove(kPods, {"default", "a"}, {(*created)->uid, ""}));
  EXPECT_EQ(store.count(kPods), 0U);
}

TEST(ObjectStore, IdentityCannotBeChangedAndGenerationCountsSpecs) {
  ObjectStore store;
  const auto created = store.create(kPods, pod("a"));
  const auto changed =
      store.modify(kPods, {"default", "a"}, {}, [](json& object) -> ApiResult<void> {
        object["metadata"]["uid"] = "x";
        object["metadata"]["name"] = "b";
        object["spec"]["priority"] = 5;
        return {};
      });
  ASSERT_TRUE(changed);
  EXPECT_EQ((*changed)->uid, (*created)->uid);
  EXPECT_EQ((*changed)->key.name, "a");
  EXPECT_EQ((*changed)->parse()["metadata"]["generation"], 2);
}

TEST(ObjectStore, FinalizersHoldAnObjectBack) {
  ObjectStore store;
  json object = pod("a");
  object["metadata"]["finalizers"] = {"x/y"};
  ASSERT_TRUE(store.create(kPods, object));
  const auto marked = store.remove(kPods, {"default", "a"});
  ASSERT_TRUE(marked);
  EXPECT_TRUE((*marked)->parse()["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(store.count(kPods), 1U);
  ASSERT_TRUE(store.modify(kPods, {"default", "a"}, {}, [](json& o) -> ApiResult<void> {
    o["metadata"].erase("finalizers");
    return {};
  }));
  EXPECT_EQ(store.count(kPods), 0U);
}

TEST(ObjectStore, EventsComeInOrderWithTheirPreviousState) {
  ObjectStore store;
  const std::uint64_t start = store.resource_version();
  ASSERT_TRUE(store.create(kPods, pod("a")));
  ASSERT_TRUE(store.create(kNodes, {{"metadata", {{"name", "n"}}}}));
  ASSERT_TRUE(store.modify(kPods, {"default", "a"}, {}, [](json& o) { return label(o, "1"); }));
  ASSERT_TRUE(store.remove(kPods, {"default", "a"}));
  const auto batch = store.events_after(kPods, start, 100);
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->events.size(), 3U);
  EXPECT_EQ(batch->events[0].type, EventType::kAdded);
  EXPECT_EQ(batch->events[1].type, EventType::kModified);
  EXPECT_EQ(batch->events[1].previous, batch->events[0].object);
  EXPECT_EQ(batch->events[2].type, EventType::kDeleted);
  EXPECT_EQ(batch->events[2].object->parse()["metadata"]["resourceVersion"],
            std::to_string(batch->events[2].resource_version));
  EXPECT_EQ(batch->position, store.resource_version());
  const auto piece = store.events_after(kPods, start, 2);
  EXPECT_TRUE(piece->more);
  EXPECT_EQ(piece->position, piece->events[1].resource_version);
}

TEST(ObjectStore, HistoryIsBoundedAndOlderIsGone) {
  ObjectStore store({.history_per_kind = 3});
  const std::uint64_t start = store.resource_version();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store.create(kPods, pod("p" + std::to_string(i))));
  const auto gone = store.events_after(kPods, start, 10);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, 410);
  EXPECT_THAT(gone.error().message, testing::StartsWith("too old resource version: "));
  EXPECT_EQ(store.events_after(kPods, start + 2, 10)->events.size(), 3U);
  store.compact(kPods);
  EXPECT_EQ(store.events_after(kPods, start + 2, 10).error().code, 410);
  EXPECT_TRUE(store.events_after(kPods, store.resource_version(), 10));
}

TEST(ObjectStore, ListsByNamespaceAndName) {
  ObjectStore store;
  for (const char* name : {"c", "a", "b"}) ASSERT_TRUE(store.create(kPods, pod(name, "z")));
  ASSERT_TRUE(store.create(kPods, pod("x", "a")));
  const auto all = store.list(kPods);
  ASSERT_EQ(all->objects.size(), 4U);
  EXPECT_EQ(all->objects[0]->key.ns, "a");
  EXPECT_EQ(all->objects[1]->key.name, "a");
  EXPECT_EQ(store.list(kPods, "z")->objects.size(), 3U);
  EXPECT_EQ(store.list(kPods, "none")->objects.size(), 0U);
}

TEST(ObjectStore, ConcurrentChangesAreAllMade) {
  ObjectStore store;
  ASSERT_TRUE(store.create(kPods, pod("a")));
  const auto work = [&store] {
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(store.modify(kPods, {"default", "a"}, {}, [](json& o) -> ApiResult<void> {
        o["status"]["n"] = o.value("/status/n"_json_pointer, 0) + 1;
        return {};
      }));
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ((*store.get(kPods, {"default", "a"}))->parse()["status"]["n"], 400);
}

TEST(Selectors, Labels) {
  const Fields labels{{"app", "web"}, {"tier", "a/b"}};
  const auto matches = [&](const char* text) {
    const auto selector = LabelSelector::parse(text);
    return selector && selector->matches(labels);
  };
  for (const char* text :
       {"", "app=web", "app==web", "app!=db", "x!=y", "app in (db, web)", "app notin (db)",
        "x notin (y)", "app", "!x", "app=web,!x,app in (web)"}) {
    EXPECT_TRUE(matches(text)) << text;
  }
  for (const char* text : {"app=db", "app!=web", "x=y", "app in (db)", "app notin (web,db)", "x",
                           "!app", "app=web,x"}) {
    EXPECT_FALSE(matches(text)) << text;
  }
  for (const char* text : {"app in web", "a b", "=x", "app like (x)", ","}) {
    EXPECT_FALSE(LabelSelector::parse(text)) << text;
  }
}

TEST(Selectors, Fields) {
  const Fields fields{{"spec.nodeName", ""}, {"status.phase", "Running"}};
  EXPECT_TRUE(FieldSelector::parse("spec.nodeName=")->matches(fields));
  EXPECT_TRUE(
      FieldSelector::parse("status.phase!=Succeeded,status.phase!=Failed")->matches(fields));
  EXPECT_FALSE(FieldSelector::parse("status.phase=Failed")->matches(fields));
  EXPECT_FALSE(FieldSelector::parse("spec.nodeName!=")->matches(fields));
  EXPECT_EQ(FieldSelector::parse("spec.x=1")->first_unsupported({"status.phase"}), "spec.x");
  EXPECT_FALSE(FieldSelector::parse("status.phase"));
}

}  // namespace
}  // namespace plimsoll::sandbox
