// What containers are given, with the runtime's side of NRI that containerd and CRI-O have.

#include <gmock/gmock.h>

#include <iostream>
#include <map>
#include <thread>

#include "node/devices/device_report.hpp"
#include "node/hook/device_hook.hpp"
#include "tests/node/fake_machine.hpp"
#include "tests/node/real_runtime.hpp"

namespace plimsoll::node {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";
constexpr const char* kRequired = "required-plugins.noderesource.dev";
constexpr int kCards = 8;
constexpr int kNics = 4;

// A pod, and what each of its containers is to get.
struct Case {
  std::string uid;
  std::string annotation;
  json devices = json::array();
  json variables = json::array();
  json rules = json::array();

  void add(const std::string& path, const std::string& numbers) {
    const std::string device = path + " c " + numbers;
    for (const json& each : devices) {
      if (each == device) return;
    }
    devices.push_back(device);
    rules.push_back("allow c " + numbers + " rw");
  }
};

class RealRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime_.start();
    if (IsSkipped() || HasFatalFailure()) return;
    machine_.make_dgx();
    machine_.make_dgx_nodes();
    files_ = {machine_.sys(), machine_.proc()};
    DeviceFinder finder(machine_.options(), [] {});
    found_ = report_devices(finder.find(nullptr), json::object(), {}, "").devices;
    start_hook();
  }

  void start_hook(std::chrono::milliseconds patience = {}) {
    hook_ = std::make_unique<DeviceHook>(HookOptions{runtime_.socket(), files_, by_name_since_,
                                                     patience, std::chrono::milliseconds(1)},
                                         &registry_);
    know();
    runtime_.wait_for(1);
  }
  void kill_hook() {
    hook_.reset();
    runtime_.wait_for(0);
  }

  // The API server shows these pods' annotations.
  void know() {
    hook_->judge_by(
        [found = found_, files = files_, cdi = cdi_](const AllocatedPod& pod, bool by_name) {
          return devices_of_pod(pod, found, files, by_name ? cdi : std::set<std::string>());
        });
    for (const auto& [uid, annotation] : bound_) {
      const AllocatedPod pod{annotation, "", ""};
      hook_->know(uid, &pod);
    }
  }

  // A pod with some cards, of which it has the whole or a part, and some NICs or functions of them.
  static Case make_case(int number, const std::vector<int>& cards, int share,
                        const std::vector<int>& nics, bool functions) {
    Case made;
    made.uid = "u" + std::to_string(number);
    json allocated = json::object();
    std::string uuids;
    for (const int card : cards) {
      const std::string minor = std::to_string(card);
      allocated["gpu"].push_back({{"minor", card},
                                  {"id", "GPU-" + minor},
                                  {"resources",
                                   {{"koordinator.sh/gpu-core", std::to_string(share)},
                                    {"koordinator.sh/gpu-memory", "4Gi"},
                                    {"koordinator.sh/gpu-memory-ratio", std::to_string(share)}}}});
      made.add("/dev/nvidia" + minor, "195:" + minor);
      made.add("/dev/nvidiactl", "195:255");
      made.add("/dev/nvidia-uvm", "511:0");
      made.add("/dev/nvidia-uvm-tools", "511:1");
      uuids += (uuids.empty() ? "" : ",") + std::string("GPU-") + minor;
    }
    if (!uuids.empty()) made.variables.push_back("NVIDIA_VISIBLE_DEVICES=" + uuids);
    for (const int nic : nics) {
      const std::string address = "0000:" + std::to_string(nic + 1) + "5:00.";
      json entry = {{"minor", nic}, {"id", address + "0"}};
      if (functions) entry["extension"]["vfs"] = {{{"minor", 0}, {"busID", address + "1"}}};
      allocated["rdma"].push_back(std::move(entry));
      const int verbs = nic + (functions ? kNics : 0);
      made.add("/dev/infiniband/uverbs" + std::to_string(verbs),
               "231:" + std::to_string(192 + verbs));
      made.add("/dev/infiniband/rdma_cm", "10:58");
    }
    made.annotation = allocated.dump();
    return made;
  }

  static json container(const Case& pod, const std::string& name = "main") {
    return {{"uid", pod.uid},
            {"name", name},
            {"annotations", {{kAllocated, pod.annotation}, {kRequired, "[plimsoll]"}}},
            {"padding", 4096}};
  }

  json create(const Case& pod, const std::string& name = "main") {
    return runtime_.create(json::array({container(pod, name)}))[0];
  }
  static void expect_given(const json& answer, const Case& pod) {
    EXPECT_EQ(answer["error"], "") << pod.annotation;
    for (const auto& [what, wanted] :
         {std::pair("devices", &pod.devices), std::pair("rules", &pod.rules),
          std::pair("variables", &pod.variables)}) {
      const json& given = answer[what];
      EXPECT_EQ(given.is_null() ? json::array() : given, *wanted) << what << pod.annotation;
    }
  }
  static void expect_refused(const json& answer, const std::string& why) {
    EXPECT_THAT(answer["error"].get<std::string>(), HasSubstr(why));
    EXPECT_TRUE(answer["devices"].is_null()) << answer;
  }
  double count(const std::string& outcome) {
    return registry_.counters({"plimsoll_node_hook_containers_total", "", {"outcome"}})
        .with({outcome})
        .value();
  }
  double missed() {
    return registry_.gauges({"plimsoll_node_hook_missed_containers", "", {}}).with({}).value();
  }

  test::FakeMachine machine_;
  HostFiles files_;
  json found_;
  std::set<std::string> cdi_;
  std::map<std::string, std::pair<int, int>> by_name_since_ = {{"records", {2, 3}}};
  test::RealRuntime runtime_;
  metrics::Registry registry_;
  std::map<std::string, std::string> bound_;  // annotations by UID, as the scheduler wrote them
  std::unique_ptr<DeviceHook> hook_;
};

