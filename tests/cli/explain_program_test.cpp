// `plimsoll explain`, `plimsoll debug` and `kubectl plimsoll`, as a user calls them. What explain
// prints about the pods of tests/cli/explain is compared with the files beside them, in which every
// duration is written "N s".

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "serving/http_server.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kFolder = "tests/cli/explain/";

struct Answer {
  int code;
  std::string out;
  std::string err;
};

Answer call(const std::string& program, std::vector<std::string> arguments) {
  const TempDir dir;
  ChildOptions options;
  options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/" + program};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.stderr_file = dir.path() / "stderr";
  auto process = ChildProcess::start(options);
  EXPECT_TRUE(process.has_value()) << process.error().message;
  const auto status = process->wait(60s);
  EXPECT_TRUE(status.has_value()) << "still running after the timeout: " << process->output();
  return {status ? status->code : -1, process->output(), process->error_output()};
}

Answer plimsoll(std::vector<std::string> arguments) {
  return call("plimsoll", std::move(arguments));
}

Answer explain(const std::string& pod, std::vector<std::string> more = {}) {
  std::vector<std::string> words{"explain",   pod,
                                 "--config",  "examples/profiles/topology.yaml",
                                 "--cluster", kFolder + "cluster.yaml",
                                 "--pods",    kFolder + "pods.yaml"};
  words.insert(words.end(), more.begin(), more.end());
  return plimsoll(words);
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string without_durations(const std::string& text) {
  return std::regex_replace(text, std::regex("\\b[0-9]+ s\\b"), "N s");
}

TEST(PlimsollExplain, FilesOfACluster) {
  for (const char* pod : {"wide", "little", "placed", "gated"}) {
    const Answer answer = explain(std::string("default/") + pod);
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(without_durations(answer.out), contents(kFolder + pod + ".txt")) << answer.out;
  }
}

TEST(PlimsollExplain, JsonHasTheDocumentedShape) {
  const Answer answer = explain("default/little", {"-o", "json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const json said = json::parse(answer.out);
  EXPECT_EQ(said["pod"], json({{"namespace", "default"},
                               {"name", "little"},
                               {"uid", "pod-3"},
                               {"schedulerName", "topo-aware-scheduler"},
                               {"priority", 7},
                               {"terminating", false}}));
  EXPECT_EQ(said["state"], "queued");
  EXPECT_EQ(said["standby"], false);
  EXPECT_EQ(said["queue"]["place"], "active");
  const json& placement = said["placement"];
  EXPECT_EQ(placement["nodes"], 3);
  EXPECT_EQ(placement["feasible"], 2);
  ASSERT_EQ(placement["fitting"].size(), 2U);
  const json& best = placement["fitting"][0];
  EXPECT_EQ(best["node"], placement["chosen"]);
  EXPECT_EQ(best["rank"], 1);
  int64_t total = 0;
  for (const json& score : best["scores"]) {
    EXPECT_EQ(score["weighted"].get<int64_t>(),
              score["score"].get<int64_t>() * score["weight"].get<int64_t>());
    EXPECT_TRUE(score["raw"].is_number_integer());
    total += score["weighted"].get<int64_t>();
  }
  EXPECT_EQ(best["total"], total);
  ASSERT_EQ(placement["refused"].size(), 1U);
  EXPECT_EQ(placement["refused"][0], json({{"node", "cordoned"},
                                           {"plugin", "NodeUnschedulable"},
                                           {"code", "UnschedulableAndUnresolvable"},
                                           {"reason", "node(s) were unschedulable"}}));
  EXPECT_EQ(
      json::parse(
          explain("default/little", {"-o", "json", "--nodes", "1"}).out)["placement"]["fitting"]
          .size(),
      1U);
}

// tests/cli/koordlet: nodes as koordlet reports them. The CPU manager is off, koordlet says so, and
// its zones list CPUs and memory nevertheless.
TEST(PlimsollExplain, ManagersThatKoordletSaysAreOffPinNothing) {
  const std::string folder = "tests/cli/koordlet/";
  for (const auto& [pod, cluster] : {std::pair("team/wide-cpu", "managers_off.yaml"),
                                     std::pair("team/wide-memory", "managers_off.yaml"),
                                     std::pair("team/new", "managers_off_gpu.yaml")}) {
    const Answer answer =
        plimsoll({"explain", pod, "--config", "examples/profiles/koordinator-migrated.yaml",
                  "--cluster", folder + cluster});
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_THAT(answer.out, HasSubstr("1 of 1 node fits")) << pod;
  }
}

// Two pods of 20 CPUs run in zones of 32, and koordlet shows all of both as free.
TEST(PlimsollExplain, WhatKoordletShowsAsFreeKnownPodsHold) {
  const Answer answer =
      plimsoll({"explain", "team/new", "--config", "examples/profiles/koordinator-migrated.yaml",
                "--cluster", "tests/cli/koordlet/always_free.yaml"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("0 of 1 node fit"));
}

TEST(PlimsollExplain, SaysWhatIsWrong) {
  EXPECT_THAT(explain("default/foreign").err, HasSubstr("waits for another scheduler"));
  EXPECT_THAT(explain("little").err, HasSubstr("NAMESPACE/NAME"));
  EXPECT_THAT(explain("default/little", {"--nodes", "some"}).err, HasSubstr("\"all\""));
  EXPECT_THAT(plimsoll({"explain", "a/b", "--cluster", "x"}).err, HasSubstr("--config"));
  EXPECT_THAT(plimsoll({"explain", "a/b", "--pods", "x", "--cluster", "x"}).err,
              HasSubstr("--config"));
  const Answer nobody = plimsoll({"explain", "a/b", "--socket", "/nonexistent/s.sock"});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_THAT(nobody.err,
              AllOf(HasSubstr("the scheduler at /nonexistent/s.sock"), HasSubstr("--socket")));
}

// A scheduler that always gives the same answer.
Answer ask_stub(const serving::Response& answer, std::vector<std::string> words) {
  const TempDir folder;
  serving::ServerOptions options;
  options.local_socket = (folder.path() / "own" / "s.sock").string();
  const auto stub =
      serving::HttpServer::start(options, [&answer](const serving::Request&) { return answer; });
  EXPECT_TRUE(stub.has_value());
  words.insert(words.end(), {"--socket", options.local_socket});
  return plimsoll(words);
}

TEST(PlimsollDebug, TheExitStatusTellsTheResult) {
  const std::string equal = R"({"equal":true,"compared":{"nodes":2,"pods":5},"differences":[]})";
  const Answer same = ask_stub({200, equal}, {"debug", "compare"});
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.out, "equal: 2 nodes, 5 pods\n");
  const std::string different =
      R"({"equal":false,"compared":{"nodes":2,"pods":5},"differences":[)"
      R"({"kind":"Pod","object":"ns/a","uid":"u","problem":"missed","scheduler":"","api":"on n"}]})";
  const Answer other = ask_stub({200, different}, {"debug", "compare"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out, HasSubstr("missed   Pod   ns/a    u    -          on n"));
  EXPECT_THAT(other.out, HasSubstr("1 difference in 2 nodes, 5 pods"));
  const Answer failed = ask_stub({404, "the API server is away\n"}, {"debug", "compare"});
  EXPECT_EQ(failed.code, 2);
  EXPECT_THAT(failed.err, HasSubstr("the API server is away"));
  EXPECT_EQ(ask_stub({200, "no JSON"}, {"debug", "dump"}).code, 2);
  EXPECT_EQ(plimsoll({"debug", "dump", "--socket", "/nonexistent/s"}).code, 2);
}

TEST(PlimsollDebug, TheLogLevelIsReadAndSet) {
  const Answer now = ask_stub({200, "info\n"}, {"debug", "log-level"});
  EXPECT_EQ(now.code, 0) << now.err;
  EXPECT_EQ(now.out, "info\n");
  EXPECT_EQ(ask_stub({200, "successfully set\n"}, {"debug", "log-level", "debug"}).out,
            "successfully set\n");
  const Answer wrong = plimsoll({"debug", "log-level", "loud"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("warn"));
}

// An API server and a scheduler, as far as `kubectl plimsoll` speaks to them.
class KubectlPlimsoll : public ::testing::Test {
 protected:
  KubectlPlimsoll() {
    api_ = serving::HttpServer::start({}, [this](const serving::Request& request) {
             token_requests_.emplace_back(request.path, request.body);
             return serving::Response{201, R"({"status":{"token":"for-the-scheduler"}})",
                                      "application/json"};
           }).value();
    serving::ServerOptions secure;
    secure.tls = serving::TlsOptions{};
    scheduler_ = serving::HttpServer::start(secure, [this](const serving::Request& request) {
                   asked_.push_back(request);
                   return answer_;
                 }).value();
    std::ofstream(folder_.path() / "kubeconfig")
        << R"({"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c",
               "context":{"cluster":"c","user":"u"}}],"clusters":[{"name":"c","cluster":{"server":")"
        << api_->url() << R"("}}],"users":[{"name":"u","user":{"token":"my-own"}}]})";
  }
  Answer ask(std::vector<std::string> words) {
    words.insert(words.end(), {"--kubeconfig", folder_.path() / "kubeconfig", "--server",
                               "https://127.0.0.1:" + std::to_string(scheduler_->port())});
    return call("kubectl-plimsoll", words);
  }
  Answer ask_believing(std::vector<std::string> words) {
    words.emplace_back("--insecure-skip-tls-verify");
    return ask(std::move(words));
  }

  TempDir folder_;
  std::vector<std::pair<std::string, std::string>> token_requests_;  // path and body
  std::vector<serving::Request> asked_;
  serving::Response answer_{200, R"({"standby":false,"queue":[]})", "application/json"};
  std::unique_ptr<serving::HttpServer> api_;
  std::unique_ptr<serving::HttpServer> scheduler_;
};

TEST_F(KubectlPlimsoll, SendsATokenThatIsGoodForTheSchedulerOnly) {
  const Answer queue = ask_believing({"queue"});
  EXPECT_EQ(queue.code, 0) << queue.err;
  EXPECT_EQ(queue.out, "No pod waits.\n");
  ASSERT_EQ(token_requests_.size(), 1U);
  EXPECT_EQ(token_requests_[0].first,
            "/api/v1/namespaces/kube-system/serviceaccounts/plimsoll-viewer/token");
  EXPECT_EQ(json::parse(token_requests_[0].second)["spec"]["audiences"], json({"plimsoll"}));
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_[0].path, "/debug/queue");
  EXPECT_EQ(asked_[0].bearer_token, "for-the-scheduler");
  // Unless another one is given.
  EXPECT_EQ(ask_believing({"queue", "--token", "given"}).code, 0);
  EXPECT_EQ(token_requests_.size(), 1U);
  EXPECT_EQ(asked_.at(1).bearer_token, "given");
}

