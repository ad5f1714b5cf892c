// The reflector against a scripted API server: what is delivered, in which order, and what is asked
// for.

#include "informer/watch/reflector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "tests/informer/http_fixture.hpp"
#include "tests/informer/scripted_server.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::informer {
namespace {

using test::Exchange;
using test::Journal;
using test::Received;
using test::ScriptedServer;
using ::testing::_;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

// Writes down all it hears: "+ ns/name uid rv", "- ns/name uid", "synced", "state: text", ...
class WritingSink final : public ReflectorSink {
 public:
  void on_upsert(const WireObject& wire, const ObjectKey& key, bool initial) override {
    if (wire.encoding == Encoding::kJson) {
      EXPECT_EQ(wire.bytes.front(), '{');
      EXPECT_EQ(wire.bytes.back(), '}');
    }
    objects.add(std::string(initial ? "+ " : "~ ") + text(key) + " " +
                std::string(key.resource_version));
  }
  void on_delete(const ObjectKey& key, const WireObject& last) override {
    objects.add("- " + text(key) + (last.bytes.empty() ? "" : " with its last state"));
  }
  void on_synced() override { objects.add("synced"); }
  void on_followed(bool followed, std::string_view why, bool wanted) override {
    follows.add(followed ? "followed" : (wanted ? "wanted: " : "lost: ") + std::string(why));
  }
  void on_malformed(std::string_view error) override {
    objects.add("malformed " + std::string(error));
  }
  void on_state(ReflectorState state, std::string_view text) override {
    states.add(std::string(to_string(state)) + ": " + std::string(text));
  }

  Journal objects;
  Journal states;
  Journal follows;

 private:
  static std::string text(const ObjectKey& key) {
    return std::string(key.ns) + "/" + std::string(key.name) + " " + std::string(key.uid);
  }
};

std::string object(const std::string& name, const std::string& uid, int version) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"n","uid":")" + uid +
         R"(","resourceVersion":")" + std::to_string(version) + R"("}})";
}

std::string list(const std::vector<std::string>& items, int version, const std::string& more = {}) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
  return R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")" +
         std::to_string(version) + R"(","continue":")" + more + R"("},"items":[)" + text + "]}";
}

std::string event(const std::string& type, const std::string& of) {
  return R"({"type":")" + type + R"(","object":)" + of + "}\n";
}

std::string bookmark(int version, bool end = false) {
  return event("BOOKMARK",
               R"({"metadata":{"resourceVersion":")" + std::to_string(version) + "\"" +
                   (end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "") + "}}");
}

constexpr char kGone[] = R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})";

// A reflector on pods with short times, and the server that the test scripts: `on_list` and
// `on_watch` get the number of the call, counted from 1.
class ReflectorTest : public ::testing::Test {
 protected:
  using Answer = std::function<void(int call, const Received&, Exchange&)>;

  void start() {
    server_ = std::make_unique<ScriptedServer>([this](const Received& request, Exchange& exchange) {
      if (request.asks("watch=true")) {
        on_watch(++watches_, request, exchange);
      } else if (request.target == "/readyz") {
        on_ready(exchange);
      } else {
        on_list(++lists_, request, exchange);
      }
    });
    client_ = test::client_for(server_->url());
    options.resource = resource;
    options.streaming_list = stream_lists;
    options.backoff.initial = 20ms;
    options.backoff.maximum = 100ms;
    options.very_short_watch = 50ms;
    options.not_served_retry_min = 30ms;
    options.not_served_retry_max = 60ms;
    reflector_ = std::make_unique<Reflector>(*client_, sink, options);
    reflector_->start();
  }

  void TearDown() override { finish(); }

  void finish() {
    if (reflector_) reflector_->stop();
    if (server_) server_->stop();
  }

  // The queries of one kind, in order.
  [[nodiscard]] std::vector<std::string> asked(bool watches) const {
    std::vector<std::string> targets;
    for (const Received& request : server_->received()) {
      if (request.target == "/readyz") continue;
      if (request.asks("watch=true") == watches) targets.push_back(request.target);
    }
    return targets;
  }

  WritingSink sink;
  ReflectorOptions options;
  ResourceType resource{"", "v1", "pods"};
  bool stream_lists = false;  // most of what is tested here is about plain lists
  Answer on_list = [](int, const Received&, Exchange& exchange) {
    exchange.reply(200, list({}, 1));
  };
  Answer on_watch = [](int, const Received&, Exchange& exchange) {
    exchange.open_stream();
    exchange.hang();
  };
  std::function<void(Exchange&)> on_ready = [](Exchange& exchange) { exchange.reply(200, "ok"); };
  std::atomic<int> lists_{0};
  std::atomic<int> watches_{0};
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<HttpClient> client_;
  std::unique_ptr<Reflector> reflector_;
};

