// The workloads of bench/workloads, a few nodes and pods each: the file is read, every pod that
// must be bound is bound, legally, with each decision made twice; and what stands for the API
// server notices what a scheduler must never do.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/support/memory_api.hpp"
#include "bench/workloads/clock.hpp"
#include "bench/workloads/driver.hpp"
#include "bench/workloads/objects.hpp"
#include "bench/workloads/report.hpp"

namespace plimsoll::bench {
namespace {

std::string text_of_file() {
  std::ifstream in(std::string(PLIMSOLL_SOURCE_DIR) + "/bench/workloads/workloads.yaml");
  return {std::istreambuf_iterator<char>(in), {}};
}

WorkloadFile workloads() {
  auto file = parse_workloads(text_of_file(), "workloads.yaml");
  EXPECT_TRUE(file.has_value()) << file.error().message;
  return file.value_or(WorkloadFile{});
}

TEST(Workloads, EachIsCarriedOutToTheEnd) {
  const WorkloadFile file = workloads();
  ASSERT_GE(file.workloads.size(), 10U);
  const Modules modules = workload_modules();
  RunOptions options;
  options.small = true;
  options.check_every = 1;
  std::vector<Reported> runs;
  for (const Workload& workload : file.workloads) {
    SCOPED_TRACE(workload.name);
    const bool evicts = workload.name.starts_with("PreemptionBasic");
    // The end is looked for all the time: an eviction under way is none.
    options.stall = evicts ? std::chrono::milliseconds(0) : RunOptions().stall;
    const auto outcome = run_workload(file, workload, modules, options);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(outcome->failures, std::vector<std::string>());
    EXPECT_EQ(static_cast<int64_t>(outcome->pods), workload.small.at("measured"));
    EXPECT_GE(outcome->attempts, outcome->pods);
    EXPECT_GT(outcome->decision_p50_us, 0);
    EXPECT_GE(outcome->decision_max_us, outcome->decision_p99_us);
    if (evicts) {
      const size_t of_four = workload.name.ends_with("refuse the preemptor") ? 4 : 3;
      EXPECT_EQ(outcome->deleted_pods, of_four * outcome->pods) << "so many make way on each node";
    }
    if (workload.name == "SchedulingWithMixedChurn") {
      EXPECT_GE(outcome->churned, 4U) << "twice a node and a pod came and went";
    }
    runs.push_back({workload, *outcome});
    EXPECT_TRUE(table_row(runs.back()).starts_with("| " + workload.name + " | "));
  }
  const auto json = nlohmann::json::parse(as_json(runs));
  EXPECT_EQ(json.at("workloads").size(), runs.size());
}

// As after a --scale that leaves fewer nodes than pods that keep apart.
TEST(Workloads, EndWhenNoMoreCanBeBound) {
  WorkloadFile file = workloads();
  const auto keep_apart =
      std::find_if(file.workloads.begin(), file.workloads.end(),
                   [](const Workload& each) { return each.name == "SchedulingPodAntiAffinity"; });
  ASSERT_NE(keep_apart, file.workloads.end());
  keep_apart->small["nodes"] = keep_apart->small["initial"] + keep_apart->small["measured"] - 2;
  RunOptions options;
  options.small = true;
  const auto outcome = run_workload(file, *keep_apart, workload_modules(), options);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  ASSERT_EQ(outcome->failures.size(), 1U);
  EXPECT_TRUE(outcome->failures[0].starts_with("2 of ")) << outcome->failures[0];
  EXPECT_NE(outcome->failures[0].find("anti-affinity"), std::string::npos) << outcome->failures[0];
}

TEST(Workloads, SayWhatIsWrongWithAFileAndWhere) {
  const auto wrong_of = [](const std::string& text) {
    const auto file = parse_workloads(text, "w.yaml");
    return file ? std::string() : file.error().message;
  };
  const std::string head =
      "templates: {pod: {kind: Pod}, node: {kind: Node}}\nworkloads:\n- name: a\n  ops:\n";
  EXPECT_EQ(wrong_of(head + "  - createPods: {count: 1, template: pod, measure: true}\n"), "");
  EXPECT_NE(wrong_of(head + "  - createPods: {count: 1, template: pod}\n")
                .find("workloads[0].ops: no createPods with measure: true"),
            std::string::npos);
  EXPECT_NE(wrong_of(head + "  - createPods: {count: $many, template: node, measure: true}\n")
                .find("w.yaml:5:25: workloads[0].ops[0].createPods.count: neither a number nor one "
                      "of params: $many"),
            std::string::npos)
      << wrong_of(head + "  - createPods: {count: $many, template: node, measure: true}\n");
  EXPECT_NE(wrong_of(head + "  - createPods: {count: 1, template: node, measure: true}\n")
                .find("template \"node\" is of kind Node"),
            std::string::npos);
  EXPECT_NE(
      wrong_of(head + "  - createPods: {count: 1, template: pod, with: [node], measure: true}\n")
          .find("template \"node\" is of kind Node"),
      std::string::npos)
      << "what goes with a pod is neither a node nor a pod";
  EXPECT_NE(wrong_of(head + "  - dance: {}\n").find("there is no such op"), std::string::npos);
  EXPECT_NE(wrong_of(head + "  - churn: {templates: [node], everyMilliseconds: 5}\n"
                            "  - createPods: {count: 1, template: pod, measure: true}\n")
                .find("needs podsPerSecond"),
            std::string::npos);
  EXPECT_NE(wrong_of(head + "  - deletePods: {of: x, perSecond: 1}\n").find("as: x"),
            std::string::npos);
}

TEST(Workloads, ClockPassesAsPodsAreBound) {
  PodClock clock(100);
  const int64_t began = clock.now_ms();
  std::vector<int64_t> rang;
  clock.every(25'000, [&] { rang.push_back(clock.now_ms() - began); });
  for (int i = 0; i < 6; ++i) clock.pod_bound();
  EXPECT_EQ(clock.now_ms() - began, 60);
  EXPECT_EQ(rang.size(), 2U);
  clock.stop_all();
  clock.pass(1'000'000);
  EXPECT_EQ(rang.size(), 2U);
}

TEST(Workloads, ObjectsOfTemplatesFitTogetherByNumber) {
  const auto file = parse_workloads(
      "templates:\n"
      "  claim: {kind: PersistentVolumeClaim, spec: {volumeName: volume-$number}}\n"
      "  volume-of-pod: {kind: PersistentVolume, name: volume-$number}\n"
      "  marked: {kind: CSINode, annotations: {mark: 'yes'}}\n",
      "w.yaml");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  SymbolTable symbols;
  ObjectMaker maker(*file, symbols);
  (void)maker.object("claim", "team");
  const RawRef claim = maker.object("claim", "team");
  EXPECT_EQ(claim->resource, "persistentvolumeclaims");
  EXPECT_EQ(claim->ns + "/" + claim->name, "team/claim-1");
  const auto json = nlohmann::json::parse(claim->json);
  EXPECT_EQ(json.at("metadata").at("namespace"), "team");
  EXPECT_EQ(json.at("spec").at("volumeName"), "volume-1");
  (void)maker.object("volume-of-pod", "team");
  const RawRef volume = maker.object("volume-of-pod", "team");
  EXPECT_EQ(volume->ns + "/" + volume->name, "/volume-1") << "volumes have no namespace";
  const RawRef node = maker.object("marked");
  EXPECT_EQ(node->resource, "csinodes.v1.storage.k8s.io");
  EXPECT_EQ(nlohmann::json::parse(node->json).at("metadata").at("annotations").at("mark"), "yes");
}

// Hears of everything, does nothing.
class Silent final : public Inbox {
 public:
  void post(Message) override {}
};

TEST(Workloads, ApiNoticesWhatMustNeverHappen) {
  const auto file = parse_workloads(
      "templates:\n"
      "  plain: {kind: Node, status: {allocatable: {cpu: '1', pods: '2'}}}\n"
      "  tainted: {kind: Node, spec: {taints: [{key: a, effect: NoSchedule}]},"
      " status: {allocatable: {cpu: '1', pods: '2'}}}\n"
      "  pod: {kind: Pod, spec: {containers: [{name: c, resources: {requests: {cpu: 600m}}}]}}\n"
      "  zoned: {kind: Pod, spec: {nodeSelector: {zone: a}, containers: [{name: c}]}}\n",
      "w.yaml");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  SymbolTable symbols;
  ObjectMaker maker(*file, symbols);
  Silent inbox;
  MemoryApi api(symbols);
  api.start(inbox);
  const auto create = [&](const std::string& from) {
    auto pod = maker.pod(from, 0);
    EXPECT_TRUE(pod.has_value());
    const std::string name(view(pod->pod->meta.name));
    api.submit([&api, made = std::move(*pod)] { api.create_pod(made); });
    return name;
  };
  for (const char* node : {"plain", "tainted"}) {
    auto made = maker.node(node);
    ASSERT_TRUE(made.has_value());
    api.submit([&api, ref = *made] { api.create_node(ref); });
  }
  const auto bind = [&](const std::string& name, const std::string& node) {
    std::promise<bool> bound;
    // The UID is the name's alone.
    ObjectMaker again(*file, symbols);
    const std::string from = name.substr(0, name.find('-'));
    auto pod = again.pod(from, 0);
    while (view(pod->pod->meta.name) != name) pod = again.pod(from, 0);
    api.bind({"default", name, std::string(view(pod->pod->meta.uid)), node, {}},
             [&](const Result<void>& result) { bound.set_value(result.has_value()); });
    return bound.get_future().get();
  };
  const std::string first = create("pod");
  const std::string second = create("pod");
  EXPECT_TRUE(bind(first, "plain-0"));
  EXPECT_EQ(api.wrongs(), std::vector<std::string>());
  const auto wrongs_after = [&](bool succeeds, const std::string& name, const std::string& node) {
    const size_t before = api.wrongs().size();
    EXPECT_EQ(bind(name, node), succeeds);
    const auto all = api.wrongs();
    return std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  };
  using Wrongs = std::vector<std::string>;
  EXPECT_EQ(wrongs_after(false, first, "tainted-0"),
            Wrongs{"pod default/pod-0 was bound to plain-0 and then to tainted-0"});
  EXPECT_EQ(wrongs_after(true, second, "plain-0"),
            Wrongs{"default/pod-1 on node plain-0: too much cpu"});
  EXPECT_EQ(wrongs_after(true, create("pod"), "tainted-0"),
            Wrongs{"default/pod-2 on node tainted-0: it does not tolerate a taint"});
  EXPECT_EQ(wrongs_after(true, create("zoned"), "plain-0"),
            (Wrongs{"default/zoned-0 on node plain-0: too many pods",
                    "default/zoned-0 on node plain-0: it asked for another node"}));
  EXPECT_EQ(wrongs_after(false, create("zoned"), "plain-9"),
            Wrongs{"pod default/zoned-1 was bound to plain-9, which does not exist"});
  EXPECT_EQ(api.counts().bound, 4U);
  EXPECT_EQ(api.counts().bound_by_group, std::vector<size_t>{4});
}

}  // namespace
}  // namespace plimsoll::bench
