#include "serving/access.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "framework/metrics/registry.hpp"
#include "tests/support/prometheus_text.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::serving {
namespace {

using namespace std::chrono_literals;
using plimsoll::test::RawConnection;
using plimsoll::test::web_get;
using plimsoll::test::web_request;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Answers at once, or when the test says so.
class FakeReviewer final : public Reviewer {
 public:
  struct State {
    std::map<std::string, User> users;                    // by token
    std::map<std::string, std::vector<std::string>> may;  // by user: "get /metrics"
    std::optional<Error> token_error, access_error;
    bool holds = false;  // keeps questions about tokens
    std::vector<std::pair<std::string, TokenDone>> held;
    std::vector<std::string> asked;
    std::vector<User> asked_about;
  };
  explicit FakeReviewer(State& state) : state_(state) {}

  void review_token(const std::string& token, TokenDone done) override {
    state_.asked.push_back("token " + token);
    if (state_.holds) return state_.held.emplace_back(token, std::move(done)), void();
    answer(state_, token, done);
  }
  void review_access(const User& user, const std::string& verb, const std::string& path,
                     AccessDone done) override {
    state_.asked.push_back(user.name + " " + verb + " " + path);
    state_.asked_about.push_back(user);
    if (state_.access_error) return done(fail(*state_.access_error));
    const auto& may = state_.may[user.name];
    done(std::ranges::find(may, verb + " " + path) != may.end());
  }
  static void answer(State& state, const std::string& token, const TokenDone& done) {
    if (state.token_error) return done(fail(*state.token_error));
    const auto known = state.users.find(token);
    done(known == state.users.end() ? std::nullopt : std::optional<User>(known->second));
  }

 private:
  State& state_;
};

class AccessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.clock = [this] { return now_; };
    state_.users = {{"good", {.name = "scraper", .uid = "1", .groups = {"scrapers"}}},
                    {"other", {.name = "nobody"}}};
    state_.may = {{"scraper", {"get /metrics"}}};
    make();
  }
  void make() {
    control_ = std::move(*AccessControl::create(options_, std::make_unique<FakeReviewer>(state_),
                                                ServingMetrics(registry_)));
  }

  static Request request(const std::string& path, const std::string& token,
                         const std::string& verb = "get") {
    return {.method = "GET",
            .path = path,
            .query = "",
            .body = "",
            .verb = verb,
            .bearer_token = token};
  }
  // 200: let in; 0: no verdict yet.
  int ask(const Request& asked) {
    int status = 0;
    control_->check(asked, [&](const std::function<Response()>& instead) {
      const Response answer = instead ? instead() : Response{};
      status = answer.status;
      body_ = answer.body;
    });
    return status;
  }
  int ask(const std::string& path, const std::string& token) { return ask(request(path, token)); }
  double counted(const std::string& result) {
    return plimsoll::test::parse_metrics(registry_.text())
        .sum("plimsoll_serving_access_total", {{"result", result}});
  }
  std::vector<std::string> take_asked() { return std::exchange(state_.asked, {}); }

  std::chrono::steady_clock::time_point now_{1h};
  AccessOptions options_;
  metrics::Registry registry_;
  FakeReviewer::State state_;
  std::unique_ptr<AccessControl> control_;
  std::string body_;
};

TEST_F(AccessTest, WithoutATokenNobodyIsAsked) {
  EXPECT_EQ(ask("/metrics", ""), 401);
  EXPECT_EQ(ask("/metrics", "has\ttab"), 401);
  EXPECT_EQ(ask("/metrics",
                "not\xff"
                "ascii"),
            401);
  EXPECT_THAT(state_.asked, IsEmpty());
  EXPECT_EQ(counted("unauthenticated"), 3);
}