TEST(ResourceType, NamesAndPaths) {
  EXPECT_EQ((ResourceType{"", "v1", "pods"}.path()), "/api/v1/pods");
  const auto nrt = ResourceType::parse("noderesourcetopologies.v1alpha2.topology.node.k8s.io");
  ASSERT_TRUE(nrt);
  EXPECT_EQ(nrt->path(), "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies");
  EXPECT_EQ(nrt->text(), "noderesourcetopologies.v1alpha2.topology.node.k8s.io");
  for (const char* bad : {"", "pods", "pods.v1", ".v1.g", "pods..g", "pods.v1."}) {
    const auto parsed = ResourceType::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_THAT(parsed.error().message, HasSubstr("<plural>.<version>.<group>"));
  }
}

TEST_F(ReflectorTest, ListsThenWatches) {
  options.field_selector = "status.phase!=Failed";
  on_list = [](int, const Received&, Exchange& exchange) {
    exchange.reply(200, list({object("a", "u1", 3), object("b", "u2", 4)}, 10));
  };
  on_watch = [](int call, const Received&, Exchange& exchange) {
    exchange.open_stream();
    if (call == 1) {
      exchange.chunk(event("ADDED", object("c", "u3", 11)) +
                     event("MODIFIED", object("a", "u1", 12)) +
                     event("DELETED", object("b", "u2", 13)) + bookmark(20));
    }
    exchange.hang();
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("- n/b"));
  EXPECT_THAT(sink.objects.lines(), ElementsAre("+ n/a u1 3", "+ n/b u2 4", "synced", "~ n/c u3 11",
                                                "~ n/a u1 12", "- n/b u2 with its last state"));
  EXPECT_THAT(asked(false).at(0),
              AllOf(HasSubstr("/api/v1/pods?resourceVersion=0"),
                    HasSubstr("fieldSelector=status.phase%21%3DFailed"), Not(HasSubstr("limit="))));
  EXPECT_THAT(asked(true).at(0),
              AllOf(HasSubstr("resourceVersion=10"), HasSubstr("allowWatchBookmarks=true"),
                    HasSubstr("timeoutSeconds="), HasSubstr("fieldSelector=")));
  EXPECT_THAT(sink.states.lines(), ElementsAre("listing: ", "watching: "));
}

TEST_F(ReflectorTest, AConsistentFirstListIsPagedAndNotTheCaches) {
  options.consistent_first_list = true;
  resource = {"g.io", "v1", "things"};
  options.not_served_retry_min = options.not_served_retry_max = 10ms;
  options.page_size = 2;
  on_list = [](int call, const Received& request, Exchange& exchange) {
    if (call == 1) {
      exchange.reply(404, "404 page not found");
    } else if (call == 2) {
      exchange.reply(500, "{}");
    } else if (!request.asks("continue=")) {
      exchange.reply(200, list({object("a", "u1", 1), object("b", "u2", 2)}, 10, "more"));
    } else {
      exchange.reply(200, list({object("c", "u3", 3)}, 10));
    }
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("synced"));
  EXPECT_THAT(sink.objects.lines(),
              ElementsAre("+ n/a u1 1", "+ n/b u2 2", "+ n/c u3 3", "synced"));
  EXPECT_THAT(
      asked(false),
      ElementsAre("/apis/g.io/v1/things?limit=2", "/apis/g.io/v1/things?limit=2",
                  "/apis/g.io/v1/things?limit=2", "/apis/g.io/v1/things?limit=2&continue=more"));
  ASSERT_TRUE(server_->wait_for("watch=true", 1));
  EXPECT_THAT(asked(true).at(0), HasSubstr("resourceVersion=10"));
}

// Many pods that come and go: the pages' token may expire before the list is complete.
TEST_F(ReflectorTest, AConsistentFirstListThatExpiresIsTakenInOnePiece) {
  options.consistent_first_list = true;
  on_list = [](int, const Received& request, Exchange& exchange) {
    if (request.asks("continue=")) {
      exchange.reply(410, kGone);
    } else if (request.asks("limit=")) {
      exchange.reply(200, list({object("a", "u1", 1)}, 2, "token"));
    } else {
      exchange.reply(200, list({object("b", "u2", 3)}, 3));
    }
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("synced"));
  EXPECT_THAT(sink.objects.lines(), ElementsAre("+ n/a u1 1", "+ n/b u2 3", "- n/a u1", "synced"));
  EXPECT_THAT(asked(false), ElementsAre("/api/v1/pods?limit=500",
                                        "/api/v1/pods?limit=500&continue=token", "/api/v1/pods"));
}

