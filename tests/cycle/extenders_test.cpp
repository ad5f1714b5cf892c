// HTTP extenders: a real loop and a real client, and a server that says what a test tells it to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "informer/http/http_extenders.hpp"
#include "tests/cycle/loop_harness.hpp"
#include "tests/informer/scripted_server.hpp"

namespace plimsoll::testing {
namespace {

using informer::test::Exchange;
using informer::test::Received;
using informer::test::ScriptedServer;
using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kManaged = "example.com/foo";

// Whatever it is asked about, all of it fits.
std::string all_fit(const Json& asked) {
  return Json{{"NodeNames", asked["NodeNames"]}}.dump();
}

class Extenders : public LoopTest {
 protected:
  ~Extenders() override {
    stop();
    if (client_) client_->stop();  // no answer comes once the scheduler is gone
    scheduler_.reset();
  }

  // All of the verbs have the server's URL; asked only about pods that request kManaged.
  ExtenderSpec spec(const ScriptedServer& server) {
    ExtenderSpec made;
    made.url_prefix = server.url() + "/v1/";
    made.node_cache_capable = true;
    made.managed_resources = {{kManaged, false}};
    return made;
  }
  void start_with(std::vector<ExtenderSpec> specs) {
    options_.extenders = std::move(specs);
    auto made = informer::HttpExtenders::create(options_.extenders);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    client_ = std::move(*made);
    options_.extender_client = client_.get();
    start();
  }
  static std::string pod_json(const std::string& name, const std::string& cpu = "1") {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" + name +
           R"("},"spec":{"schedulerName":"one","containers":[{"name":"c","resources":)"
           R"({"requests":{"cpu":")" +
           cpu + R"(","example.com/foo":"1"}}}]}})";
  }
  // A pod that the extenders are interested in.
  void add_special(const std::string& name, const std::string& cpu = "1") {
    scheduler_->post(PodUpserted{*decode_pod(pod_json(name, cpu), symbols_)});
  }
  // As the API server answers: "extender URL: VERB: ...".
  std::string failed(const std::string& pod, const std::string& why) {
    return "event " + pod + " Warning FailedScheduling Scheduling: " + why;
  }

  std::unique_ptr<informer::HttpExtenders> client_;
};

TEST_F(Extenders, FilterAndPrioritizeDecide) {
  std::vector<Json> asked;
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    const Json body = Json::parse(request.body);
    asked.push_back(body);
    if (request.target == "/v1/filter") {
      exchange.reply(200, R"({"NodeNames":["n1","n2"],"FailedNodes":{"n3":"no"}})");
    } else {
      exchange.reply(200, R"([{"Host":"n1","Score":3},{"Host":"n2","Score":4},
                              {"Host":"elsewhere","Score":10}])");
    }
  });
  ExtenderSpec extender = spec(server);
  extender.filter_verb = "filter";
  extender.prioritize_verb = "prioritize";
  extender.weight = 2;
  start_with({extender});
  for (const char* node : {"n1", "n2", "n3"}) add_node(node, "4");
  add_special("a");
  EXPECT_TRUE(journal_.await("bind a n2"));
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0]["NodeNames"], Json::parse(R"(["n1","n2","n3"])"));
  EXPECT_TRUE(asked[0]["Nodes"].is_null());
  EXPECT_TRUE(asked[0]["Pod"].is_object());
  EXPECT_EQ(asked[1]["NodeNames"], Json::parse(R"(["n1","n2"])"));
  EXPECT_EQ(server.received()[0].method, "POST");
  EXPECT_EQ(server.received()[0].header("content-type"), "application/json");
}

TEST_F(Extenders, WithoutANodeCacheGetNodes) {
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    const Json body = Json::parse(request.body);
    EXPECT_TRUE(body["NodeNames"].is_null());
    EXPECT_EQ(body["Nodes"]["items"][1]["status"]["allocatable"]["cpu"], "2500m");
    exchange.reply(200, Json{{"nodes", {{"items", {body["Nodes"]["items"][1]}}}}}.dump());
  });
  ExtenderSpec extender = spec(server);
  extender.filter_verb = "filter";
  extender.node_cache_capable = false;
  start_with({extender});
  add_node("n1", "4");
  add_node("n2", "2500m");
  add_special("a");
  EXPECT_TRUE(journal_.await("bind a n2"));
}

