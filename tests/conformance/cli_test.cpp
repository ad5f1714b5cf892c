// The command line of plimsoll-conformance: exit status and last line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace plimsoll::conformance {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

struct Outcome {
  int status = -1;
  std::string output;
};

Outcome run(const std::string& arguments) {
  const char* folder = std::getenv("PLIMSOLL_BIN_DIR");
  EXPECT_NE(folder, nullptr);
  const std::string command = std::string(folder != nullptr ? folder : ".") +
                              "/plimsoll-conformance " + arguments + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  for (size_t count = 0; (count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

class ConformanceCli : public ::testing::Test {
 protected:
  // Each test is a process of its own under ctest, so the name is enough to keep them apart.
  std::string file(const std::string& text) {
    const std::string path = ::testing::TempDir() + "/conformance_" +
                             ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                             ".jsonl";
    std::ofstream(path) << text;
    return path;
  }
};

constexpr const char* kRight =
    R"({"id":"q/1","kind":"json","json":"\"1\"","approxFloat64":"1","asInt64":[1,true],)"
    R"("canonical":"1","format":"DecimalSI","marshal":"\"1\"","milliValue":1000,"sign":1,"value":1})"
    "\n";
constexpr const char* kWrong =
    R"({"id":"q/2","kind":"json","json":"\"1\"","approxFloat64":"1","asInt64":[1,true],)"
    R"("canonical":"1","format":"DecimalSI","marshal":"\"1\"","milliValue":1000,"sign":1,"value":2})"
    "\n";

TEST_F(ConformanceCli, PassesWhatIsRight) {
  const Outcome outcome = run("quantity " + file(std::string(kRight) + kRight));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "2 passed, 0 failed\n");
}

TEST_F(ConformanceCli, ShowsTheDifferenceAndFails) {
  const std::string path = file(std::string(kRight) + kWrong + kWrong);
  Outcome outcome = run("quantity --max-failures 1 " + path);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("FAILED q/2\n  value: expected 2, got 1\n"));
  EXPECT_THAT(outcome.output, HasSubstr("... and 1 more\n"));
  EXPECT_THAT(outcome.output, EndsWith("1 passed, 2 failed\n"));
  outcome = run("quantity --only q/1 " + path);
  EXPECT_EQ(outcome.status, 0);
}