TEST_F(ReflectorTest, LinesMayBeCutAnywhere) {
  on_watch = [](int, const Received&, Exchange& exchange) {
    exchange.open_stream();
    for (const char c :
         event("ADDED", object("a", "u1", 2)) + event("DELETED", object("a", "u1", 3))) {
      exchange.chunk(std::string(1, c));
    }
    exchange.hang();
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("- n/a"));
  EXPECT_THAT(sink.objects.lines(),
              ElementsAre("synced", "~ n/a u1 2", "- n/a u1 with its last state"));
}

TEST_F(ReflectorTest, ResumesWhereItStopped) {
  on_list = [](int, const Received&, Exchange& exchange) { exchange.reply(200, list({}, 5)); };
  on_watch = [](int call, const Received&, Exchange& exchange) {
    exchange.open_stream();
    if (call == 1) {  // an event, then a clean end
      exchange.chunk(event("ADDED", object("a", "u1", 7)));
      exchange.end_stream();
    } else if (call == 2) {  // a bookmark, half a line, then a broken connection
      exchange.chunk(bookmark(30) + R"({"type":"ADDED","obj)");
      exchange.cut();
    } else {
      exchange.chunk(event("ADDED", object("b", "u2", 31)));
      exchange.hang();
    }
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("n/b"));
  EXPECT_THAT(sink.objects.lines(), ElementsAre("synced", "~ n/a u1 7", "~ n/b u2 31"));
  const auto watches = asked(true);
  ASSERT_EQ(watches.size(), 3u);
  EXPECT_THAT(watches[1], HasSubstr("resourceVersion=7"));
  EXPECT_THAT(watches[2], HasSubstr("resourceVersion=30"));
  EXPECT_EQ(lists_, 1);
  EXPECT_THAT(sink.states.lines(),
              ElementsAre("listing: ", "watching: ", HasSubstr("unreachable: "), "watching: "));
}

// 410 Gone as an answer and as an event: what vanished is deleted, what stayed is not repeated,
// what was made anew is deleted and added.
class Gone : public ReflectorTest, public ::testing::WithParamInterface<bool> {};

TEST_P(Gone, ListsAfreshWithoutLosingOrRepeating) {
  const bool as_event = GetParam();
  on_list = [](int call, const Received& request, Exchange& exchange) {
    if (call == 1) {
      exchange.reply(200, list({object("same", "u1", 1), object("changed", "u2", 2),
                                object("gone", "u3", 3), object("anew", "u4", 4)},
                               10));
    } else if (!request.asks("continue=")) {
      exchange.reply(200,
                     list({object("same", "u1", 1), object("changed", "u2", 12)}, 20, "more&"));
    } else {
      exchange.reply(200, list({object("anew", "u5", 15)}, 20));
    }
  };
  on_watch = [as_event](int call, const Received&, Exchange& exchange) {
    if (call == 1 && !as_event) {
      exchange.reply(410, kGone);
    } else {
      exchange.open_stream();
      if (call == 1) exchange.chunk(event("ERROR", kGone) + event("ADDED", object("x", "u9", 1)));
      exchange.hang();
    }
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("- n/gone"));
  EXPECT_THAT(
      sink.objects.lines(),
      ElementsAre("+ n/same u1 1", "+ n/changed u2 2", "+ n/gone u3 3", "+ n/anew u4 4", "synced",
                  "~ n/changed u2 12", "- n/anew u4", "~ n/anew u5 15", "- n/gone u3"));
  const auto lists = asked(false);
  ASSERT_EQ(lists.size(), 3u);
  EXPECT_THAT(lists[1], AllOf(HasSubstr("limit=500"), Not(HasSubstr("resourceVersion="))));
  EXPECT_THAT(lists[2], AllOf(HasSubstr("limit=500"), HasSubstr("continue=more%26")));
  ASSERT_TRUE(server_->wait_for("resourceVersion=20", 1));
  EXPECT_EQ(reflector_->stats().unchanged, 1u);
}

INSTANTIATE_TEST_SUITE_P(Reflector, Gone, ::testing::Bool());

TEST_F(ReflectorTest, AnExpiredContinueTokenStartsTheListAgain) {
  on_watch = [](int call, const Received&, Exchange& exchange) {
    if (call == 1) {
      exchange.reply(410, kGone);
    } else {
      exchange.open_stream();
      exchange.hang();
    }
  };
  on_list = [](int call, const Received& request, Exchange& exchange) {
    if (call == 1) {
      exchange.reply(200, list({object("a", "u1", 1)}, 1));
    } else if (request.asks("continue=")) {
      exchange.reply(410, kGone);
    } else if (request.asks("limit=")) {
      exchange.reply(200, list({object("a", "u1", 1)}, 2, "token"));
    } else {
      exchange.reply(200, list({object("b", "u2", 3)}, 3));
    }
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("- n/a"));
  EXPECT_THAT(sink.objects.lines(), ElementsAre("+ n/a u1 1", "synced", "~ n/b u2 3", "- n/a u1"));
}

