// `plimsoll explain` and `plimsoll debug`, as a user calls them. What explain prints about the pods
// of tests/cli/explain is compared with the files beside them, in which every duration is written
// "N s".

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "cli/control_socket.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

const std::string kFolder = "tests/cli/explain/";

struct Answer {
  int code;
  std::string out;
  std::string err;
};

Answer plimsoll(std::vector<std::string> arguments) {
  const TempDir dir;
  ChildOptions options;
  options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/plimsoll"};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.stderr_file = dir.path() / "stderr";
  auto process = ChildProcess::start(options);
  EXPECT_TRUE(process.has_value()) << process.error().message;
  const auto status = process->wait(60s);
  EXPECT_TRUE(status.has_value()) << "still running after the timeout: " << process->output();
  return {status ? status->code : -1, process->output(), process->error_output()};
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
  for (const char* pod : {"wide", "little", "placed"}) {
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
  EXPECT_THAT(plimsoll({"explain", "a/b", "--pods", "x"}).err, HasSubstr("belong to --cluster"));
  const Answer nobody = plimsoll({"explain", "a/b", "--socket", "/nonexistent/s.sock"});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_THAT(nobody.err, HasSubstr("no scheduler answers at /nonexistent/s.sock"));
}

// A scheduler that always gives the same answer.
Answer ask_stub(const std::string& answer, std::vector<std::string> words) {
  const TempDir folder;
  const std::string path = (folder.path() / "own" / "s.sock").string();
  const auto stub = cli::ControlSocket::listen(
      path, [&answer](std::string_view, auto reply) { reply([answer] { return answer; }); });
  EXPECT_TRUE(stub.has_value());
  words.insert(words.end(), {"--socket", path});
  return plimsoll(words);
}

TEST(PlimsollDebug, TheExitStatusTellsTheResult) {
  const std::string equal =
      R"({"ok":true,"result":{"equal":true,"compared":{"nodes":2,"pods":5},"differences":[]}})";
  const Answer same = ask_stub(equal, {"debug", "compare"});
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.out, "equal: 2 nodes, 5 pods\n");
  const std::string different =
      R"({"ok":true,"result":{"equal":false,"compared":{"nodes":2,"pods":5},"differences":[)"
      R"({"kind":"Pod","object":"ns/a","uid":"u","problem":"missed","scheduler":"","api":"on n"}]}})";
  const Answer other = ask_stub(different, {"debug", "compare"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out, HasSubstr("missed   Pod   ns/a    u    -          on n"));
  EXPECT_THAT(other.out, HasSubstr("1 difference in 2 nodes, 5 pods"));
  const Answer failed =
      ask_stub(R"({"ok":false,"error":"the API server is away"})", {"debug", "compare"});
  EXPECT_EQ(failed.code, 2);
  EXPECT_THAT(failed.err, HasSubstr("the API server is away"));
  EXPECT_EQ(ask_stub("no JSON", {"debug", "dump"}).code, 2);
  EXPECT_EQ(plimsoll({"debug", "dump", "--socket", "/nonexistent/s"}).code, 2);
}

}  // namespace
}  // namespace plimsoll::test
