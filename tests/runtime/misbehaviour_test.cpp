// Plugins that misbehave once they run: it costs that pod an error that names the plugin.

#include <gmock/gmock.h>

#include <optional>

#include "framework/runtime/plugin/prepared_plugins.hpp"
#include "tests/runtime/support.hpp"

namespace plimsoll {
namespace {

using sdk::FakeNode;
using sdk::FakePod;
using testing::minimal_profile;
using testing::World;

const std::filesystem::path kBadModules = std::filesystem::absolute(PLIMSOLL_BROKEN_MODULES);

class MisbehaviourTest : public ::testing::Test {
 protected:
  // A profile with one plugin, made of a C table.
  Framework& with(ExtensionPoint point, plimsoll_plugin_create_fn create) {
    const StaticModule module[] = {{"Bad", "1", create}};
    world_.modules.add_builtin(module);
    ProfileSpec spec = minimal_profile();
    spec.at(point) = {{"Bad"}};
    return world_.make(spec);
  }
  Status filter(Framework& framework) {
    auto cycle = framework.new_cycle();
    return framework.run_filters_on(*cycle, pod_.get(), node_.get());
  }

  World world_;
  FakePod pod_{"team/a"};
  FakeNode node_{"n1"};
};

// Asks the API server when it is made, and never runs: only its profile was to be checked.
class AsksAtOnce {
 public:
  static constexpr const char* kName = "AsksAtOnce";
  explicit AsksAtOnce(const sdk::Host& host) {
    host.api_request({"GET", "/x", "", ""}, [this](int status, std::string_view) {
      told().push_back("answered " + std::to_string(status) + (alive_ ? "" : ", and is gone"));
    });
    host_ = host;
  }
  ~AsksAtOnce() {
    host_->api_request({"GET", "/y", "", ""}, [](int status, std::string_view) {
      told().push_back("answered " + std::to_string(status) + " as it goes");
    });
    alive_ = false;
    told().emplace_back("destroyed");
  }
  AsksAtOnce(const AsksAtOnce&) = delete;
  AsksAtOnce& operator=(const AsksAtOnce&) = delete;
  sdk::Status filter_node(const plimsoll_cycle&, sdk::Pod, sdk::Node) const { return {}; }
  static std::vector<std::string>& told() {
    static std::vector<std::string> lines;
    return lines;
  }

 private:
  bool alive_ = true;
  std::optional<sdk::Host> host_;
};

TEST_F(MisbehaviourTest, WhatAPluginAsksForWhenItIsMadeIsAnsweredBeforeItGoes) {
  const StaticModule module[] = {{"AsksAtOnce", "1", sdk::create_fn<AsksAtOnce>}};
  world_.modules.add_builtin(module);
  SymbolTable symbols;
  ASSERT_TRUE(PreparedPlugins(symbols).make(world_.modules, {}, "AsksAtOnce", "").has_value());
  EXPECT_EQ(AsksAtOnce::told(),
            (std::vector<std::string>{"answered 0", "answered 0 as it goes", "destroyed"}));
}

class WatchesPods {
 public:
  static constexpr const char* kName = "WatchesPods";
  explicit WatchesPods(const sdk::Host& host) { host.watch("", version(), plural()); }
  sdk::Status filter_node(const plimsoll_cycle&, sdk::Pod, sdk::Node) const { return {}; }
  static std::string& version() {
    static std::string text;
    return text;
  }
  static std::string& plural() {
    static std::string text;
    return text;
  }
};

TEST_F(MisbehaviourTest, WatchesThatNeverWillWorkAreRefusedWhenTheProfileIsChecked) {
  const StaticModule module[] = {{"WatchesPods", "1", sdk::create_fn<WatchesPods>}};
  world_.modules.add_builtin(module);
  const auto error = [&](const char* version, const char* plural) {
    WatchesPods::version() = version;
    WatchesPods::plural() = plural;
    SymbolTable symbols;
    const auto made = PreparedPlugins(symbols).make(world_.modules, {}, "WatchesPods", "");
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(error("v1", "services"), "");
  // Why is logged.
  EXPECT_EQ(error("v1", "pods"), "cannot watch pods.v1.");
  EXPECT_EQ(error("v2", "services"), "cannot watch services.v2.");
}

TEST_F(MisbehaviourTest, ExceptionInFilterOfALoadedModule) {
  ASSERT_TRUE(world_.modules.load_file(kBadModules / "filter_throws.so").loaded);
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kFilter) = {{"FilterThrows"}};
  const Status status = filter(world_.make(spec));
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.plugin, "FilterThrows");
  EXPECT_EQ(status.error, "running \"FilterThrows\" filter plugin: no seat map of n1");
}

TEST_F(MisbehaviourTest, ScoreOutOfRangeOfALoadedModule) {
  ASSERT_TRUE(world_.modules.load_file(kBadModules / "score_out_of_range.so").loaded);
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kScore) = {{"ScoreOutOfRange", 3}};
  Framework& framework = world_.make(spec);
  auto cycle = framework.new_cycle();
  const plimsoll_node_info* row = &node_.get();
  ScoreTable table;
  const Status status = framework.run_score(*cycle, pod_.get(), NodeRows(&row, 1), table);
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.plugin, "ScoreOutOfRange");
  EXPECT_EQ(status.error,
            "applying score defaultWeights on Score plugins: plugin \"ScoreOutOfRange\" returns an "
            "invalid score 101 for node n1, it should in the range of [0, 100] after normalizing");
}

