// What the program says when a plugin takes it with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string kSample = "examples/clusters/quickstart/";
const std::string kModules = std::filesystem::absolute(PLIMSOLL_CRASH_MODULES).string();

struct End {
  ExitStatus status;
  std::string err;
};

class PlimsollCrash : public testing::Test {
 protected:
  End program(const std::vector<std::string>& arguments, const std::string& at,
              const std::string& how) {
    std::ofstream(profile()) << "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                "kind: KubeSchedulerConfiguration\n"
                                "profiles:\n"
                                "- schedulerName: topo-aware-scheduler\n"
                                "  plugins:\n"
                                "    multiPoint: {enabled: [{name: Crash}]}\n"
                                "  pluginConfig:\n"
                                "  - {name: Crash, args: {at: "
                             << at << ", how: " << how << "}}\n";
    ChildOptions options;
    options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/plimsoll"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.argv.insert(options.argv.end(),
                        {"--config", profile(), "--plugin-dir", kModules, "--log-format", "json"});
    options.stderr_file = dir_.path() / "stderr";
    auto process = ChildProcess::start(options);
    EXPECT_TRUE(process.has_value()) << process.error().message;
    const auto status = process->wait(120s);
    EXPECT_TRUE(status.has_value()) << "still running after the timeout";
    return {status.value_or(ExitStatus{}), process->error_output()};
  }
  End simulate(const std::string& at, const std::string& how,
               const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"simulate", "--cluster", kSample + "cluster.yaml",
                                          "--pods", kSample + "pods.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return program(arguments, at, how);
  }
  std::string profile() const { return dir_.path() / "profile.yaml"; }

  // The record of the log that says it.
  static nlohmann::json record(const std::string& err) {
    std::istringstream lines(err);
    for (std::string line; std::getline(lines, line);) {
      auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object() && json.contains("stack")) return json;
    }
    ADD_FAILURE() << "no record with a stack: " << err;
    return nlohmann::json::object();
  }
  static void expect_it_names_the_plugin(const nlohmann::json& record, const std::string& call) {
    EXPECT_EQ(record.value("level", ""), "error");
    EXPECT_EQ(record.value("plugin", ""), "Crash");
    EXPECT_EQ(record.value("call", ""), call);
    EXPECT_EQ(record.value("version", ""), "2.4.1");
    EXPECT_EQ(record.value("file", ""), kModules + "/crash.so");
    EXPECT_THAT(record.value("stack", nlohmann::json::array()).dump(), HasSubstr("crash.so("));
  }

 private:
  TempDir dir_;
};

TEST_F(PlimsollCrash, ASimulationNamesThePluginTheCallAndThePod) {
  const End end = simulate("Filter", "invalid memory access");
  const auto said = record(end.err);
  expect_it_names_the_plugin(said, "Filter");
  EXPECT_EQ(said.value("msg", ""), "a plugin crashed; ending");
  EXPECT_EQ(said.value("signal", ""), "SIGSEGV (invalid memory access)");
  EXPECT_THAT(said.value("pod", ""), testing::StartsWith("default/")) << end.err;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end it their own way
  EXPECT_EQ(end.status.signal, SIGSEGV);
#endif
}

TEST_F(PlimsollCrash, OneThatCallsItselfWithoutEndIsNamedToo) {
  expect_it_names_the_plugin(record(simulate("Filter", "endless recursion").err), "Filter");
}

#if !defined(__SANITIZE_THREAD__)  // it holds signals back while a thread computes
TEST_F(PlimsollCrash, ASimulationNamesACallThatDoesNotReturnAndEnds) {
  const End end = simulate("Filter", "endless loop", {"--timeout", "2"});
  EXPECT_EQ(end.status.code, 1);
  EXPECT_THAT(end.err, HasSubstr("the scheduler loop hangs"));
  EXPECT_THAT(end.err, HasSubstr(R"(: plugin \"Crash\" in Filter of pod default/)")) << "as JSON";
}

// Nothing waits for these calls but the end.
TEST_F(PlimsollCrash, ASimulationNamesACallOfABindingThatDoesNotReturnAndEnds) {
  for (const std::string call : {"PreBind", "PostBind"}) {
    const End end = simulate(call, "endless loop", {"--timeout", "2"});
    EXPECT_EQ(end.status.code, 1);
    EXPECT_THAT(end.err, HasSubstr("a plugin has not returned for "));
    EXPECT_THAT(end.err, HasSubstr(R"(plugin \"Crash\" in )" + call + " of pod default/"));
  }
}

TEST_F(PlimsollCrash, ASimulationNamesAConstructorThatDoesNotReturn) {
  const End end = simulate("Create", "endless loop", {"--timeout", "1"});
  EXPECT_EQ(end.status.code, 1);
  EXPECT_THAT(end.err,
              HasSubstr(R"(gave up after 1 s while reading files: plugin \"Crash\" in Create)"));
}
#endif

TEST_F(PlimsollCrash, AStartThatFailsNamesThePlugin) {
  const End end = program({"run"}, "Create", "abort");
  const auto said = record(end.err);
  expect_it_names_the_plugin(said, "Create");
  EXPECT_EQ(said.value("signal", ""), "SIGABRT (abort)");
}

TEST_F(PlimsollCrash, OneThatCallsExitDoesNotLookLikeAGoodEnd) {
  const End end = simulate("Filter", "exit");
  const auto said = record(end.err);
  expect_it_names_the_plugin(said, "Filter");
  EXPECT_EQ(said.value("msg", ""), "a plugin ended the process by calling exit; ending");
  EXPECT_EQ(end.status.code, 1);
}

}  // namespace
}  // namespace plimsoll::test