// With the rights of the viewer: the page's files come from this program. A token ends: another one
// is asked for.
TEST_F(KubectlPlimsoll, ShowsThePageAsTheViewer) {
  auto page = ChildProcess::start(
      {.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/kubectl-plimsoll", "ui",
                "--kubeconfig", folder_.path() / "kubeconfig", "--server",
                "https://127.0.0.1:" + std::to_string(scheduler_->port()),
                "--insecure-skip-tls-verify"}});
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_TRUE(page->wait_for_output("/debug/ui/\n", 60s)) << page->output();
  const std::string out = page->output();
  const std::size_t at = out.rfind("http://", out.find("/debug/ui/\n"));
  const std::string below = out.substr(at, out.find("ui/\n", at) - at);
  EXPECT_THAT(web_get(below + "ui/").body, HasSubstr("<title>Plimsoll</title>"));
  EXPECT_EQ(web_get(below + "top?node=a%2Fb&pods").body, answer_.body);
  EXPECT_EQ(asked_.back().path, "/debug/top");
  EXPECT_EQ(asked_.back().query, "node=a%2Fb&pods");
  EXPECT_EQ(asked_.back().bearer_token, "for-the-scheduler");
  EXPECT_EQ(token_requests_.size(), 1U);
  EXPECT_EQ(token_requests_.at(0).first,
            "/api/v1/namespaces/kube-system/serviceaccounts/plimsoll-viewer/token");
  answer_ = {401, "Unauthorized\n"};
  const WebAnswer old = web_get(below + "top");
  EXPECT_EQ(old.status, 502) << old.error << page->output();
  EXPECT_THAT(old.body, HasSubstr("Unauthorized"));
  answer_ = {200, "{}", "application/json"};
  EXPECT_EQ(web_get(below + "top").status, 200);
  EXPECT_EQ(token_requests_.size(), 2U);
  EXPECT_EQ(page->stop(30s), ExitStatus::exited(0)) << page->output();
}