template <uint8_t kRowCode, uint32_t kReason, int32_t kReturn>
int32_t create_filter(const plimsoll_host*, plimsoll_str, plimsoll_plugin* out) {
  *out = plimsoll_plugin{};
  out->size = sizeof *out;
  out->destroy = [](void*) {};
  out->filter = [](const void*, const plimsoll_cycle*, const plimsoll_pod*,
                   const plimsoll_nodes* nodes, uint8_t* codes, uint32_t* reasons) -> int32_t {
    for (uint32_t i = 0; i < nodes->count; ++i) {
      codes[i] = kRowCode;
      reasons[i] = kReason;
    }
    return kReturn;
  };
  return PLIMSOLL_SUCCESS;
}

TEST_F(MisbehaviourTest, CodeOutOfRange) {
  const Status status = filter(with(ExtensionPoint::kFilter, create_filter<200, 0, 0>));
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.error,
            "running \"Bad\" filter plugin: it returned code 200, which it must not return here");
}

TEST_F(MisbehaviourTest, CodeThatIsNotLegalInFilter) {
  const Status status = filter(with(ExtensionPoint::kFilter, create_filter<PLIMSOLL_SKIP, 0, 0>));
  EXPECT_EQ(status.error,
            "running \"Bad\" filter plugin: it returned Skip, which it must not return here");
}

TEST_F(MisbehaviourTest, RejectionOfTheWholeBatch) {
  const Status status =
      filter(with(ExtensionPoint::kFilter, create_filter<0, 0, PLIMSOLL_UNSCHEDULABLE>));
  EXPECT_EQ(
      status.error,
      "running \"Bad\" filter plugin: it returned Unschedulable, which it must not return here");
}

TEST_F(MisbehaviourTest, ErrorWithoutText) {
  const Status status = filter(with(ExtensionPoint::kFilter, create_filter<0, 0, PLIMSOLL_ERROR>));
  EXPECT_EQ(status.error, "running \"Bad\" filter plugin: it failed without saying why");
}

TEST_F(MisbehaviourTest, ReasonThatNobodyGaveOut) {
  const Status status =
      filter(with(ExtensionPoint::kFilter, create_filter<PLIMSOLL_UNSCHEDULABLE, 99999, 0>));
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.error,
            "running \"Bad\" filter plugin: it gave 99999 as its reason, which host->reason did "
            "not return");
}

TEST_F(MisbehaviourTest, RejectionWithoutAReasonGetsOne) {
  const Status status =
      filter(with(ExtensionPoint::kFilter, create_filter<PLIMSOLL_UNSCHEDULABLE, 0, 0>));
  EXPECT_EQ(status.code, Code::kUnschedulable);
  EXPECT_EQ(world_.message(status), "rejected by plugin Bad");
}

int32_t create_with_odd_events(const plimsoll_host*, plimsoll_str, plimsoll_plugin* out) {
  *out = plimsoll_plugin{};
  out->size = sizeof *out;
  out->destroy = [](void*) {};
  out->events = [](void*) { return plimsoll_list{nullptr, 5, 0}; };  // no stride, no data
  out->pre_enqueue = [](void*, const plimsoll_pod*, uint32_t*) -> int32_t { return 77; };
  return PLIMSOLL_SUCCESS;
}