TEST_F(ConformanceCli, CountsALineThatIsNoCaseAsFailed) {
  const Outcome outcome = run("quantity " + file(std::string(kRight) + "{\n"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, EndsWith("1 passed, 1 failed\n"));
}

TEST_F(ConformanceCli, RefusesAWrongCommandLine) {
  const std::string path = file(kRight);
  EXPECT_EQ(run("").status, 2);
  EXPECT_EQ(run("quantity").status, 2);
  EXPECT_EQ(run("quantities " + path).status, 2);
  EXPECT_EQ(run("quantity --only q/9 " + path).status, 2);
  EXPECT_EQ(run("quantity " + path + ".missing").status, 2);
  EXPECT_EQ(run("quantity " + ::testing::TempDir()).status, 2);
  EXPECT_EQ(run("quantity " + file("")).status, 2);
}

TEST_F(ConformanceCli, NoticesAFileThatIsCutOff) {
  const std::string whole = "tests/vectors/quantity.jsonl.gz";
  std::ifstream in(whole, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  ASSERT_GT(bytes.size(), 1000u);
  const std::string path = file("");
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  EXPECT_EQ(run("quantity " + path).status, 2);
}

// Two GPUs, the first of them given away in full. A pod wants one.
std::string allocation(const std::string& limits, const std::string& answer) {
  const std::string whole = R"("koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"16Gi",)"
                            R"("koordinator.sh/gpu-memory-ratio":"100")";
  const auto gpu = [&](const std::string& minor) {
    return R"({"type":"gpu","minor":)" + minor + R"(,"health":true,"resources":{)" + whole + "}}";
  };
  return R"({"id":"d/1","kind":"upstream_allocate","node":{"metadata":{"name":"n"}},"device":{)"
         R"("metadata":{"name":"n"},"spec":{"devices":[)" +
         gpu("0") + "," + gpu("1") + R"(]}},"used":[{"add":true,"pod":"a","allocation":{"gpu":[{)" +
         R"("minor":0,"resources":{)" + whole + R"(}}]}}],"pod":{"metadata":{},"spec":{)" +
         R"("containers":[{"name":"c","resources":{"requests":{"nvidia.com/gpu":"1"}}}]}},)" +
         limits + "," + answer + "}\n";
}

std::string given(const std::string& minor) {
  return R"("status":{"code":"Success"},"allocation":{"gpu":[{"minor":)" + minor +
         R"(,"resources":{"koordinator.sh/gpu-core":"100",)"
         R"("koordinator.sh/gpu-memory-ratio":"100"}}]})";
}

TEST_F(ConformanceCli, ComparesWithinTheLimitsOfReservations) {
  const std::string refused =
      R"("status":{"code":"Unschedulable","reasons":["Insufficient gpu devices"]})";
  const auto outcome = [&](const std::string& limits, const std::string& answer) {
    return run("device " + file(allocation(limits, answer)));
  };
  EXPECT_EQ(outcome(R"("required":{"gpu":[1]})", given("1")).status, 0);
  EXPECT_EQ(outcome(R"("required":{"gpu":{"0":{}}})", refused).status, 0);
  EXPECT_EQ(outcome(R"("required":{"gpu":[0]})", given("0")).status, 1);
  const std::string preemptible =
      R"("preemptibleDeviceResources":{"gpu":{"0":{"koordinator.sh/gpu-core":"100",)"
      R"("koordinator.sh/gpu-memory-ratio":"100"}}})";
  EXPECT_EQ(outcome(preemptible + R"(,"required":{"gpu":[0]})", given("0")).status, 0);
  const std::string remains =
      R"("required":{"gpu":[1]},"requiredDeviceResources":{"gpu":{"1":{"koordinator.sh/gpu-core":)"
      R"("50","koordinator.sh/gpu-memory-ratio":"50"}}})";
  EXPECT_EQ(outcome(remains, refused).status, 0);
  EXPECT_EQ(outcome(remains, given("1")).status, 1);
}

TEST_F(ConformanceCli, CallsThatNoPodBringsAboutDoNotCount) {
  const auto outcome = [&](const std::string& test_case) {
    return run("device " + file(R"({"id":"d/1",)" + test_case + "}\n")).status;
  };
  EXPECT_EQ(outcome(R"("kind":"upstream_validate","combination":0,"err":true,"requests":{})"), 0);
  EXPECT_EQ(outcome(R"("kind":"upstream_validate","combination":1,"err":true,)"
                    R"("requests":{"nvidia.com/gpu":"2"})"),
            1);
  EXPECT_EQ(outcome(R"("kind":"upstream_convert","combination":224,"deviceRequest":null,)"
                    R"("requests":{"nvidia.com/gpu":"2"})"),
            0);
  EXPECT_EQ(outcome(R"("kind":"upstream_convert","combination":1,"deviceRequest":null,)"
                    R"("requests":{"nvidia.com/gpu":"2"})"),
            1);
}

// A node with one zone of two CPUs, one of them free. A pod wants one.
std::string admission(const std::string& outcome) {
  return R"({"seq":"s","machine":{"sockets":1,"nodes":[{"id":0,"cores":[[0,0,0],[0,0,1]],)"
         R"("mem":1,"dist":[10]}],"devices":{},"reserved_cpus":"0","reserved_mem":[{}]},)"
         R"("kubelet":{"tm_policy":"restricted","tm_scope":"pod","cpu_policy":"static",)"
         R"("mem_policy":"None"},"nrt_cap":{"cpu":[2]},"nrt_alloc":{"cpu":[1]},"steps":[{"op":)"
         R"("admit","pod":{"uid":"p","qos":"Guaranteed","c":[{"name":"c","kind":"app","req":)"
         R"({"cpu":1000},"lim":{"cpu":1000}}]},"fit":true,"nrt":{"cpu":[1]},"st":{"cpus":"1"},)" +
         outcome + "}]}\n";
}

TEST_F(ConformanceCli, ViewsThatTolerateErrorsPrintATable) {
  const Outcome right = run("admit --view counts " + file(admission(R"("admit":true)")));
  EXPECT_EQ(right.status, 0);
  EXPECT_THAT(right.output, HasSubstr("restricted, pod"));
  EXPECT_THAT(right.output, EndsWith("1 passed, 0 failed\n"));
  const Outcome wrong = run("admit --view counts " + file(admission(R"("admit":false)")));
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.output, HasSubstr("100.00 %"));
  EXPECT_THAT(wrong.output, EndsWith("0 passed, 1 failed\n"));
}

}  // namespace
}  // namespace plimsoll::conformance