TEST_F(ReflectorTest, AListThatIsCutOffDeletesNothing) {
  on_list = [](int call, const Received&, Exchange& exchange) {
    const std::string full = list({object("a", "u1", 1), object("b", "u2", 2)}, 5);
    if (call == 1) {
      exchange.open_stream();
      exchange.chunk(full.substr(0, full.size() - 60));
      exchange.cut();
    } else if (call == 2) {
      exchange.reply(200, full.substr(0, full.size() - 1));
    } else {
      exchange.reply(200, full);
    }
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("synced"));
  EXPECT_THAT(sink.objects.lines(), ElementsAre("+ n/a u1 1", "+ n/b u2 2", "synced"));
  EXPECT_TRUE(sink.states.wait_for("the list is cut off"));
}

TEST_F(ReflectorTest, AKindThatIsNotServedIsPickedUpLater) {
  resource = {"g.io", "v1", "things"};
  on_list = [](int call, const Received&, Exchange& exchange) {
    if (call <= 6) {
      exchange.reply(404, "404 page not found\n");
    } else {
      exchange.reply(200, list({object("a", "u1", 1)}, 5));
    }
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("synced"));
  ASSERT_TRUE(sink.states.wait_for("watching"));
  const auto states = sink.states.lines();
  ASSERT_EQ(states.size(), 8u) << "once per two answers, with the server's own word between them";
  EXPECT_EQ(server_->count("/readyz"), 3u);
  EXPECT_THAT(states[1], AllOf(HasSubstr("not served"), HasSubstr("404 page not found")));
}

// An API server that was just started does not know of its CRDs yet.
TEST_F(ReflectorTest, AKindIsNotMissingBeforeTheServerIsReady) {
  resource = {"g.io", "v1", "things"};
  std::atomic<int> asked{0};
  on_ready = [&](Exchange& exchange) { exchange.reply(++asked <= 3 ? 500 : 200, "crd-informer"); };
  on_list = [&](int, const Received&, Exchange& exchange) {
    asked <= 3 ? exchange.reply(404, "404 page not found\n")
               : exchange.reply(200, list({object("a", "u1", 1)}, 5));
  };
  start();
  ASSERT_TRUE(sink.states.wait_for("watching"));
  EXPECT_THAT(sink.objects.lines(), ElementsAre("+ n/a u1 1", "synced"));
  EXPECT_THAT(sink.states.lines(), Not(::testing::Contains(HasSubstr("not served"))));
  EXPECT_TRUE(sink.states.wait_for("but the API server is not ready"));
}

TEST_F(ReflectorTest, AKindThatWasServedIsGoneOnlyAfterAWhile) {
  resource = {"g.io", "v1", "things"};
  options.gone_after = 300ms;
  std::atomic<bool> gone{false};
  const auto answer = [&gone](Exchange& exchange) {
    if (!gone) return false;
    return exchange.reply(404, "404 page not found\n");
  };
  on_list = [answer](int, const Received&, Exchange& exchange) {
    if (!answer(exchange)) exchange.reply(200, list({object("a", "u1", 1)}, 5));
  };
  on_watch = [answer, &gone](int call, const Received&, Exchange& exchange) {
    if (answer(exchange)) return;
    exchange.open_stream();
    exchange.chunk(bookmark(6 + call));
    if (call > 1) return exchange.hang();
    while (!gone) exchange.hang(5ms);
    exchange.cut();
  };
  start();
  ASSERT_TRUE(sink.states.wait_for("watching"));
  gone = true;
  ASSERT_TRUE(sink.states.wait_for("not served"));
  EXPECT_GE(server_->count("/readyz"), 2u) << "it is not sure at once";
  EXPECT_THAT(sink.objects.lines(), ElementsAre("+ n/a u1 1", "synced", "- n/a u1"));
  ASSERT_TRUE(sink.follows.wait_for("followed"));
  EXPECT_THAT(sink.follows.lines(), ElementsAre(HasSubstr("lost: "), "followed"))
      << "once it is known to be gone, nobody has to wait for it";
  gone = false;
  ASSERT_TRUE(sink.objects.wait_for("synced", 2));
}

// ---- followed, and not

TEST_F(ReflectorTest, AWatchThatReopensWithinAMomentWasFollowedAllTheTime) {
  options.moment = 60s;
  on_watch = [](int call, const Received&, Exchange& exchange) {
    exchange.open_stream();
    exchange.chunk(bookmark(10 + call));
    if (call == 1) return exchange.cut();
    if (call == 2) {
      exchange.hang(60ms);
      exchange.end_stream();
      return;
    }
    exchange.hang();
  };
  start();
  ASSERT_TRUE(server_->wait_for("watch=true", 3));
  finish();
  EXPECT_TRUE(sink.follows.lines().empty());
}

