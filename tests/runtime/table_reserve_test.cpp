// TestReservePlugins, TestPermitPlugins, and what Unreserve hears of it.

#include <gmock/gmock.h>

#include "tests/runtime/tables.hpp"

namespace plimsoll {
namespace {

using namespace plimsoll::testing;  // NOLINT: the codes of the tables
using sdk::FakeNode;
using sdk::FakePod;

class ReserveTable : public ::testing::Test {
 protected:
  World world_;
  FakePod pod_{"team/a"};
  FakeNode node_{"n1"};
};

TEST_F(ReserveTable, Reserve) {
  struct Row {
    const char* name;
    Codes codes;
    const char* status;
    const char* reserved;  // who was asked
  };
  const Row rows[] = {
      {"no plugin", {}, "Success", ""},
      {"Success", {kSuccess}, "Success", "A"},
      {"Unschedulable", {kUnschedulable}, "Unschedulable by A: injected", "A"},
      {"Error", {kError}, "Error: running Reserve plugin \"A\": injected", "A"},
      {"UnschedulableAndUnresolvable",
       {kUnresolvable},
       "UnschedulableAndUnresolvable by A: injected",
       "A"},
      {"Pending", {kPending}, "Pending by A: injected", "A"},
      {"Success twice", {kSuccess, kSuccess}, "Success", "AB"},
      {"Error twice", {kError, kError}, "Error: running Reserve plugin \"A\": injected", "A"},
      {"Success, then Error",
       {kSuccess, kError},
       "Error: running Reserve plugin \"B\": injected",
       "AB"},
      {"Error, then Success",
       {kError, kSuccess},
       "Error: running Reserve plugin \"A\": injected",
       "A"},
      {"Unschedulable, then Success",
       {kUnschedulable, kSuccess},
       "Unschedulable by A: injected",
       "A"},
      {"Skip is not legal here",
       {kSkip},
       "Error: running Reserve plugin \"A\": it returned Skip, which it must not return here",
       "A"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    scripts().clear();
    Framework& framework = world_.make(profile_at(ExtensionPoint::kReserve, row.codes.size()));
    for (size_t i = 0; i < row.codes.size(); ++i) {
      scripts()[plugin_letter(i)].reserve = injected(row.codes[i]);
    }
    calls().clear();
    auto cycle = framework.new_cycle();
    EXPECT_EQ(text_of(world_, framework.run_reserve(*cycle, pod_.get(), node_.get())), row.status);
    std::string reserved;
    for (const std::string& call : calls()) reserved += call.front();
    EXPECT_EQ(reserved, row.reserved);
    // All hear of Unreserve, last first, whether they were asked to reserve or not.
    calls().clear();
    framework.run_unreserve(*cycle, pod_.get(), "n1");
    std::vector<std::string> unreserved;
    for (size_t i = row.codes.size(); i-- > 0;)
      unreserved.push_back(plugin_letter(i) + ".unreserve");
    EXPECT_EQ(calls(), unreserved);
  }
}

TEST_F(ReserveTable, Permit) {
  struct Row {
    const char* name;
    Codes codes;
    const char* status;
    const char* waits;  // plugins and their timeouts
  };
  const Row rows[] = {
      {"no plugin", {}, "Success", ""},
      {"Success", {kSuccess}, "Success", ""},
      {"Unschedulable", {kUnschedulable}, "Unschedulable by A: injected", ""},
      {"Error", {kError}, "Error: running Permit plugin \"A\": injected", ""},
      {"UnschedulableAndUnresolvable",
       {kUnresolvable},
       "UnschedulableAndUnresolvable by A: injected",
       ""},
      {"Pending", {kPending}, "Pending by A: injected", ""},
      {"two wait", {kWait, kWait}, "Wait", "A0 B1000 "},
      {"one waits between two that allow", {kSuccess, kWait, kSuccess}, "Wait", "B1000 "},
      {"Success twice", {kSuccess, kSuccess}, "Success", ""},
      {"Error twice", {kError, kError}, "Error: running Permit plugin \"A\": injected", ""},
      {"a rejection after a wait", {kWait, kUnschedulable}, "Unschedulable by B: injected", ""},
      {"an error after a wait",
       {kWait, kError},
       "Error: running Permit plugin \"B\": injected",
       ""},
      {"Skip is not legal here",
       {kSkip},
       "Error: running Permit plugin \"A\": it returned Skip, which it must not return here",
       ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    scripts().clear();
    Framework& framework = world_.make(profile_at(ExtensionPoint::kPermit, row.codes.size()));
    for (size_t i = 0; i < row.codes.size(); ++i) {
      scripts()[plugin_letter(i)].permit = [code = row.codes[i], i](const sdk::Host& host,
                                                                    int64_t& timeout_ms) {
        timeout_ms = 1000 * static_cast<int64_t>(i);
        return injected(code)(host);
      };
    }
    auto cycle = framework.new_cycle();
    const PermitOutcome out = framework.run_permit(*cycle, pod_.get(), node_.get());
    EXPECT_EQ(text_of(world_, out.status), row.status);
    std::string waits;
    for (const PermitOutcome::Wait& wait : out.waits) {
      waits += std::string(wait.plugin) + std::to_string(wait.timeout_ms) + " ";
    }
    EXPECT_EQ(waits, row.waits);
  }
}

}  // namespace
}  // namespace plimsoll