TEST_F(AccessTest, AUserIsLetInWhereTheServerAllowsIt) {
  EXPECT_EQ(ask("/metrics", "good"), 200);
  EXPECT_THAT(take_asked(), ElementsAre("token good", "scraper get /metrics"));
  EXPECT_THAT(state_.asked_about.front().groups, ElementsAre("scrapers", "system:authenticated"));
  EXPECT_EQ(ask("/configz", "good"), 403);
  EXPECT_EQ(body_, "forbidden: User \"scraper\" cannot get path \"/configz\"\n");
  EXPECT_EQ(ask(request("/metrics", "good", "put")), 403);
  EXPECT_EQ(ask("/metrics", "other"), 403);
  EXPECT_EQ(ask("/metrics", "bogus"), 401);
  EXPECT_EQ(counted("allowed"), 1);
  EXPECT_EQ(counted("forbidden"), 3);
}

TEST_F(AccessTest, AnswersAreKeptForTenSeconds) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask("/metrics", "good"), 200);
    EXPECT_EQ(ask("/metrics", "bogus"), 401);
    EXPECT_EQ(ask("/configz", "other"), 403);
    now_ += 3s;
  }
  EXPECT_THAT(take_asked(), ElementsAre("token good", "scraper get /metrics", "token bogus",
                                        "token other", "nobody get /configz"));
  state_.users.erase("good");
  now_ += 1s;
  EXPECT_EQ(ask("/metrics", "good"), 401) << "a token that was revoked";
}

TEST_F(AccessTest, WhatCannotBeAskedIsNotAllowedAndNotKept) {
  state_.token_error = Error{ErrorCode::kUnavailable, "no route"};
  EXPECT_EQ(ask("/metrics", "good"), 401);
  state_.token_error.reset();
  state_.access_error = Error{ErrorCode::kUnavailable, "no route"};
  EXPECT_EQ(ask("/metrics", "good"), 500);
  EXPECT_EQ(body_, "internal server error\n");
  state_.access_error.reset();
  EXPECT_EQ(ask("/metrics", "good"), 200);
  EXPECT_EQ(counted("failed"), 2);
}

TEST_F(AccessTest, SomePathsAreForEverybody) {
  state_.token_error = Error{ErrorCode::kUnavailable, "no route"};
  EXPECT_EQ(ask("/healthz", ""), 200);
  EXPECT_EQ(ask("/livez", "bogus"), 200);
  EXPECT_EQ(ask("/readyz/ping", ""), 401);
  EXPECT_EQ(ask("/healthzz", ""), 401);
  options_.always_allow_paths = {"/readyz*", "/metrics", "/", ""};
  make();
  EXPECT_EQ(ask("/readyz/ping", ""), 200);
  EXPECT_EQ(ask("/metrics", ""), 200);
  EXPECT_EQ(ask("/", ""), 200);
  EXPECT_EQ(ask("/livez", ""), 401);
  EXPECT_THAT(state_.asked, IsEmpty());
  for (const char* path : {"/a*b", "metrics", "--port"}) {
    options_.always_allow_paths = {path};
    const auto wrong = AccessControl::create(options_, std::make_unique<FakeReviewer>(state_));
    ASSERT_FALSE(wrong.has_value());
    EXPECT_THAT(wrong.error().message, HasSubstr(std::string("\"") + path + "\" must begin"));
  }
}

TEST_F(AccessTest, ACertificateNamesItsUser) {
  Request asked = request("/metrics", "");
  asked.certificate_user = User{.name = "scraper", .groups = {"ops"}};
  EXPECT_EQ(ask(asked), 200);
  EXPECT_THAT(take_asked(), ElementsAre("scraper get /metrics"));
  asked.certificate_user->name = "not\xff utf-8";
  EXPECT_EQ(ask(asked), 401);
  EXPECT_EQ(ask(request("/\xff", "good")), 404);
  EXPECT_THAT(state_.asked, IsEmpty());
}

