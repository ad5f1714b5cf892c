// The informer end to end: a scripted API server on one side, the inbox on the other.

#include "informer/watch/informer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/informer/http_fixture.hpp"
#include "tests/informer/scripted_server.hpp"

namespace plimsoll::informer {
namespace {

using test::Exchange;
using test::Journal;
using test::Received;
using test::ScriptedServer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

// Writes down each message in one line, per kind.
class WritingInbox final : public Inbox {
 public:
  void post(Message message) override {
    std::visit([this](const auto& m) { write(m); }, message);
  }

  Journal pods, nodes, others;
  Journal kinds;    // their KindSynced
  Journal follows;  // their KindFollowed

 private:
  void write(const PodUpserted& m) {
    pods.add("upserted " + full_name(*m.pod) + " on '" + std::string(view(m.pod->node_name)) + "'" +
             (m.pod->unreadable.len != 0 ? ", of which not all can be read" : ""));
  }
  void write(const PodDeleted& m) { pods.add("deleted " + full_name(*m.last_known)); }
  void write(const NodeUpserted& m) {
    nodes.add("upserted " + std::string(view(m.node->meta.name)));
  }
  void write(const NodeDeleted& m) { nodes.add("deleted " + m.name); }
  void write(const ObjectUpserted& m) {
    others.add("upserted " + m.object->resource + " " + m.object->name + " " + m.object->json);
  }
  void write(const ObjectDeleted& m) {
    const RawObject& last = *m.last_known;
    others.add("deleted " + last.resource + " " + last.ns + "/" + last.name + " " + last.uid + " " +
               last.resource_version + " '" + last.json + "'");
  }
  void write(const KindSynced& m) {
    journal(m.resource).add(m.served ? "synced" : "not served");
    kinds.add(m.resource + (m.served ? " synced" : " not served"));
  }
  void write(const KindFollowed& m) {
    follows.add(m.resource + (m.followed ? " followed" : " lost: " + m.why));
  }
  void write(const ObjectMalformed& m) {
    journal(m.resource).add("malformed " + m.ns + "/" + m.name + ": " + m.error);
  }
  void write(const Task& m) { m.run(); }

  Journal& journal(const std::string& resource) {
    return resource == "pods" ? pods : resource == "nodes" ? nodes : others;
  }
};

std::string list_text(const std::string& items) {
  return R"({"metadata":{"resourceVersion":"10"},"items":[)" + items + "]}";
}

std::string pod_text(const std::string& name, const std::string& more, const std::string& version) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"n","uid":"u-)" + name +
         R"(","resourceVersion":")" + version + R"("},"spec":{)" + more +
         R"("containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}})";
}