TEST_F(MisbehaviourTest, OddListOfEventsIsEmpty) {
  Framework& framework = with(ExtensionPoint::kPreEnqueue, create_with_odd_events);
  ASSERT_EQ(framework.events().size(), 1U);
  EXPECT_FALSE(framework.events()[0].all);
  EXPECT_TRUE(framework.events()[0].interests.empty());
  EXPECT_EQ(framework.run_pre_enqueue(pod_.get()).error,
            "running PreEnqueue plugin \"Bad\": it returned code 77, which it must not return "
            "here");
}

// Every other slot that may reject, answering with a code and a reason id.
template <int32_t kReturn, uint32_t kReason>
int32_t create_rejecting(const plimsoll_host*, plimsoll_str, plimsoll_plugin* out) {
  *out = plimsoll_plugin{};
  out->size = sizeof *out;
  out->destroy = [](void*) {};
  out->pre_enqueue = [](void*, const plimsoll_pod*, uint32_t* reason) {
    *reason = kReason;
    return kReturn;
  };
  out->pre_filter = [](void*, plimsoll_cycle*, const plimsoll_pod*, uint32_t* reason,
                       plimsoll_list*, uint32_t*) {
    *reason = kReason;
    return kReturn;
  };
  out->post_filter = [](void*, plimsoll_cycle*, const plimsoll_pod*, const plimsoll_nodes*,
                        const uint8_t*, plimsoll_str*, uint32_t* reason) {
    *reason = kReason;
    return kReturn;
  };
  out->reserve = [](void*, plimsoll_cycle*, const plimsoll_pod*, const plimsoll_node_info*,
                    uint32_t* reason) {
    *reason = kReason;
    return kReturn;
  };
  out->permit = [](void*, plimsoll_cycle*, const plimsoll_pod*, const plimsoll_node_info*, int64_t*,
                   uint32_t* reason) {
    *reason = kReason;
    return kReturn;
  };
  return PLIMSOLL_SUCCESS;
}

TEST_F(MisbehaviourTest, ReasonsAndCodesOfEveryPointThatMayReject) {
  struct Row {
    plimsoll_plugin_create_fn create;
    Code code;
    std::string said;  // after "running <point> plugin \"Bad\": " for errors
  };
  const Row rows[] = {
      {create_rejecting<PLIMSOLL_UNSCHEDULABLE, 99999>, Code::kError,
       "it gave 99999 as its reason, which host->reason did not return"},
      {create_rejecting<PLIMSOLL_PENDING, 0>, Code::kPending, "rejected by plugin Bad"},
      {create_rejecting<77, 0>, Code::kError, "it returned code 77, which it must not return here"},
      {create_rejecting<-1, 0>, Code::kError, "it returned code -1, which it must not return here"},
      {create_rejecting<PLIMSOLL_ERROR, 0>, Code::kError, "it failed without saying why"},
  };
  for (const Row& row : rows) {
    World world;
    const StaticModule module[] = {{"Bad", "1", row.create}};
    world.modules.add_builtin(module);
    ProfileSpec spec = minimal_profile();
    for (ExtensionPoint point :
         {ExtensionPoint::kPreEnqueue, ExtensionPoint::kPreFilter, ExtensionPoint::kPostFilter,
          ExtensionPoint::kReserve, ExtensionPoint::kPermit}) {
      spec.at(point) = {{"Bad"}};
    }
    Framework& framework = world.make(spec);
    auto cycle = framework.new_cycle();
    const plimsoll_pod& pod = pod_.get();
    const std::pair<std::string, Status> outcomes[] = {
        {"PreEnqueue", framework.run_pre_enqueue(pod)},
        {"PreFilter", framework.run_pre_filter(*cycle, pod).status},
        {"Reserve", framework.run_reserve(*cycle, pod, node_.get())},
        {"Permit", framework.run_permit(*cycle, pod, node_.get()).status},
        {"PostFilter", framework.run_post_filters(*cycle, pod, {}, {}).status},
    };
    for (const auto& [point, status] : outcomes) {
      SCOPED_TRACE(point + ": " + row.said);
      // What all PostFilter plugins say together is Unschedulable, whatever each of them said.
      const bool joined = point == "PostFilter" && row.code != Code::kError;
      EXPECT_EQ(status.code, joined ? Code::kUnschedulable : row.code);
      EXPECT_EQ(status.plugin, "Bad");
      EXPECT_EQ(world.message(status), row.code == Code::kError
                                           ? "running " + point + " plugin \"Bad\": " + row.said
                                           : row.said);
    }
  }
}