TEST_F(Extenders, EachHearsOfTheNodesThatThoseBeforeItLeft) {
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    const Json names = Json::parse(request.body)["NodeNames"];
    Json left = names;
    left.erase(left.begin());
    EXPECT_EQ(names.size(), request.target == "/v1/second" ? 2U : 3U);
    exchange.reply(200, Json{{"NodeNames", left}}.dump());
  });
  ExtenderSpec first = spec(server);
  first.filter_verb = "first";
  ExtenderSpec second = spec(server);
  second.filter_verb = "second";
  start_with({first, second});
  for (const char* node : {"n1", "n2", "n3"}) add_node(node, "4");
  add_special("a");
  EXPECT_TRUE(journal_.await("bind a n3"));
}

TEST_F(Extenders, OtherPodsGoOnWhileOneWaits) {
  std::promise<void> others_are_bound;
  auto go_on = others_are_bound.get_future().share();
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    go_on.wait();
    exchange.reply(200, all_fit(Json::parse(request.body)));
  });
  ExtenderSpec extender = spec(server);
  extender.filter_verb = "filter";
  extender.timeout = std::chrono::minutes(1);
  start_with({extender});
  add_node("n1", "100");
  for (int i = 0; i < 40; ++i) add_special("slow" + std::to_string(i));
  EXPECT_TRUE(server.wait_for("filter", 16));  // no more are asked about at once
  for (int i = 0; i < 10; ++i) add_pod("fast" + std::to_string(i));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(journal_.await("bind fast" + std::to_string(i) + " n1"));
  }
  EXPECT_EQ(server.count("filter"), 16U);
  EXPECT_EQ(journal_.count("bind slow0 n1"), 0);
  others_are_bound.set_value();
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(journal_.await("bind slow" + std::to_string(i) + " n1"));
  }
}

TEST_F(Extenders, ATimeoutCostsThatPodOnly) {
  std::atomic<bool> first{true};
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    if (first.exchange(false)) return exchange.hang();
    exchange.reply(200, all_fit(Json::parse(request.body)));
  });
  ExtenderSpec extender = spec(server);
  extender.filter_verb = "filter";
  extender.timeout = std::chrono::milliseconds(50);
  start_with({extender});
  add_node("n1", "4");
  add_special("a");
  EXPECT_TRUE(server.wait_for("filter", 1));
  add_pod("b");
  EXPECT_TRUE(journal_.await("bind b n1"));
  EXPECT_TRUE(journal_.await("bind a n1"));  // tried again
  EXPECT_THAT(journal_.lines(),
              Contains(HasSubstr(failed("a", "extender " + extender.url_prefix + ": filter: POST " +
                                                 server.url() + "/v1/filter"))));
}

TEST_F(Extenders, AFailureIsToldUnlessItIsIgnorable) {
  std::atomic<int> calls{0};
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    if (request.target == "/v1/ignored" || calls++ == 0) return void(exchange.reply(500, "oh"));
    exchange.reply(200, all_fit(Json::parse(request.body)));
  });
  ExtenderSpec needed = spec(server);
  needed.filter_verb = "needed";
  ExtenderSpec ignored = spec(server);
  ignored.filter_verb = "ignored";
  ignored.ignorable = true;
  start_with({needed, ignored});
  add_node("n1", "4");
  add_special("a");
  EXPECT_TRUE(journal_.await(failed("a", "extender " + needed.url_prefix +
                                             ": needed: failed needed with extender at URL " +
                                             server.url() + "/v1/needed, code 500")));
  EXPECT_TRUE(journal_.await("bind a n1"));
}

TEST_F(Extenders, RefusalsAreToldAndEventsHelp) {
  std::atomic<bool> refuse{true};
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    const Json asked = Json::parse(request.body);
    if (!refuse) return void(exchange.reply(200, all_fit(asked)));
    exchange.reply(200, R"({"failedNodes":{"n1":"no card","n2":"card is hot"},
                            "failedAndUnresolvableNodes":{"n2":"no slot"}})");
  });
  ExtenderSpec extender = spec(server);
  extender.filter_verb = "filter";
  start_with({extender});
  add_node("n1", "4");
  add_node("n2", "4");
  add_special("a");
  EXPECT_TRUE(journal_.await(failed("a", "0/2 nodes are available: 1 no card, 1 no slot.")));
  refuse = false;
  add_node("n3", "4");
  EXPECT_TRUE(journal_.await("event a Normal Scheduled Binding: Successfully assigned ns/a to n1"));
}