// Users whose fields run into each other are not the same user.
TEST_F(AccessTest, NoUserIsTakenForAnother) {
  state_.may["a"] = {"get /metrics"};
  Request asked = request("/metrics", "");
  asked.certificate_user = User{.name = "a", .groups = {"bc"}};
  EXPECT_EQ(ask(asked), 200);
  for (const User& user : std::vector<User>{{.name = "ab", .groups = {"c"}},
                                            {.name = "a1:b", .groups = {}},
                                            {.name = "", .uid = "a", .groups = {"bc"}}}) {
    asked.certificate_user = user;
    EXPECT_EQ(ask(asked), 403) << user.name;
  }
  asked.certificate_user = User{.name = "a", .groups = {"b", "c"}};
  (void)take_asked();
  EXPECT_EQ(ask(asked), 200);
  EXPECT_THAT(take_asked(), ElementsAre("a get /metrics")) << "asked about by itself";
}

TEST_F(AccessTest, QuestionsAreLimited) {
  options_.most_under_way = 2;
  options_.most_waiting = 3;
  make();
  state_.holds = true;
  std::map<std::string, int> verdicts;
  const auto begin = [&](const std::string& token) {
    control_->check(request("/metrics", token),
                    [&, token](const std::function<Response()>& instead) {
                      verdicts[token] = instead ? instead().status : 200;
                    });
  };
  for (const char* token : {"a", "b", "good", "c", "other", "d"}) begin(token);
  EXPECT_THAT(take_asked(), ElementsAre("token a", "token b"));
  EXPECT_EQ(verdicts, (std::map<std::string, int>{{"d", 503}}));
  EXPECT_EQ(ask("/healthz", ""), 200);
  state_.holds = false;
  for (auto& [token, done] : std::exchange(state_.held, {})) {
    FakeReviewer::answer(state_, token, done);
  }
  EXPECT_EQ(verdicts,
            (std::map<std::string, int>{
                {"a", 401}, {"b", 401}, {"good", 200}, {"c", 401}, {"other", 403}, {"d", 503}}));
  EXPECT_EQ(counted("busy"), 1);

  // Turns are given back; who waits for too long is refused.
  state_.holds = true;
  verdicts.clear();
  for (const char* token : {"e", "f", "g"}) begin(token);
  now_ += 6s;
  begin("h");
  state_.holds = false;
  for (auto& [token, done] : std::exchange(state_.held, {})) {
    FakeReviewer::answer(state_, token, done);
  }
  EXPECT_EQ(verdicts, (std::map<std::string, int>{{"e", 401}, {"f", 401}, {"g", 503}, {"h", 401}}));
}

TEST_F(AccessTest, EndsWithQuestionsUnderWay) {
  state_.holds = true;
  options_.most_under_way = 1;
  make();
  int verdicts = 0;
  for (const char* token : {"a", "b"}) {
    control_->check(request("/metrics", token),
                    [&](const std::function<Response()>&) { ++verdicts; });
  }
  control_.reset();
  EXPECT_EQ(verdicts, 0);
  EXPECT_THAT(state_.asked, ElementsAre("token a"));
}

TEST(ExpiringCache, KeepsWithinItsLimits) {
  using Cache = ExpiringCache<int>;
  Cache cache(10s, 3, 100);
  Cache::Time now{1h};
  const auto has = [&](const char* key) { return cache.find(key, now) != nullptr; };
  cache.put("a", 1, 10, now);
  cache.put("b", 2, 10, now + 1s);
  cache.put("c", 3, 10, now + 2s);
  cache.put("d", 4, 10, now + 3s);
  EXPECT_FALSE(has("a")) << "the oldest made room";
  EXPECT_EQ(cache.size(), 3U);
  cache.put("e", 5, 95, now + 4s);
  EXPECT_EQ(cache.size(), 1U) << "too large to stay beside others";
  EXPECT_EQ(cache.bytes(), 95U);
  cache.put("f", 6, 101, now + 4s);
  EXPECT_FALSE(has("f"));
  EXPECT_TRUE(has("e"));
  now += 14s;
  EXPECT_FALSE(has("e"));
  cache.put("e", 7, 1, now);
  EXPECT_EQ(*cache.find("e", now), 7);
  EXPECT_EQ(cache.bytes(), 1U);
}

// ---- behind a server