TEST(ApiServerInformer, DecodesAndPostsInOrder) {
  std::atomic<bool> crd_installed{false};
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    if (request.asks("watch=true")) {
      exchange.open_stream();
      if (request.asks("/pods")) {
        exchange.chunk(R"({"type":"MODIFIED","object":)" +
                       pod_text("a", R"("nodeName":"n1",)", "11") + "}\n" +
                       R"({"type":"ADDED","object":)" +
                       pod_text("bad", R"("nodeName":"n1","priority":"high",)", "12") + "}\n" +
                       R"({"type":"DELETED","object":)" + pod_text("bad", "", "13") + "}\n" +
                       R"({"type":"DELETED","object":)" + pod_text("a", "", "14") + "}\n");
      } else if (request.asks("/nodes")) {
        exchange.chunk(
            R"({"type":"DELETED","object":{"metadata":{"name":"n1","uid":"un","resourceVersion":"3"}}})"
            "\n");
      }
      exchange.hang();
    } else if (request.asks("/pods")) {
      EXPECT_THAT(request.target, HasSubstr("fieldSelector=status.phase%21%3DSucceeded"));
      EXPECT_THAT(request.target, AllOf(HasSubstr("limit="), Not(HasSubstr("resourceVersion"))))
          << "a lagging cache must not be believed";
      exchange.reply(200, list_text(pod_text("a", "", "1")));
    } else if (request.asks("/nodes")) {
      EXPECT_THAT(request.target, HasSubstr("resourceVersion=0"));
      exchange.reply(200, list_text(R"({"metadata":{"name":"n1","uid":"un","resourceVersion":"2"},
          "status":{"allocatable":{"cpu":"4"}}})"));
    } else if (crd_installed) {
      exchange.reply(200,
                     list_text(R"({"metadata":{"name":"x","uid":"ux","resourceVersion":"5"}})"));
    } else {
      exchange.reply(404, "404 page not found");
    }
  });
  auto client = test::client_for(server.url());
  WritingInbox inbox;
  SymbolTable symbols;
  InformerOptions options;
  options.reflector.streaming_list = false;
  options.reflector.not_served_retry_min = options.reflector.not_served_retry_max = 50ms;
  options.kinds = {{"g.io", "v1", "things"}};
  ApiServerInformer informer(*client, inbox, symbols, options);
  EXPECT_FALSE(informer.synced());
  informer.start();
  informer.watch({"g.io", "v1", "things"});  // twice is once

  ASSERT_TRUE(inbox.pods.wait_for("deleted n/a"));
  const auto pods = inbox.pods.lines();
  ASSERT_EQ(pods.size(), 7u);
  EXPECT_EQ(pods[0], "upserted n/a on ''");
  EXPECT_EQ(pods[1], "synced");
  EXPECT_EQ(pods[2], "upserted n/a on 'n1'");
  EXPECT_THAT(pods[3], HasSubstr("malformed n/bad: spec.priority"));
  EXPECT_EQ(pods[4], "upserted n/bad on 'n1', of which not all can be read");
  EXPECT_EQ(pods[5], "deleted n/bad");
  ASSERT_TRUE(inbox.nodes.wait_for("deleted n1"));
  EXPECT_THAT(inbox.nodes.lines(), ElementsAre("upserted n1", "synced", "deleted n1"));

  ASSERT_TRUE(inbox.others.wait_for("not served"));
  EXPECT_TRUE(informer.synced()) << "a kind that is not served keeps nobody waiting";
  crd_installed = true;
  ASSERT_TRUE(inbox.others.wait_for("synced"));
  EXPECT_THAT(
      inbox.others.lines(),
      ElementsAre("not served", HasSubstr("upserted things.v1.g.io x {\"metadata\""), "synced"));

  informer.watch({"g.io", "v1", "later"});
  ASSERT_TRUE(inbox.others.wait_for("synced", 2));
  const auto status = informer.status();
  ASSERT_EQ(status.size(), 4u);
  EXPECT_EQ(status[2].resource, "pods");
  EXPECT_EQ(status[2].malformed, 1u);
  EXPECT_EQ(status[2].unreadable, 0u) << "it is gone";
  EXPECT_GT(status[2].decode_seconds, 0);
  EXPECT_GE(status[2].decode_seconds, status[2].decode_longest);
  EXPECT_EQ(status[2].objects, 0u);
  EXPECT_EQ(status[1].objects, 1u);
  informer.stop();
  EXPECT_EQ(informer.status()[0].state, ReflectorState::kStopped);
  server.stop();
}

// A kind that a plugin asks for while the scheduler is running.
TEST(ApiServerInformer, AKindMayBeAddedLate) {
  ScriptedServer server([](const Received& request, Exchange& exchange) {
    if (request.asks("watch=true")) {
      exchange.open_stream();
      if (request.asks("/late")) {
        exchange.chunk(R"({"type":"MODIFIED","object":{"metadata":{"name":"x","namespace":"n",)"
                       R"("uid":"ux","resourceVersion":"11"}}})"
                       "\n"
                       R"({"type":"DELETED","object":{"metadata":{"name":"x",)"
                       R"("namespace":"n","uid":"ux","resourceVersion":"12"}}})"
                       "\n");
      }
      exchange.hang();
    } else if (request.asks("/late")) {
      exchange.reply(200, list_text(R"({"metadata":{"name":"x","namespace":"n","uid":"ux",)"
                                    R"("resourceVersion":"5"}})"));
    } else if (request.asks("/missing")) {
      exchange.reply(404, "404 page not found");
    } else {
      exchange.reply(200, list_text(""));
    }
  });
  auto client = test::client_for(server.url());
  WritingInbox inbox;
  SymbolTable symbols;
  InformerOptions options;
  options.reflector.streaming_list = false;
  ApiServerInformer informer(*client, inbox, symbols, options);
  informer.start();
  ASSERT_TRUE(inbox.kinds.wait_for("synced", 2));
  EXPECT_TRUE(informer.synced());
  EXPECT_EQ(server.count("g.io"), 0u);

  std::vector<std::thread> plugins;
  for (int i = 0; i < 4; ++i) {
    plugins.emplace_back([&] {
      informer.watch({"g.io", "v1", "late"});
      informer.watch({"g.io", "v1", "missing"});
    });
  }
  for (std::thread& plugin : plugins) plugin.join();
  ASSERT_TRUE(inbox.kinds.wait_for("late.v1.g.io synced"));
  ASSERT_TRUE(inbox.kinds.wait_for("missing.v1.g.io not served"));
  ASSERT_TRUE(inbox.others.wait_for("deleted"));
  EXPECT_TRUE(informer.synced());
  EXPECT_EQ(inbox.kinds.lines().size(), 4u) << "each once";
  EXPECT_TRUE(inbox.others.wait_for("upserted late.v1.g.io x {", 2));
  // The text is not kept beside the plugins' own copy.
  EXPECT_TRUE(inbox.others.wait_for("deleted late.v1.g.io n/x ux 11 ''"));

  informer.stop();
  informer.watch({"g.io", "v1", "too-late"});
  EXPECT_EQ(informer.status().size(), 4u);
  server.stop();
}

