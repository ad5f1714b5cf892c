// TestPreBindPlugins, TestGetPreBindPluginGroups, TestPreBindPreFlightPlugins, TestRunBindPlugins.

#include <gmock/gmock.h>

#include <deque>

#include "tests/runtime/tables.hpp"

namespace plimsoll {
namespace {

using namespace plimsoll::testing;  // NOLINT: the codes of the tables
using sdk::FakePod;

// Binder threads are the test's: it runs what was posted, one after the other, so that what is
// posted together is a group.
class Posted {
 public:
  Framework::Post post() {
    return [this](std::function<void()> run) { jobs_.push_back(std::move(run)); };
  }
  [[nodiscard]] size_t size() const { return jobs_.size(); }
  void run_one() {
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    job();
  }

 private:
  std::deque<std::function<void()>> jobs_;
};

class BindTable : public ::testing::Test {
 protected:
  BindTarget target(Framework& framework) {
    auto pod = std::shared_ptr<const plimsoll_pod>(&pod_.get(), [](const plimsoll_pod*) {});
    return {framework.new_cycle(), pod, "n1"};
  }
  World world_;
  FakePod pod_{"team/a"};
};

TEST_F(BindTable, PreFlight) {
  struct Row {
    const char* name;
    Codes codes;
    const char* status;
    const char* skipped;
  };
  const Row rows[] = {
      {"no plugin", {}, "Skip", ""},
      {"one has work to do", {kSkip, kSuccess}, "Success", "A"},
      {"nobody has", {kSkip, kSkip}, "Skip", "AB"},
      {"an error", {kSkip, kError}, "Error: running PreBindPreFlight \"B\": injected", "A"},
      {"a rejection is not legal here",
       {kUnschedulable},
       "Error: PreBindPreFlight A returned \"Unschedulable\", which is unsupported. It is supposed "
       "to return Success, Skip, or Error status",
       ""},
      {"nor is Wait",
       {kSuccess, kWait},
       "Error: PreBindPreFlight B returned \"Wait\", which is unsupported. It is supposed to "
       "return Success, Skip, or Error status",
       ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    scripts().clear();
    Framework& framework = world_.make(profile_at(ExtensionPoint::kPreBind, row.codes.size()));
    for (size_t i = 0; i < row.codes.size(); ++i) {
      scripts()[plugin_letter(i)].pre_flight = injected(row.codes[i]);
    }
    auto cycle = framework.new_cycle();
    EXPECT_EQ(text_of(world_, framework.run_pre_bind_pre_flight(*cycle, pod_.get(), "n1")),
              row.status);
    EXPECT_EQ(letters(framework, cycle->skip_pre_bind), row.skipped);
  }
}

TEST_F(BindTable, PreBind) {
  struct Row {
    const char* name;
    Codes codes;
    const char* status;
    const char* ran;
  };
  const Row rows[] = {
      {"no plugin", {}, "Success", ""},
      {"Success", {kSuccess}, "Success", "A"},
      {"Unschedulable", {kUnschedulable}, "Unschedulable by A: injected", "A"},
      {"Error", {kError}, "Error: running PreBind plugin \"A\": injected", "A"},
      {"UnschedulableAndUnresolvable",
       {kUnresolvable},
       "UnschedulableAndUnresolvable by A: injected",
       "A"},
      {"Success, then Error",
       {kSuccess, kError},
       "Error: running PreBind plugin \"B\": injected",
       "AB"},
      {"Error, then Success",
       {kError, kSuccess},
       "Error: running PreBind plugin \"A\": injected",
       "A"},
      {"Success twice", {kSuccess, kSuccess}, "Success", "AB"},
      {"Error twice", {kError, kError}, "Error: running PreBind plugin \"A\": injected", "A"},
      {"Unschedulable, then Success",
       {kUnschedulable, kSuccess},
       "Unschedulable by A: injected",
       "A"},
      {"Skip is not legal here",
       {kSkip},
       "Error: running PreBind plugin \"A\": it returned Skip, which it must not return here",
       "A"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    scripts().clear();
    Framework& framework = world_.make(profile_at(ExtensionPoint::kPreBind, row.codes.size()));
    std::string ran;
    for (size_t i = 0; i < row.codes.size(); ++i) {
      scripts()[plugin_letter(i)].pre_bind =
          [&ran, i, code = row.codes[i]](const sdk::Host& host, plimsoll_cycle&, sdk::Token) {
            ran += plugin_letter(i);
            const bool rejects = code == kUnschedulable || code == kUnresolvable;
            return rejects ? host.failed(code, "injected") : injected(code)(host);
          };
    }
    Posted posted;
    std::vector<std::string> endings;
    framework.run_pre_binds(target(framework), posted.post(), [&](const Status& status) {
      endings.push_back(text_of(world_, status));
    });
    while (posted.size() != 0) posted.run_one();
    EXPECT_THAT(endings, ::testing::ElementsAre(row.status));
    EXPECT_EQ(ran, row.ran);
  }
}

TEST_F(BindTable, PreBindGroups) {
  struct Row {
    const char* name;
    size_t plugins;
    const char* parallel;
    const char* skipped;
    const char* groups;
  };
  const Row rows[] = {
      {"no plugins", 0, "", "", ""},
      {"one, serial", 1, "", "", "A "},
      {"one, skipped", 1, "", "A", ""},
      {"one, parallel", 1, "A", "", "A "},
      {"one, parallel and skipped", 1, "A", "A", ""},
      {"serial neighbours", 2, "", "", "A B "},
      {"parallel neighbours", 2, "AB", "", "AB "},
      {"mixed", 4, "BC", "", "A BC D "},
      {"parallel ones parted by a serial one", 3, "AC", "", "A B C "},
      {"a serial one is skipped", 3, "", "B", "A C "},
      {"parallel ones with a parallel, skipped one between", 3, "ABC", "B", "AC "},
      {"parallel ones with a serial, skipped one between", 3, "AC", "B", "A C "},
      {"all kinds", 8, "BDEF", "CE", "A B DF G H "},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    scripts().clear();
    Framework& framework = world_.make(profile_at(ExtensionPoint::kPreBind, row.plugins));
    std::string ran;
    for (size_t i = 0; i < row.plugins; ++i) {
      scripts()[plugin_letter(i)].pre_bind = [&ran, i](auto&&...) {
        ran += plugin_letter(i);
        return sdk::Status();
      };
    }
    BindTarget on = target(framework);
    on.cycle->parallel_pre_bind = mask_of(framework, row.parallel);
    on.cycle->skip_pre_bind = mask_of(framework, row.skipped);
    Posted posted;
    int ended = 0;
    framework.run_pre_binds(on, posted.post(), [&](const Status& status) {
      EXPECT_TRUE(status.ok());
      ++ended;
    });
    while (posted.size() != 0) {
      for (size_t group = posted.size(); group > 0; --group) posted.run_one();
      ran += ' ';
    }
    EXPECT_EQ(ran, row.groups);
    EXPECT_EQ(ended, 1);
  }
}

// The first failure of a group is told once all of it has ended, and nothing more is begun.
TEST_F(BindTable, AFailureInAGroupWaitsForTheOthersAndBeginsNothing) {
  Framework& framework = world_.make(profile_at(ExtensionPoint::kPreBind, 4));
  std::string ran;
  std::vector<std::pair<sdk::Host, sdk::Token>> waiting;
  scripts()["A"].pre_bind = [&](const sdk::Host& host, plimsoll_cycle&, sdk::Token token) {
    ran += "A";
    waiting.emplace_back(host, token);
    return sdk::Status::wait();
  };
  scripts()["B"].pre_bind = [&](const sdk::Host& host, plimsoll_cycle&, sdk::Token) {
    ran += "B";
    return host.error("disk is full");
  };
  for (const char* later : {"C", "D"}) {
    scripts()[later].pre_bind = [&](auto&&...) {
      ran += "?";
      return sdk::Status();
    };
  }
  BindTarget on = target(framework);
  on.cycle->parallel_pre_bind = mask_of(framework, "ABC");
  Posted posted;
  std::vector<std::string> endings;
  framework.run_pre_binds(
      on, posted.post(), [&](const Status& status) { endings.push_back(text_of(world_, status)); });
  while (posted.size() != 0) posted.run_one();
  EXPECT_EQ(ran, "AB") << "C had not begun when B failed";
  EXPECT_TRUE(endings.empty()) << "A is still at work";
  waiting[0].first.complete(waiting[0].second, PLIMSOLL_ERROR, "too late to matter");
  EXPECT_THAT(endings, ::testing::ElementsAre("Error: running PreBind plugin \"B\": disk is full"));
  EXPECT_EQ(posted.size(), 0U);
}

TEST_F(BindTable, Bind) {
  struct Row {
    const char* name;
    Codes codes;
    const char* status;
    const char* ran;
  };
  const Row rows[] = {
      {"success", {kSuccess}, "Success", "A"},
      {"error on the second",
       {kSkip, kError, kSuccess},
       "Error: running Bind plugin \"B\": injected",
       "AB"},
      {"all skip", {kSkip, kSkip, kSkip}, "Skip", "ABC"},
      {"error on the third, not reached", {kSkip, kSuccess, kError}, "Success", "AB"},
      {"no bind plugin but the default one", {}, "Success", ""},
      {"a rejection", {kUnschedulable}, "Unschedulable by A: injected", "A"},
      {"an error", {kError}, "Error: running Bind plugin \"A\": injected", "A"},
      {"success on the second", {kSkip, kSuccess}, "Success", "AB"},
      {"a rejection on the second",
       {kSkip, kUnresolvable},
       "UnschedulableAndUnresolvable by B: injected",
       "AB"},
      {"success before an error", {kSuccess, kError}, "Success", "A"},
      {"an error before success",
       {kError, kSuccess},
       "Error: running Bind plugin \"A\": injected",
       "A"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    scripts().clear();
    Framework& framework = world_.make(profile_at(ExtensionPoint::kBind, row.codes.size()));
    std::string ran;
    for (size_t i = 0; i < row.codes.size(); ++i) {
      scripts()[plugin_letter(i)].bind = [&ran, i, code = row.codes[i]](
                                             const sdk::Host& host, plimsoll_cycle&, sdk::Pod,
                                             std::string_view, sdk::Token) {
        ran += plugin_letter(i);
        const bool rejects = code == kUnschedulable || code == kUnresolvable;
        return rejects ? host.failed(code, "injected") : injected(code)(host);
      };
    }
    Posted posted;
    std::vector<std::string> endings;
    framework.run_binds(target(framework), posted.post(),
                        [&](const Status& status) { endings.push_back(text_of(world_, status)); });
    while (posted.size() != 0) posted.run_one();
    EXPECT_THAT(endings, ::testing::ElementsAre(row.status));
    EXPECT_EQ(ran, row.ran);
  }
}

TEST_F(BindTable, PostBindTellsAllInOrder) {
  Framework& framework = world_.make(profile_at(ExtensionPoint::kPostBind, 3));
  calls().clear();
  framework.run_post_bind(target(framework));
  EXPECT_THAT(calls(),
              ::testing::ElementsAre("A.post_bind n1", "B.post_bind n1", "C.post_bind n1"));
}

}  // namespace
}  // namespace plimsoll