TEST_F(ReflectorTest, AKindIsLostWhenTheNextTryFailsToo) {
  options.moment = 60s;
  on_watch = [](int call, const Received&, Exchange& exchange) {
    if (call == 2 || call == 3) {
      exchange.reply(503, "apiserver is starting");
      return;
    }
    exchange.open_stream();
    exchange.chunk(bookmark(10 + call));
    if (call == 1) return exchange.cut();
    exchange.hang();
  };
  start();
  ASSERT_TRUE(sink.follows.wait_for("followed"));
  EXPECT_THAT(sink.follows.lines(),
              ElementsAre(AllOf(HasSubstr("lost: watching pods"), HasSubstr("503")), "followed"));
  EXPECT_THAT(asked(false), ElementsAre(HasSubstr("resourceVersion=0"), "/api/v1/pods?limit=500"))
      << "what was missed is read from the store: no watch says when it has told all of it";
}

// The list that was to bring it back is old by the time that its watch opens: it says nothing of
// what happened since, and the watch does not say when it has told all of that.
TEST_F(ReflectorTest, ALostKindIsListedAgainWhenItsWatchOpensLate) {
  options.moment = 0ms;
  Journal served;  // from the watch that is refused on
  on_watch = [&, refused = false](int call, const Received&, Exchange& exchange) mutable {
    const size_t lists = asked(false).size();
    const std::string after = " after " + std::to_string(lists) + " lists";
    if (call > 1 && (lists < 2 || !std::exchange(refused, true))) {
      if (refused) served.add("refused" + after);
      exchange.reply(503, "apiserver is starting");
      return;
    }
    if (refused) served.add("opened" + after);
    exchange.open_stream();
    exchange.chunk(bookmark(10 + call));
    if (call == 1) return exchange.cut();
    exchange.hang();
  };
  start();
  ASSERT_TRUE(served.wait_for("refused"));
  const std::string refused = served.lines().front();
  const int lists = std::stoi(refused.substr(refused.find_first_of("0123456789")));
  EXPECT_TRUE(served.wait_for("opened after " + std::to_string(lists + 1) + " lists"))
      << "listed once more, from the store: " << testing::PrintToString(served.lines());
  EXPECT_TRUE(sink.follows.wait_for("followed"));
  finish();
}

TEST_F(ReflectorTest, AKindIsLostWhenItsWatchDoesNotReopen) {
  options.moment = 20ms;
  options.open_timeout = 200ms;
  on_watch = [](int call, const Received&, Exchange& exchange) {
    if (call == 1) {
      exchange.open_stream();
      exchange.chunk(bookmark(10));
      return exchange.cut();
    }
    if (call == 2) return exchange.hang();  // without a word
    exchange.open_stream();
    exchange.hang();
  };
  start();
  ASSERT_TRUE(sink.follows.wait_for("followed"));
  EXPECT_THAT(sink.follows.lines(), ElementsAre(HasSubstr("lost: "), "followed"));
}

TEST_F(ReflectorTest, AKindIsNotFollowedWhileItIsListedAfresh) {
  start();
  ASSERT_TRUE(sink.states.wait_for("watching"));
  reflector_->relist([this] { sink.follows.add("relisted"); });
  ASSERT_TRUE(sink.follows.wait_for("followed"));
  EXPECT_THAT(sink.follows.lines(),
              ElementsAre("wanted: it is being listed afresh", "relisted", "followed"));
}

// Nobody warns of a list that was wanted, so its failure has to be told.
TEST_F(ReflectorTest, AListAfreshThatFailsIsALoss) {
  on_list = [](int call, const Received&, Exchange& exchange) {
    call == 2 || call == 3 ? exchange.reply(503, "starting") : exchange.reply(200, list({}, call));
  };
  start();
  ASSERT_TRUE(sink.states.wait_for("watching"));
  reflector_->relist([this] { sink.follows.add("relisted"); });
  ASSERT_TRUE(sink.follows.wait_for("followed"));
  EXPECT_THAT(sink.follows.lines(), ElementsAre("wanted: it is being listed afresh",
                                                HasSubstr("lost: "), "relisted", "followed"));
}

TEST_F(ReflectorTest, ARelistEndsForAKindThatIsNotServed) {
  resource = {"g.io", "v1", "things"};
  on_list = [](int, const Received&, Exchange& exchange) { exchange.reply(404, "no"); };
  start();
  reflector_->relist([this] { sink.follows.add("relisted"); });
  ASSERT_TRUE(sink.follows.wait_for("relisted"));
}