TEST_F(Extenders, HostileAnswersCostThatPodOnly) {
  const std::vector<std::pair<std::string, std::string>> answers = {
      {"", "parse error"},
      {"[]", "wrong type"},
      {"7", "wrong type"},
      {R"({"NodeNames":["n1","ghost"]})", "\"ghost\" which is not found"},
      {R"({"NodeNames":"n1"})", "type must be array"},
      {R"({"NodeNames":[1]})", "type must be string"},
      {R"({"NodeNames":["n1"],"FailedNodes":["n1"]})", "its answer cannot be read"},
      {R"({"NodeNames":["n1"],"Error":"out of )" + std::string(5000, 'x') + "\"}", "out of xxx"},
      {R"({"NodeNames":[")" + std::string(size_t{4} << 20, 'x') + "\"]}", "an answer of more than"},
      {std::string(100'000, '['), "parse error"}};
  std::atomic<size_t> at{0};
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    const size_t turn = at++;
    if (turn < answers.size()) return void(exchange.reply(200, answers[turn].first));
    if (turn == answers.size()) {
      return void(exchange.reply(302, "", {{"Location", "http://127.0.0.1:1/"}}));
    }
    exchange.reply(200, all_fit(Json::parse(request.body)));
  });
  ExtenderSpec extender = spec(server);
  extender.filter_verb = "filter";
  start_with({extender});
  add_node("n1", "100");
  for (size_t i = 0; i <= answers.size(); ++i) add_special("a" + std::to_string(i));
  for (size_t i = 0; i <= answers.size(); ++i) {
    EXPECT_TRUE(journal_.await("bind a" + std::to_string(i) + " n1"));
  }
  const std::string told = "Warning FailedScheduling Scheduling: extender " + extender.url_prefix;
  std::string all;
  for (const std::string& line : journal_.lines()) {
    if (line.find(told) == line.npos) continue;
    EXPECT_LT(line.size(), 1000U) << "a stranger's words are bounded";
    all += line + "\n";
  }
  for (const auto& [answer, why] : answers) EXPECT_THAT(all, HasSubstr(why));
  EXPECT_THAT(all, HasSubstr("code 302"));
}

TEST_F(Extenders, ScoresOfAnySizeAreAdded) {
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    if (request.target == "/v1/wrong") {
      return void(exchange.reply(200, R"([{"Host":"n1","Score":"10"}])"));
    }
    exchange.reply(200, R"([{"Host":"n1","Score":-9223372036854775808},
                            {"Host":"n2","Score":9223372036854775807},
                            {"Host":"n3","Score":9223372036854775806},
                            {"Host":"n3","Score":-1}])");
  });
  ExtenderSpec extender = spec(server);
  extender.prioritize_verb = "prioritize";
  extender.weight = INT64_MAX;
  ExtenderSpec wrong = spec(server);  // its scores do not count; that is no failure
  wrong.prioritize_verb = "wrong";
  wrong.weight = 1;
  start_with({extender, wrong});
  for (const char* node : {"n1", "n2", "n3"}) add_node(node, "4");
  add_special("a");
  EXPECT_TRUE(journal_.await("bind a n2"));
}

TEST_F(Extenders, AnAnswerCountsForTheClusterAsItIsThen) {
  std::promise<void> room_is_gone;
  auto go_on = room_is_gone.get_future().share();
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    go_on.wait();
    exchange.reply(200, all_fit(Json::parse(request.body)));
  });
  ExtenderSpec extender = spec(server);
  extender.filter_verb = "filter";
  extender.timeout = std::chrono::minutes(1);
  start_with({extender});
  add_node("n1", "2");
  add_special("a", "2");
  EXPECT_TRUE(server.wait_for("filter", 1));
  add_pod("b", "2");
  EXPECT_TRUE(journal_.await("bind b n1"));
  add_node("n2", "2");  // nobody was asked about it
  settle();
  room_is_gone.set_value();
  EXPECT_TRUE(journal_.await("bind a n2"));
  EXPECT_EQ(server.count("filter"), 2U);
}