// Of a kind that is decoded for plugins, as of pods.
TEST(ApiServerInformer, CountsTheObjectsThatCannotBeReadUntilTheyCanOrGo) {
  std::atomic<bool> mended{false};
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    const auto service = [](const std::string& name, const std::string& selector,
                            const std::string& version = "5") {
      return R"({"metadata":{"namespace":"n","name":")" + name + R"(","uid":"u-)" + name +
             R"(","resourceVersion":")" + version + R"("},"spec":{"selector":)" + selector + "}}";
    };
    if (request.asks("watch=true")) {
      exchange.open_stream();
      if (request.asks("/services") && mended) {
        exchange.chunk(R"({"type":"MODIFIED","object":)" + service("a", R"({"app":"a"})", "11") +
                       "}\n" + R"({"type":"DELETED","object":)" + service("b", "7", "12") + "}\n");
        exchange.hang();
      } else if (request.asks("/services")) {
        exchange.end_stream();  // the next watch begins when they are mended
      } else {
        exchange.hang();
      }
    } else if (request.asks("/services")) {
      exchange.reply(200, list_text(service("a", "7") + "," + service("b", "7") + "," +
                                    service("c", R"({"app":"c"})")));
    } else {
      exchange.reply(200, list_text(""));
    }
  });
  auto client = test::client_for(server.url());
  WritingInbox inbox;
  SymbolTable symbols;
  InformerOptions options;
  options.reflector.streaming_list = false;
  options.kinds = {{"", "v1", "services"}};
  ApiServerInformer informer(*client, inbox, symbols, options);
  informer.start();
  ASSERT_TRUE(inbox.others.wait_for("synced"));
  const auto services = [&] {
    for (const auto& status : informer.status()) {
      if (status.resource == "services") return status;
    }
    return KindStatus{};
  };
  EXPECT_EQ(services().objects, 3u);
  EXPECT_EQ(services().unreadable, 2u);
  mended = true;
  ASSERT_TRUE(inbox.others.wait_for("deleted services n/b"));
  EXPECT_EQ(services().objects, 2u);
  EXPECT_EQ(services().unreadable, 0u);
  informer.stop();
  server.stop();
}

// A new leader begins with what is in the store, of every kind.
TEST(ApiServerInformer, ARelistReadsEveryKind) {
  std::atomic<bool> blocked{false};
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    if (request.asks("watch=true")) {
      exchange.open_stream();
      exchange.hang();
    } else if (request.asks("/things") && blocked) {
      exchange.reply(503, "starting");
    } else {
      exchange.reply(200, list_text(""));
    }
  });
  auto client = test::client_for(server.url());
  WritingInbox inbox;
  SymbolTable symbols;
  InformerOptions options;
  options.reflector.streaming_list = false;
  options.kinds = {{"g.io", "v1", "things"}};
  ApiServerInformer informer(*client, inbox, symbols, options);
  informer.start();
  ASSERT_TRUE(inbox.kinds.wait_for("synced", 3));
  ASSERT_TRUE(server.wait_for("watch=true", 3));
  blocked = true;
  informer.relist(
      [&](const std::vector<PodRef>&) { inbox.follows.add("pods and nodes are read"); });
  ASSERT_TRUE(inbox.follows.wait_for("pods and nodes are read"));
  for (const char* kind : {"pods", "nodes", "things.v1.g.io"}) {
    EXPECT_TRUE(inbox.follows.wait_for(std::string(kind) + " lost: it is being listed afresh"));
  }
  ASSERT_TRUE(inbox.follows.wait_for("nodes followed"));
  ASSERT_TRUE(inbox.follows.wait_for("pods followed"));
  for (const KindStatus& kind : informer.status()) {
    EXPECT_EQ(kind.followed, kind.resource != "things.v1.g.io") << kind.resource;
  }
  blocked = false;
  ASSERT_TRUE(inbox.follows.wait_for("things.v1.g.io followed"));
  informer.stop();
  server.stop();
}

TEST(ApiServerInformer, StopsWithoutAServer) {
  auto client = test::client_for("http://127.0.0.1:9");
  WritingInbox inbox;
  SymbolTable symbols;
  {
    ApiServerInformer informer(*client, inbox, symbols);
    informer.start();
    std::this_thread::sleep_for(20ms);
  }
  { ApiServerInformer never_started(*client, inbox, symbols); }
  client->stop();
  ApiServerInformer late(*client, inbox, symbols);
  late.start();
  late.stop();
  EXPECT_TRUE(inbox.pods.lines().empty());
}

}  // namespace
}  // namespace plimsoll::informer