// ---- how long to wait

// A server that was just restarted may ask for more patience than it needs.
TEST_F(ReflectorTest, RetryAfterIsBounded) {
  options.retry_after_maximum = 20ms;
  on_list = [](int call, const Received&, Exchange& exchange) {
    call == 1 ? exchange.reply(429, "storage is (re)initializing", {{"Retry-After", "3600"}})
              : exchange.reply(200, list({}, 1));
  };
  start();
  EXPECT_TRUE(sink.objects.wait_for("synced"));
}

// As an API server answers the first list of a kind that was just installed.
TEST_F(ReflectorTest, WhoIsAskedToWaitOnceIsInNoTrouble) {
  on_list = [](int call, const Received&, Exchange& exchange) {
    call == 1 ? exchange.reply(429, "storage is (re)initializing")
              : exchange.reply(200, list({}, 1));
  };
  start();
  ASSERT_TRUE(sink.states.wait_for("watching"));
  EXPECT_THAT(sink.states.lines(), Each(Not(HasSubstr("429"))));
}

TEST_F(ReflectorTest, WhoIsAskedToWaitAgainIsInTrouble) {
  on_list = [](int call, const Received&, Exchange& exchange) {
    call <= 2 ? exchange.reply(429, "storage is (re)initializing")
              : exchange.reply(200, list({}, 1));
  };
  start();
  EXPECT_TRUE(sink.states.wait_for("429"));
}

// What cannot be reached may be there at any moment; a refusal stays for long.
TEST_F(ReflectorTest, AnUnavailableServerIsTriedAgainSoon) {
  options.backoff.maximum = 1h;
  options.backoff.factor = 1e9;
  options.unavailable_maximum = 5ms;
  on_list = [](int call, const Received&, Exchange& exchange) {
    call <= 5 ? exchange.reply(503, "starting") : exchange.reply(200, list({}, 1));
  };
  start();
  EXPECT_TRUE(sink.objects.wait_for("synced"));
}

TEST_F(ReflectorTest, OneKindThatWorksAgainWakesTheOthers) {
  options.peers = std::make_shared<ReflectorPeers>();
  std::atomic<bool> works{false};
  on_list = [&works](int, const Received&, Exchange& exchange) {
    works ? exchange.reply(200, list({}, 1)) : exchange.reply(503, "starting");
  };
  start();
  ReflectorOptions patient = options;
  patient.resource = {"g.io", "v1", "things"};
  patient.backoff.initial = patient.unavailable_maximum = 1h;
  WritingSink other;
  Reflector second(*client_, other, patient);
  second.start();
  ASSERT_TRUE(other.states.wait_for("unreachable"));
  works = true;
  EXPECT_TRUE(other.objects.wait_for("synced"));
  second.stop();
}

// Something in front of the API server, or one that starts: pods are there all the same.
TEST_F(ReflectorTest, PodsAreNeverTakenAsNotServed) {
  on_list = [](int call, const Received&, Exchange& exchange) {
    if (call <= 2) {
      exchange.reply(404, "404 page not found\n");
    } else {
      exchange.reply(200, list({object("a", "u1", 1)}, 5));
    }
  };
  on_watch = [](int call, const Received&, Exchange& exchange) {
    if (call == 1) {
      exchange.reply(404, "404 page not found\n");
    } else {
      exchange.open_stream();
      exchange.hang();
    }
  };
  start();
  ASSERT_TRUE(sink.states.wait_for("watching"));
  EXPECT_THAT(sink.objects.lines(), ElementsAre("+ n/a u1 1", "synced"));
  const auto states = sink.states.lines();
  EXPECT_THAT(states, Not(::testing::Contains(HasSubstr("not served"))));
  EXPECT_THAT(states.at(1), AllOf(HasSubstr("unreachable: listing pods"), HasSubstr("404")));
  EXPECT_EQ(reflector_->stats().failures, 3u);
  EXPECT_EQ(lists_, 3) << "the version is still good";
}

TEST_F(ReflectorTest, RefusalIsReportedWithTheServersWords) {
  on_list = [](int call, const Received&, Exchange& exchange) {
    if (call == 1) {
      exchange.reply(403, R"({"kind":"Status","message":"pods is forbidden: User \"x\""})");
    } else {
      exchange.reply(200, list({}, 5));
    }
  };
  start();
  ASSERT_TRUE(sink.states.wait_for("refused: listing pods"));
  EXPECT_TRUE(sink.states.wait_for("pods is forbidden: User \"x\""));
  ASSERT_TRUE(sink.objects.wait_for("synced"));
}