// Whole cards, shares, several, with NICs and their functions, and pods without devices; twenty
// containers at once.
TEST_F(RealRuntimeTest, EachContainerHasWhatItsPodWasGiven) {
  std::vector<Case> pods;
  for (int i = 0; i < 500; ++i) {
    const int card = i % kCards;
    const int nic = i % kNics;
    switch (i / kCards % 6) {
      case 0:
        pods.push_back(make_case(i, {card}, 100, {}, false));
        break;
      case 1:
        pods.push_back(make_case(i, {card}, 25, {}, false));
        break;
      case 2:
        pods.push_back(make_case(i, {card, (card + 3) % kCards}, 50, {nic}, false));
        break;
      case 3:
        pods.push_back(make_case(i, {0, 1, 2, 3, 4, 5, 6, 7}, 100, {0, 1, 2, 3}, i % 2 == 0));
        break;
      case 4:
        pods.push_back(make_case(i, {}, 0, {nic}, i % 2 == 0));
        break;
      default:
        pods.push_back(make_case(i, {}, 0, {}, false));
    }
    bound_[pods.back().uid] = pods.back().annotation;
  }
  know();
  constexpr std::size_t kAtOnce = 20;
  for (std::size_t at = 0; at < pods.size(); at += kAtOnce / 2) {
    json asked = json::array();
    for (std::size_t i = at; i < at + kAtOnce / 2; ++i) {
      for (const char* name : {"main", "side"}) asked.push_back(container(pods[i], name));
    }
    const json answers = runtime_.create(asked);
    ASSERT_EQ(answers.size(), asked.size());
    for (std::size_t i = 0; i < answers.size(); ++i) expect_given(answers[i], pods[at + i / 2]);
  }
  const json calls = runtime_.calls();
  std::cout << "the hook, with " << kAtOnce << " containers at once: " << calls["CreateContainer"]
            << "\n";
  EXPECT_EQ(count("refused"), 0);
  EXPECT_EQ(hook_->trouble(), "");
  EXPECT_FALSE(calls.contains("RunPodSandbox")) << "it is asked for nothing else: " << calls;
  // A runtime that has them all tells of them in pieces, and none was missed.
  runtime_.kill();
  ASSERT_NO_FATAL_FAILURE(runtime_.start());
  runtime_.wait_for(1);
  EXPECT_EQ(missed(), 0);
  runtime_.remove(pods[0].uid);
  expect_given(create(pods[0]), pods[0]);
}