TEST_F(KubectlPlimsoll, SaysByWhichFlagACertificateIsVerified) {
  const Answer answer = ask({"queue"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, HasSubstr("is not trusted"));
  EXPECT_THAT(answer.err, HasSubstr("--certificate-authority"));
  EXPECT_THAT(answer.err, Not(HasSubstr("tls-server-name")));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(KubectlPlimsoll, LooksIntoTheSchedulerAsItsOperator) {
  answer_ = {200, "successfully set the log level to debug\n"};
  const Answer level = ask_believing({"debug", "log-level", "debug"});
  EXPECT_EQ(level.code, 0) << level.err;
  EXPECT_EQ(level.out, answer_.body);
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_[0].method, "PUT");
  EXPECT_EQ(asked_[0].path, "/debug/flags/v");
  EXPECT_EQ(asked_[0].body, "debug");
  EXPECT_EQ(token_requests_.at(0).first,
            "/api/v1/namespaces/kube-system/serviceaccounts/plimsoll-operator/token");

  answer_ = {200, R"({"equal":true,"compared":{"nodes":2},"differences":[]})", "application/json"};
  const Answer same = ask_believing({"debug", "compare", "--settle", "0.5"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.out, "equal: 2 nodes\n");
  EXPECT_EQ(asked_.at(1).path, "/debug/compare");
  EXPECT_EQ(asked_.at(1).query, "settleSeconds=0.5");

  answer_ = {200, R"({"nodes":[]})", "application/json"};
  EXPECT_EQ(json::parse(ask_believing({"debug", "dump"}).out), json::parse(answer_.body));
  answer_ = {403, "forbidden: User \"x\" cannot get path \"/debug/dump\"\n"};
  const Answer refused = ask_believing({"debug", "dump"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("cannot get path"));
}

}  // namespace
}  // namespace plimsoll::test