TEST_F(ReflectorTest, ThrottlingIsObeyed) {
  std::atomic<bool> early{false};
  std::chrono::steady_clock::time_point asked_at;
  on_list = [&](int call, const Received&, Exchange& exchange) {
    if (call == 1) {
      asked_at = std::chrono::steady_clock::now();
      exchange.reply(429, "{}", {{"Retry-After", "1"}});
    } else {
      early = std::chrono::steady_clock::now() - asked_at < 950ms;
      exchange.reply(200, list({}, 5));
    }
  };
  start();
  EXPECT_TRUE(sink.objects.wait_for("synced"));
  finish();  // before what on_list refers to
  EXPECT_FALSE(early);
}

// Over HTTP/1.1 nobody can be asked whether the connection lives.
TEST_F(ReflectorTest, AWatchWithoutEvenABookmarkIsBegunAgainWhereItStood) {
  options.watch_beat = 60ms;
  on_watch = [](int call, const Received&, Exchange& exchange) {
    exchange.open_stream();
    if (call == 1) exchange.chunk(bookmark(20));
    exchange.hang();
  };
  start();
  ASSERT_TRUE(server_->wait_for("watch=true", 2));
  EXPECT_THAT(asked(true).at(1), HasSubstr("resourceVersion=20"));
  EXPECT_EQ(lists_, 1);
}

TEST_F(ReflectorTest, VeryShortWatchesBackOff) {
  on_watch = [](int, const Received&, Exchange& exchange) {
    exchange.open_stream();
    exchange.end_stream();
  };
  start();
  ASSERT_TRUE(sink.states.wait_for("ended at once without an event", 2));
  EXPECT_GE(reflector_->stats().failures, 2u);
  EXPECT_EQ(lists_, 1) << "the version is still good";
}

TEST_F(ReflectorTest, AServerErrorInTheStreamIsRetriedAndThenListed) {
  on_watch = [](int, const Received&, Exchange& exchange) {
    exchange.open_stream();
    exchange.chunk(event("ERROR", R"({"code":500,"message":"etcd is sad"})"));
    exchange.hang();
  };
  start();
  ASSERT_TRUE(sink.states.wait_for("error 500 (etcd is sad)"));
  ASSERT_TRUE(server_->wait_for("resourceVersion=1&resourceVersionMatch", 1)) << "listed again";
  EXPECT_GE(watches_, 5);
}

TEST_F(ReflectorTest, MalformedObjectsCostOnlyThemselves) {
  on_list = [](int, const Received&, Exchange& exchange) {
    exchange.reply(200, list({"7", R"({"metadata":{}})", object("a", "u1", 1)}, 5));
  };
  on_watch = [](int, const Received&, Exchange& exchange) {
    exchange.open_stream();
    exchange.chunk("not json\n" + event("ADDED", "{}") + event("ODD", "{}") +
                   event("ADDED", object("b", "u2", 6)));
    exchange.hang();
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("n/b"));
  EXPECT_EQ(reflector_->stats().malformed, 5u);
  EXPECT_TRUE(sink.objects.wait_for("malformed", 5));
  EXPECT_TRUE(sink.objects.wait_for("+ n/a u1 1"));
}

TEST_F(ReflectorTest, StreamsTheFirstList) {
  stream_lists = true;
  on_watch = [](int call, const Received&, Exchange& exchange) {
    exchange.open_stream();
    if (call == 1) {
      exchange.chunk(event("ADDED", object("a", "u1", 3)) + bookmark(9, true) +
                     event("MODIFIED", object("a", "u1", 10)));
    }
    exchange.hang();
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("u1 10"));
  EXPECT_THAT(sink.objects.lines(), ElementsAre("+ n/a u1 3", "synced", "~ n/a u1 10"));
  EXPECT_THAT(asked(true).at(0), AllOf(HasSubstr("sendInitialEvents=true"),
                                       HasSubstr("resourceVersionMatch=NotOlderThan")));
  EXPECT_EQ(lists_, 0);
  EXPECT_EQ(watches_, 1) << "the same stream goes on";
}

TEST_F(ReflectorTest, AStreamedListThatAlwaysExpiresBacksOff) {
  stream_lists = true;
  on_watch = [](int, const Received&, Exchange& exchange) {
    exchange.open_stream();
    exchange.chunk(event("ADDED", object("a", "u1", 3)) + event("ERROR", kGone));
    exchange.hang();
  };
  start();
  ASSERT_TRUE(server_->wait_for("sendInitialEvents", 4));
  EXPECT_GE(reflector_->stats().failures, 2u) << "only the first was repeated at once";
}