// The binding steps: exceptions, illegal codes, and a token that is completed after its step ended.
TEST_F(MisbehaviourTest, BindingSteps) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kPreBind) = {{"A"}};
  spec.at(ExtensionPoint::kBind) = {{"A"}};
  spec.at(ExtensionPoint::kPostBind) = {{"A"}};
  Framework& framework = world_.make(spec);
  auto& script = testing::scripts()["A"];
  const auto at_once = [](const std::function<void()>& run) { run(); };
  const auto target = [&] {
    return BindTarget{framework.new_cycle(), PodRef(std::shared_ptr<void>(), &pod_.get()), "n1"};
  };
  std::vector<std::string> endings;
  const auto note = [&](const Status& status) { endings.push_back(world_.message(status)); };

  script.pre_flight = [](auto&&...) -> sdk::Status { throw std::runtime_error("broken"); };
  EXPECT_EQ(framework.run_pre_bind_pre_flight(*target().cycle, pod_.get(), "n1").error,
            "running PreBindPreFlight \"A\": broken");
  script.pre_bind = [](auto&&...) -> sdk::Status { throw std::runtime_error("broken"); };
  script.bind = [](auto&&...) -> sdk::Status { throw std::runtime_error("broken"); };
  framework.run_pre_binds(target(), at_once, note);
  framework.run_binds(target(), at_once, note);
  script.bind = [](auto&&...) -> sdk::Status { return {55, 0}; };
  framework.run_binds(target(), at_once, note);
  sdk::Token kept;
  script.bind = [&kept](const sdk::Host&, plimsoll_cycle&, sdk::Pod, std::string_view,
                        sdk::Token token) {
    kept = token;
    return sdk::Status();
  };
  framework.run_binds(target(), at_once, note);
  EXPECT_FALSE(world_.env.tokens.complete(kept.raw, PLIMSOLL_ERROR, "late"));
  const std::vector<std::string> want = {
      "running PreBind plugin \"A\": broken", "running Bind plugin \"A\": broken",
      "running Bind plugin \"A\": it returned code 55, which it must not return here", ""};
  EXPECT_EQ(endings, want);
}

TEST_F(MisbehaviourTest, AnExceptionElsewhereNamesPluginAndPoint) {
  ProfileSpec spec = minimal_profile();
  for (ExtensionPoint point :
       {ExtensionPoint::kPreEnqueue, ExtensionPoint::kPreFilter, ExtensionPoint::kPreScore,
        ExtensionPoint::kScore, ExtensionPoint::kReserve, ExtensionPoint::kPermit}) {
    spec.at(point) = {{"A"}};
  }
  Framework& framework = world_.make(spec);
  auto& script = testing::scripts()["A"];
  const auto thrower = [](auto&&...) -> sdk::Status { throw std::runtime_error("broken"); };
  script.pre_enqueue = thrower;
  script.pre_filter = thrower;
  script.pre_score = thrower;
  script.score_node = [](auto&&...) -> int64_t { throw std::runtime_error("broken"); };
  script.reserve = thrower;
  script.permit = thrower;
  auto cycle = framework.new_cycle();
  const plimsoll_pod& pod = pod_.get();
  const plimsoll_node_info* row = &node_.get();
  ScoreTable table;
  EXPECT_EQ(framework.run_pre_enqueue(pod).error, "running PreEnqueue plugin \"A\": broken");
  EXPECT_EQ(framework.run_pre_filter(*cycle, pod).status.error,
            "running PreFilter plugin \"A\": broken");
  EXPECT_EQ(framework.run_pre_score(*cycle, pod, NodeRows(&row, 1)).error,
            "running PreScore plugin \"A\": broken");
  EXPECT_EQ(framework.run_score(*cycle, pod, NodeRows(&row, 1), table).error,
            "running Score plugins: plugin \"A\" failed with: broken");
  EXPECT_EQ(framework.run_reserve(*cycle, pod, *row).error, "running Reserve plugin \"A\": broken");
  EXPECT_EQ(framework.run_permit(*cycle, pod, *row).status.error,
            "running Permit plugin \"A\": broken");
}

}  // namespace
}  // namespace plimsoll
