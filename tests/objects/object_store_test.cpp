#include "framework/objects/object_store.hpp"

#include <gmock/gmock.h>

#include "framework/objects/kinds.hpp"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RawRef service(const std::string& ns, const std::string& name, const std::string& app) {
  return decoded(
      {"services", ns, name, "", "", R"({"spec": {"selector": {"app": ")" + app + R"("}}})"});
}

TEST(ObjectStore, FindsObjectsByNameAndByNamespace) {
  ObjectStore store;
  const auto names_of = [&](std::string_view ns) {
    std::vector<std::string> names;
    for (const plimsoll_object* each : store.list("services", ns)) {
      names.push_back(std::string(view(each->meta.ns)) + "/" + std::string(view(each->meta.name)));
    }
    return names;
  };
  EXPECT_THAT(names_of(""), IsEmpty());
  const RawRef first = service("b", "two", "x");
  EXPECT_FALSE(store.put(*first).existed);
  store.put(*service("b", "one", "x"));
  store.put(*service("a", "two", "x"));
  EXPECT_THAT(names_of(""), ElementsAre("a/two", "b/one", "b/two"));
  EXPECT_THAT(names_of("b"), ElementsAre("b/one", "b/two"));
  EXPECT_THAT(names_of("c"), IsEmpty());
  EXPECT_EQ(store.find("services", "b", "two"), first->decoded.get());
  EXPECT_EQ(store.find("services", "b", "three"), nullptr);
  EXPECT_EQ(store.find("services", "c", "two"), nullptr);
  EXPECT_EQ(store.find("namespaces", "b", "two"), nullptr);

  const RawRef changed = service("b", "two", "y");
  const ObjectStore::Before before = store.put(*changed);
  EXPECT_TRUE(before.existed);
  EXPECT_EQ(before.object, first->decoded);
  EXPECT_EQ(store.find("services", "b", "two"), changed->decoded.get());

  EXPECT_EQ(store.erase(*first).object, changed->decoded);
  EXPECT_FALSE(store.erase(*first).existed);
  EXPECT_THAT(names_of("b"), ElementsAre("b/one"));
}

TEST(ObjectStore, KnowsTheNamesOfKindsThatAreNotDecoded) {
  ObjectStore store;
  const RawRef claim = decoded({"claims.v1.example.com", "ns", "c", "", "", "{}"});
  EXPECT_FALSE(store.put(*claim).existed);
  EXPECT_TRUE(store.put(*claim).existed);
  EXPECT_THAT(store.names("claims.v1.example.com"), ElementsAre("ns/c"));
  EXPECT_EQ(store.find("claims.v1.example.com", "ns", "c"), nullptr);
  EXPECT_THAT(store.list("claims.v1.example.com", ""), IsEmpty());
  EXPECT_TRUE(store.erase(*claim).existed);
  EXPECT_THAT(store.names("claims.v1.example.com"), IsEmpty());
}

}  // namespace
}  // namespace plimsoll