TEST_F(ReflectorTest, AServerThatDoesNotStreamListsIsListed) {
  stream_lists = true;
  on_list = [](int, const Received&, Exchange& exchange) {
    exchange.reply(200, list({object("a", "u1", 3)}, 5));
  };
  on_watch = [](int, const Received& request, Exchange& exchange) {
    if (request.asks("sendInitialEvents")) {
      exchange.reply(422, R"({"message":"sendInitialEvents: Forbidden"})");
    } else {
      exchange.open_stream();
      exchange.hang();
    }
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("synced"));
  EXPECT_EQ(server_->count("sendInitialEvents"), 1u);
  EXPECT_THAT(sink.objects.lines(), ElementsAre("+ n/a u1 3", "synced"));
}

// The watch hangs behind: what happened since is learned from a list of the store.
TEST_F(ReflectorTest, RelistingReadsTheStoreAndDeliversTheDifference) {
  on_list = [](int call, const Received&, Exchange& exchange) {
    if (call == 1) exchange.reply(200, list({object("a", "u1", 3), object("b", "u2", 4)}, 10));
    if (call == 2) exchange.reply(503, "{}");
    if (call == 3) {
      exchange.reply(200, list({object("a", "u1", 12), object("c", "u3", 11)}, 20));
    }
  };
  start();
  ASSERT_TRUE(server_->wait_for("watch=true", 1));
  reflector_->relist([this] { sink.objects.add("relisted"); });
  ASSERT_TRUE(sink.objects.wait_for("relisted"));
  EXPECT_THAT(sink.objects.lines(), ElementsAre("+ n/a u1 3", "+ n/b u2 4", "synced", "~ n/a u1 12",
                                                "~ n/c u3 11", "- n/b u2", "relisted"));
  for (const int list_call : {1, 2}) {
    EXPECT_THAT(asked(false).at(list_call), Not(HasSubstr("resourceVersion")))
        << "at the newest version, not the cache's";
  }
  ASSERT_TRUE(server_->wait_for("watch=true", 2));
  EXPECT_THAT(asked(true).at(1), HasSubstr("resourceVersion=20"));
}

TEST_F(ReflectorTest, AListThatBeganBeforeDoesNotCountAsOneAfresh) {
  std::atomic<bool> open{false};
  Journal begun;
  on_list = [&](int call, const Received&, Exchange& exchange) {
    begun.add("list");
    while (call == 1 && !open) std::this_thread::sleep_for(1ms);
    exchange.reply(200, list({object("a", "u1", call)}, 10 * call));
  };
  const std::shared_ptr<void> at_the_end(nullptr, [&](void*) {
    open = true;
    finish();
  });
  start();
  // The server has the request and its number: the next one is another list, not the first.
  ASSERT_TRUE(begun.wait_for("list"));
  reflector_->relist([this] { sink.objects.add("first"); });
  reflector_->relist([this] { sink.objects.add("second"); });
  ASSERT_TRUE(sink.objects.wait_for("second"));
  open = true;
  const auto seen = sink.objects.lines();
  EXPECT_EQ(seen.at(1), "synced");
  EXPECT_THAT(seen.at(0), ::testing::MatchesRegex("\\+ n/a u1 [23]"));
  // The second demand may come after its list began; then it gets a list of its own.
  EXPECT_THAT(seen, AnyOf(ElementsAre(_, "synced", "first", "second"),
                          ElementsAre(_, "synced", "first", "~ n/a u1 3", "second")));
  finish();
  EXPECT_EQ(sink.objects.lines(), seen) << "the first answer came too late";
}

TEST_F(ReflectorTest, StopIsSilentAtAnyMoment) {
  on_watch = [](int, const Received&, Exchange& exchange) {
    exchange.open_stream();
    for (int i = 2; exchange.chunk(event("MODIFIED", object("a", "u1", i))); ++i) {
    }
  };
  start();
  ASSERT_TRUE(sink.objects.wait_for("~ n/a", 5));
  reflector_->stop();
  const std::size_t heard = sink.objects.lines().size();
  client_->run([] {});
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(sink.objects.lines().size(), heard);
  EXPECT_EQ(sink.states.lines().back(), "stopped: ");
}

TEST_F(ReflectorTest, ArbitraryBytesAsAWatchStreamNeverCrash) {
  options.backoff.initial = options.backoff.maximum = 1ms;
  options.very_short_watch = 0ms;
  std::mt19937 random(plimsoll::test::test_seed());
  std::mutex mutex;
  on_watch = [&](int, const Received&, Exchange& exchange) {
    std::string bytes;
    {
      const std::lock_guard lock(mutex);
      bytes =
          event("ADDED", object("a", "u", 1)) + bookmark(5) + event("DELETED", object("a", "u", 2));
      for (int i = 0; i < 6; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    exchange.open_stream();
    exchange.chunk(bytes);
    exchange.end_stream();
  };
  start();
  EXPECT_TRUE(server_->wait_for("watch=true", 200));
  finish();  // before what on_watch refers to
}

}  // namespace
}  // namespace plimsoll::informer