// Pod "a" is being asked about; the answer, that it fits everywhere, waits.
class ExtenderThatWaits : public Extenders {
 protected:
  void ask_about_a() {
    ExtenderSpec extender = spec(server_);
    extender.filter_verb = "filter";
    extender.timeout = std::chrono::minutes(1);
    start_with({extender});
    add_node("n1", "4");
    add_special("a");
    EXPECT_TRUE(server_.wait_for("filter", 1));
  }
  void answer() { go_.set_value(); }

 private:
  std::promise<void> go_;
  std::shared_future<void> go_on_ = go_.get_future().share();
  ScriptedServer server_{[this](const Received& request, Exchange& exchange) {
    const Json asked = Json::parse(request.body);
    go_on_.wait();
    exchange.reply(200, all_fit(asked));
  }};
};

TEST_F(ExtenderThatWaits, APodThatGoesMeanwhileIsForgotten) {
  ask_about_a();
  scheduler_->post(PodDeleted{*decode_pod(pod_json("a"), symbols_)});
  settle();
  answer();
  add_special("b");
  EXPECT_TRUE(journal_.await("bind b n1"));
  EXPECT_EQ(journal_.count("bind a n1"), 0);
}

TEST_F(ExtenderThatWaits, APodThatIsBeingDeletedMeanwhileIsLeftOut) {
  ask_about_a();
  Json terminating = Json::parse(pod_json("a"));
  terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  scheduler_->post(PodUpserted{*decode_pod(terminating.dump(), symbols_)});
  settle();
  answer();
  EXPECT_TRUE(journal_.await(failed("a", "skip schedule deleting pod: ns/a")));
  EXPECT_EQ(journal_.count("bind a n1"), 0);
}

TEST_F(Extenders, ANominationThatEndsMeanwhileDoesNotComeBackWithAFailure) {
  std::promise<void> nomination_ended;
  auto go_on = nomination_ended.get_future().share();
  ScriptedServer server([&](const Received&, Exchange& exchange) {
    go_on.wait();
    exchange.reply(500, "broken");
  });
  ExtenderSpec extender = spec(server);
  extender.filter_verb = "filter";
  extender.timeout = std::chrono::minutes(1);
  start_with({extender});
  add_node("n1", "4");
  Json nominated = Json::parse(pod_json("a", "4"));
  nominated["status"]["nominatedNodeName"] = "n1";
  scheduler_->post(PodUpserted{*decode_pod(nominated.dump(), symbols_)});
  EXPECT_TRUE(server.wait_for("filter", 1));
  add_special("a", "4");  // the nomination is taken back
  settle();
  nomination_ended.set_value();
  EXPECT_TRUE(journal_.await(failed("a", "extender " + extender.url_prefix +
                                             ": filter: failed filter with extender at URL " +
                                             server.url() + "/v1/filter, code 500")));
  add_pod("b", "4");
  EXPECT_TRUE(journal_.await("bind b n1"));
}

TEST_F(Extenders, BindInPlaceOfPlugins) {
  std::atomic<bool> first{true};
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    const Json asked = Json::parse(request.body);
    EXPECT_EQ(asked, Json::parse(R"({"PodName":"a","PodNamespace":"ns","PodUID":"u-a",
                                     "Node":"n1"})"));
    exchange.reply(200, first.exchange(false) ? R"({"Error":"not yet"})" : "{}");
  });
  ExtenderSpec extender = spec(server);
  extender.bind_verb = "bind";
  start_with({extender});
  add_node("n1", "4");
  add_special("a");
  add_pod("b");
  EXPECT_TRUE(journal_.await("bind b n1"));
  EXPECT_TRUE(journal_.await(failed("a", "extender " + extender.url_prefix + ": bind: not yet")));
  EXPECT_TRUE(journal_.await("event a Normal Scheduled Binding: Successfully assigned ns/a to n1"));
  EXPECT_EQ(journal_.count("bind a n1"), 0);
}

TEST_F(Extenders, AnIgnorableOneThatCannotBindLeavesThatToPlugins) {
  ScriptedServer server([&](const Received&, Exchange& exchange) { exchange.cut(); });
  ExtenderSpec extender = spec(server);
  extender.bind_verb = "bind";
  extender.ignorable = true;
  start_with({extender});
  add_node("n1", "4");
  add_special("a");
  EXPECT_TRUE(journal_.await("bind a n1"));
}

}  // namespace
}  // namespace plimsoll::testing