class GateTest : public AccessTest {
 protected:
  void serve() {
    ServerOptions options;
    options.max_connections = 8;
    options.gate = [this](const Request& request, Reply done) {
      control_->check(request, std::move(done));
    };
    auto started = HttpServer::start(options, [](const Request& request) {
      return Response{200, request.method + " " + request.path};
    });
    ASSERT_TRUE(started.has_value()) << started.error().message;
    server_ = std::move(*started);
  }
  int get(const std::string& path, const std::string& header) {
    return web_request("GET", server_->url() + path, {}, {}, {.headers = {header}}).status;
  }
  std::unique_ptr<HttpServer> server_;
};

TEST_F(GateTest, ReadsTheAuthorizationHeaderAsTheApiServerDoes) {
  serve();
  EXPECT_EQ(get("/metrics", "Authorization: Bearer good"), 200);
  EXPECT_EQ(get("/metrics", "Authorization:   bEARER good "), 200);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer good more"), 200);
  EXPECT_EQ(get("/metrics", "X: y"), 401);
  EXPECT_EQ(get("/metrics", "Authorization: Basic good"), 401);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer"), 401);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer  good"), 401);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer other"), 403);
  EXPECT_EQ(get("/%6detrics", "Authorization: Bearer good"), 200) << "by the decoded path";
  EXPECT_EQ(get("/metrics?x=/healthz", "X: y"), 401);
  EXPECT_EQ(get("/healthz", "X: y"), 200);
}

// A role with the verb get does not allow others, as with kube-apiserver.
TEST_F(GateTest, AsksWithTheVerbAsSent) {
  state_.may["nobody"] = {"head /metrics"};
  serve();
  const auto ask = [&](const std::string& method, const std::string& token) {
    return web_request(method, server_->url() + "/metrics", {}, {},
                       {.headers = {"Authorization: Bearer " + token}})
        .status;
  };
  EXPECT_EQ(ask("HEAD", "good"), 403);
  EXPECT_EQ(ask("DELETE", "good"), 403);
  EXPECT_EQ(ask("GET", "good"), 200);
  EXPECT_EQ(ask("HEAD", "other"), 200);
}

TEST_F(GateTest, HostileHeadersAreAnswered) {
  serve();
  bool closed = false;
  const auto raw = [&](const std::string& header) {
    RawConnection connection(server_->port());
    connection.send("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + header +
                    "\r\n\r\n");
    return connection.read_to_end(10'000, closed);
  };
  EXPECT_THAT(raw("Authorization: Bearer " + std::string(15'000, 'x')), HasSubstr(" 401 "));
  EXPECT_THAT(raw("Authorization: Bearer " + std::string(20'000, 'x')), HasSubstr(" 431 "));
  EXPECT_THAT(raw(std::string("Authorization: Bearer a\0b", 25)), HasSubstr(" 400 "));
  EXPECT_THAT(raw("Authorization: Bearer \xff\xfe"), HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(raw("Authorization: Bearer x\r\nAuthorization: Bearer good"), HasSubstr(" 401 "));
  EXPECT_EQ(get("/%00%ff", "Authorization: Bearer good"), 404);
  EXPECT_EQ(get("/metrics", "Authorization: Bearer good"), 200);
}

// Requests about which the API server is being asked hold no place that a probe needs.
TEST_F(GateTest, AProbeIsAnsweredWhileReviewsHang) {
  state_.holds = true;
  options_.most_under_way = options_.most_waiting = 4;
  make();
  serve();
  std::vector<std::unique_ptr<RawConnection>> hanging;
  for (int i = 0; i < 40; ++i) {
    hanging.push_back(std::make_unique<RawConnection>(server_->port()));
    ASSERT_TRUE(hanging.back()->send("GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t" +
                                     std::to_string(i) + "\r\n\r\n"));
    EXPECT_EQ(get("/livez", "X: y"), 200);
  }
  server_->stop();
  // Verdicts that come after the end of the server find nobody.
  for (auto& [token, done] : std::exchange(state_.held, {})) done(std::optional<User>());
  server_.reset();
}

}  // namespace
}  // namespace plimsoll::serving