TEST_F(RealRuntimeTest, WhatOnlyThePodSaysGivesNothing) {
  const Case honest = make_case(1, {3}, 100, {}, false);
  bound_[honest.uid] = honest.annotation;
  know();
  Case forged = make_case(2, {3}, 100, {}, false);
  expect_refused(create(forged), "the API server does not show");
  forged.uid = honest.uid;
  forged.annotation = make_case(1, {4}, 100, {}, false).annotation;
  expect_refused(create(forged), "the API server does not show");
  EXPECT_EQ(count("refused"), 2);
  EXPECT_TRUE(runtime_.create("none", {{"a", "b"}})["annotations"].empty())
      << "it was given nothing";
  EXPECT_EQ(count("given"), 0);
  // What its author says of the variable does not count either.
  json asked = container(honest);
  asked["variables"] = {"NVIDIA_VISIBLE_DEVICES=all", "A=b"};
  Case wanted = honest;
  wanted.variables.push_back("A=b");
  expect_given(runtime_.create(json::array({asked}))[0], wanted);
}

// The annotation that the scheduler writes too: no container is made while the hook is away.
TEST_F(RealRuntimeTest, FailsClosedWhileTheHookIsAway) {
  const Case pod = make_case(1, {3}, 100, {1}, true);
  const Case none = make_case(2, {}, 0, {}, false);
  bound_[pod.uid] = pod.annotation;
  know();
  expect_given(create(pod), pod);
  kill_hook();
  expect_refused(create(pod, "next"), "required plugin \"plimsoll\" not present");
  runtime_.kill();
  ASSERT_NO_FATAL_FAILURE(runtime_.start());
  expect_refused(create(pod, "next"), "required plugin \"plimsoll\" not present");
  start_hook();
  expect_given(create(pod, "next"), pod);
  EXPECT_EQ(missed(), 0);
}

TEST_F(RealRuntimeTest, APodThatIsNotKnownYetIsAwaited) {
  kill_hook();
  start_hook(std::chrono::minutes(10));
  const Case pod = make_case(1, {3}, 100, {1}, true);
  bound_[pod.uid] = pod.annotation;
  const std::jthread later([&] { know(); });
  expect_given(create(pod), pod);
}

// Others' containers would wait too: the runtime asks for one after the other.
TEST_F(RealRuntimeTest, WhatOnlyThePodSaysIsNotAwaited) {
  kill_hook();
  start_hook(std::chrono::minutes(10));
  const Case none = make_case(1, {3}, 100, {}, false);
  const Case other = make_case(2, {3}, 100, {}, false);
  Case long_one = make_case(3, {3}, 100, {}, false);
  long_one.annotation.append(kLongestAnnotation, ' ');
  bound_ = {{none.uid, ""}, {other.uid, make_case(2, {4}, 100, {}, false).annotation}};
  know();
  expect_refused(create(none), "the API server does not show");
  expect_refused(create(other), "the API server does not show");
  expect_refused(create(long_one), "its annotation is longer than any");
}

// The runtime gives up waiting for the hook, and does without it from then on.
TEST_F(RealRuntimeTest, AnAnswerThatIsLateFailsItsContainer) {
  kill_hook();
  start_hook(std::chrono::minutes(10));
  const Case pod = make_case(1, {3}, 100, {1}, true);
  expect_refused(create(pod), "plugin 90-plimsoll failed to handle CreateContainer request");
  runtime_.wait_for(0);
  bound_[pod.uid] = pod.annotation;
  know();
  runtime_.wait_for(1);
  expect_given(create(pod), pod);
}

TEST_F(RealRuntimeTest, FindsWhatWasMadeWithoutIt) {
  const Case given = make_case(1, {3}, 100, {}, false);
  const Case missed_pod = make_case(2, {4}, 100, {}, false);
  bound_ = {{given.uid, given.annotation}, {missed_pod.uid, missed_pod.annotation}};
  know();
  expect_given(create(given), given);
  kill_hook();
  json asked = container(missed_pod);
  asked["annotations"].erase(kRequired);  // a runtime that does not look at it
  EXPECT_TRUE(runtime_.create(json::array({asked}))[0]["devices"].is_null());
  start_hook();
  EXPECT_EQ(missed(), 1);
  expect_given(create(given, "next"), given);
  runtime_.remove(missed_pod.uid);
  runtime_.kill();
  ASSERT_NO_FATAL_FAILURE(runtime_.start());
  runtime_.wait_for(1);
  EXPECT_EQ(missed(), 0);
}

TEST_F(RealRuntimeTest, APodThatIsGoneIsGivenNothing) {
  const Case pod = make_case(1, {3}, 100, {}, false);
  bound_[pod.uid] = pod.annotation;
  know();
  expect_given(create(pod), pod);
  hook_->know(pod.uid, nullptr);
  expect_refused(create(pod, "next"), "the API server does not show");
}

TEST_F(RealRuntimeTest, DevicesThatCdiFilesNameAreGivenByName) {
  const Case pod = make_case(1, {3, 7}, 100, {1}, true);
  bound_[pod.uid] = pod.annotation;
  cdi_ = {"nvidia.com/gpu=GPU-3", "nvidia.com/gpu=GPU-7"};
  know();
  Case nic = make_case(1, {}, 100, {1}, true);
  nic.variables = {"NVIDIA_VISIBLE_DEVICES=void"};
  const json answer = create(pod);
  expect_given(answer, nic);
  EXPECT_EQ(answer["cdi"], json({"nvidia.com/gpu=GPU-3", "nvidia.com/gpu=GPU-7"}));
  // A runtime that is older, or not known, leaves names out and says nothing: cards go by number.
  using Since = std::map<std::string, std::pair<int, int>>;
  int number = 0;
  for (const Since& since : {Since{{"records", {2, 4}}}, Since{{"containerd", {2, 1}}}}) {
    kill_hook();
    by_name_since_ = since;
    start_hook();
    const json by_number = create(pod, "next" + std::to_string(number++));
    expect_given(by_number, pod);
    EXPECT_TRUE(by_number["cdi"].is_null());
  }
}

TEST_F(RealRuntimeTest, WhatGoesWrongCostsTheContainerAlone) {
  const Case pod = make_case(1, {3}, 100, {}, false);
  bound_[pod.uid] = pod.annotation;
  know();
  hook_->judge_by([](const AllocatedPod&, bool) -> PodDevices {
    throw std::runtime_error("a folder cannot be read");
  });
  expect_refused(create(pod), "a folder cannot be read");
  know();
  expect_given(create(pod, "next"), pod);
}

TEST_F(RealRuntimeTest, TheLibraryOfAShareIsMounted) {
  const Case pod = make_case(1, {3}, 25, {}, false);
  bound_[pod.uid] = pod.annotation;
  know();
  hook_->judge_by([&](const AllocatedPod& known, bool) {
    PodDevices devices = devices_of_pod(known, found_, files_);
    devices.mounts = {{"/usr/local/vgpu/libvgpu.so"}, {"/tmp/vgpulock", true}};
    return devices;
  });
  const json answer = create(pod);
  expect_given(answer, pod);
  EXPECT_EQ(answer["mounts"],
            json({"/tmp/vgpulock /tmp/vgpulock rbind,rw",
                  "/usr/local/vgpu/libvgpu.so /usr/local/vgpu/libvgpu.so rbind,ro"}))
      << "all containers load what lies there";
}

// A card that fails, and one that is another one now.
TEST_F(RealRuntimeTest, ABadCardCostsItsPodsAlone) {
  const Case bad = make_case(1, {7}, 100, {}, false);
  const Case good = make_case(2, {6}, 100, {}, false);
  bound_ = {{bad.uid, bad.annotation}, {good.uid, good.annotation}};
  for (json& device : found_) {
    if (device["id"] == "GPU-7") device["health"] = false;
  }
  know();
  expect_refused(create(bad), "pod default/name-u1: gpu 7 is not healthy");
  expect_given(create(good), good);
  for (json& device : found_) {
    if (device["id"] == "GPU-7") device["health"] = true;
  }
  know();
  expect_given(create(bad), bad);
}

}  // namespace
}  // namespace plimsoll::node
