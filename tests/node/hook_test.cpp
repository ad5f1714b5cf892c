// What containers are given by plimsoll-node's hook, against the runtime's side of NRI.

#include "node/hook/device_hook.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "node/devices/device_report.hpp"
#include "tests/node/fake_machine.hpp"
#include "tests/node/fake_runtime.hpp"

namespace plimsoll::node {
namespace {

using nlohmann::json;
using test::Adjusted;
using test::FakeMachine;
using test::FakeRuntime;
using test::RuntimePod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";
constexpr std::chrono::milliseconds kLong{60'000};

std::vector<std::string> texts(const PodDevices& pod) {
  std::vector<std::string> texts;
  for (const DeviceNode& node : pod.nodes) {
    texts.push_back(node.path + " " + std::to_string(node.major) + ":" +
                    std::to_string(node.minor));
  }
  return texts;
}

class PodDevicesTest : public ::testing::Test {
 protected:
  PodDevicesTest() {
    files_ = {machine_.sys(), machine_.sys().parent_path() / "proc"};
    std::filesystem::create_directories(files_.proc);
    std::ofstream(files_.proc / "devices") << "Character devices:\n  1 mem\n195 nvidia\n"
                                              "511 nvidia-uvm\n\nBlock devices:\n  8 sd\n";
    machine_.make_dgx();
  }
  PodDevices of(const std::string& annotation) {
    if (devices_.is_null()) look();
    return devices_of_pod(annotation, devices_, files_);
  }
  void look() {
    DeviceFinder finder(machine_.options(), [] {});
    devices_ = report_devices(finder.find(nullptr), json::object(), {}, "").devices;
  }
  void node(const std::string& address, const std::string& folder, const std::string& numbers,
            const std::string& name) {
    machine_.set(address, folder + "/dev", numbers);
    machine_.set(address, folder + "/uevent", "MAJOR=1\nDEVNAME=" + name);
  }

  FakeMachine machine_;
  HostFiles files_;
  json devices_;
};

TEST_F(PodDevicesTest, CardsAreTheirNodesAndTheirUuids) {
  const PodDevices pod =
      of(R"({"gpu": [{"minor": 3, "id": "GPU-3"}, {"minor": 7, "resources": {}}]})");
  EXPECT_EQ(pod.refusal, "");
  EXPECT_THAT(texts(pod),
              ElementsAre("/dev/nvidia3 195:3", "/dev/nvidiactl 195:255", "/dev/nvidia-uvm 511:0",
                          "/dev/nvidia-uvm-tools 511:1", "/dev/nvidia7 195:7"));
  EXPECT_THAT(pod.variables, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "GPU-3,GPU-7")));
}

TEST_F(PodDevicesTest, OthersAreWhatTheKernelShowsOfThem) {
  node("0000:15:00.0", "infiniband_verbs/uverbs0", "231:192", "infiniband/uverbs0");
  node("0000:15:00.0", "infiniband_mad/umad0", "231:0", "infiniband/umad0");
  node("0000:15:00.0", "ptp/ptp3", "248:3", "ptp3");
  machine_.set("0000:15:00.0", "virtfn0", "->../0000:15:00.1");
  machine_.add({"pci0000:10", "0000:10:01.0", "0000:11:00.0", "0000:12:02.0", "0000:15:00.1"},
               {{"physfn", "->../0000:15:00.0"}});
  node("0000:15:00.1", "infiniband_verbs/uverbs9", "231:201", "infiniband/uverbs9");
  machine_.add({"pci0000:60", "0000:60:01.0", "0000:61:00.0"},
               {{"vendor", "0x1002"}, {"driver", "->../amdgpu"}, {"mem_info_vram_total", "1024"}});
  node("0000:61:00.0", "drm/renderD128", "226:128", "dri/renderD128");
  node("0000:61:00.0", "drm/card0", "226:0", "dri/card0");
  for (const auto& [folder, numbers, name] :
       {std::tuple("class/misc/rdma_cm", "10:58", "infiniband/rdma_cm"),
        std::tuple("class/kfd/kfd", "510:0", "kfd")}) {
    std::filesystem::create_directories(files_.sys / folder);
    std::ofstream(files_.sys / folder / "dev") << numbers << "\n";
    std::ofstream(files_.sys / folder / "uevent") << "DEVNAME=" << name << "\n";
  }
  EXPECT_THAT(texts(of(R"({"rdma": [{"minor": 0, "id": "0000:15:00.0"}]})")),
              ElementsAre("/dev/infiniband/umad0 231:0", "/dev/infiniband/uverbs0 231:192",
                          "/dev/infiniband/rdma_cm 10:58"));
  EXPECT_THAT(
      texts(of(R"({"rdma": [{"minor": 0, "extension": {"vfs": [{"busID": "0000:15:00.1"}]}}]})")),
      ElementsAre("/dev/infiniband/uverbs9 231:201", "/dev/infiniband/rdma_cm 10:58"));
  EXPECT_THAT(
      of(R"({"rdma": [{"minor": 0, "extension": {"vfs": [{"busID": "0000:13:00.0"}]}}]})").refusal,
      HasSubstr("rdma 0 has no function 0000:13:00.0"));
  int amd = -1;
  for (const json& device : devices_) {
    if (device["id"] == "0000:61:00.0") amd = device["minor"];
  }
  EXPECT_EQ(amd, 8) << "the first that no driver has numbered";
  EXPECT_THAT(texts(of(R"({"gpu": [{"minor": 8}]})")),
              ElementsAre("/dev/dri/renderD128 226:128", "/dev/kfd 510:0"));
}

// HAMi-core, where a pod asks for it: the least that the pod has of a card holds for each.
TEST_F(PodDevicesTest, SharesAreHeldByTheLibraryThatIsThere) {
  const auto card = [](const char* minor, const char* core, const char* ratio, const char* memory) {
    return std::string(R"({"minor":)") + minor + R"(,"resources":{"koordinator.sh/gpu-core":")" +
           core + R"(","koordinator.sh/gpu-memory-ratio":")" + ratio +
           R"(","koordinator.sh/gpu-memory":")" + memory + R"("}})";
  };
  const std::string part = card("1", "30", "25", "4Gi");
  const std::string half = card("2", "20", "50", "8Gi");
  const std::string whole = card("3", "100", "100", "16Gi");
  const auto gpus = [](const std::string& list) { return R"({"gpu":[)" + list + "]}"; };
  files_.root = machine_.sys().parent_path();
  look();
  const auto held = [&](const std::string& list, const std::string& by) {
    return devices_of_pod(gpus(list), devices_, files_, by);
  };
  EXPECT_THAT(held(part, "").mounts, IsEmpty()) << "nothing holds it";
  EXPECT_EQ(held(part, "").refusal, "");
  EXPECT_THAT(held(part, "HAMi-core").refusal, HasSubstr("no /usr/local/vgpu/libvgpu.so"));
  EXPECT_THAT(held(part, "MPS").refusal, HasSubstr("nothing is known here of MPS"));
  std::filesystem::create_directories(files_.root / "usr/local/vgpu");
  std::ofstream(files_.root / "usr/local/vgpu/libvgpu.so") << "x";

  const PodDevices pod = held(part + "," + half, "HAMi-core");
  EXPECT_EQ(pod.refusal, "");
  EXPECT_THAT(pod.mounts, ElementsAre("/usr/local/vgpu/libvgpu.so", "/tmp/vgpulock"));
  EXPECT_THAT(pod.variables,
              ElementsAre(Pair("CUDA_DEVICE_MEMORY_LIMIT", std::to_string(4LL << 30)),
                          Pair("CUDA_DEVICE_SM_LIMIT", "20"),
                          Pair("LD_PRELOAD", "/usr/local/vgpu/libvgpu.so"),
                          Pair("NVIDIA_VISIBLE_DEVICES", "GPU-1,GPU-2")));
  EXPECT_THAT(held(whole, "HAMi-core").mounts, IsEmpty());
  EXPECT_THAT(held(whole, "HAMi-core").variables,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "GPU-3")));
  EXPECT_THAT(held(card("1", "x", "25", "4Gi"), "").refusal, HasSubstr("koordinator.sh/gpu-core"));
}

TEST_F(PodDevicesTest, WhatIsNotSureIsRefused) {
  machine_.set_card("0000:14:00.0", "mig", "MIG-a/1g.10gb/1024");
  look();
  for (const auto& [annotation, why] : std::map<std::string, std::string>{
           {"[]", "no JSON object"},
           {"{", "no JSON object"},
           {R"({"gpu": {"minor": 1}})", "gpu is no list"},
           {R"({"gpu": [1]})", "this node has no gpu null"},
           {R"({"gpu": [{"minor": 9}]})", "this node has no gpu 9"},
           {R"({"tpu": [{"minor": 0}]})", "this node has no tpu 0"},
           {R"({"gpu": [{"minor": 1, "id": "GPU-2"}]})", "another device than GPU-2"},
           {R"({"gpu": [{"minor": 6}]})", "gpu 6 is not healthy"},
           {R"({"mig": [{"minor": 48}]})", "NVIDIA's own device plugin"},
           {R"({"gpu": [{"minor": 1}], "rdma": [{"minor": 0}]})", "rdma 0 has no device node"}}) {
    const PodDevices pod = of(annotation);
    EXPECT_THAT(pod.refusal, HasSubstr(why)) << annotation;
    EXPECT_THAT(pod.nodes, IsEmpty()) << annotation;
    EXPECT_THAT(pod.variables, IsEmpty()) << annotation;
    EXPECT_EQ(pod.annotation, annotation);
  }
  EXPECT_EQ(of("{}").refusal, "");
  EXPECT_THAT(of("{}").nodes, IsEmpty());
  std::filesystem::remove(files_.proc / "devices");
  EXPECT_THAT(of(R"({"gpu": [{"minor": 1}]})").refusal, HasSubstr("driver is not loaded"));
}

class DeviceHookTest : public ::testing::Test {
 protected:
  void start(std::chrono::milliseconds patience) {
    hook_ = std::make_unique<DeviceHook>(
        HookOptions{runtime_.socket(), {}, patience, std::chrono::milliseconds(1)}, &registry_);
  }
  static RuntimePod pod(const std::string& uid, const std::string& annotation) {
    return {uid, {{"a", "b"}, {kAllocated, annotation}}};
  }
  static PodDevices devices(const std::string& annotation, std::int64_t minor) {
    return {annotation, "", {{"/dev/x", 195, minor}, {"/dev/y", 231, 7}}, {{"V", "1"}}, {}};
  }
  double count(const std::string& outcome) {
    return registry_.counters({"plimsoll_node_hook_containers_total", "", {"outcome"}})
        .with({outcome})
        .value();
  }
  double missed() {
    return registry_.gauges({"plimsoll_node_hook_missed_containers", "", {}}).with({}).value();
  }

  FakeRuntime runtime_;
  metrics::Registry registry_;
  std::unique_ptr<DeviceHook> hook_;
};

TEST_F(DeviceHookTest, AContainerGetsWhatItsPodWasGiven) {
  start(kLong);
  hook_->know({{"u", devices("{\"x\":1}", 5)}, {"v", devices("{\"x\":2}", 6)}});
  EXPECT_EQ(runtime_.accept(), "plimsoll 90 8") << "it hears of containers that are made, alone";
  for (const std::size_t size : {std::size_t{1} << 20, std::size_t{7}}) {
    runtime_.split_frames(size);
    const Adjusted given = runtime_.create(pod("v", "{\"x\":2}"));
    EXPECT_EQ(given.error, "");
    EXPECT_THAT(given.devices, ElementsAre("/dev/x c 195:6", "/dev/y c 231:7"));
    EXPECT_THAT(given.variables, ElementsAre(Pair("V", "1")));
    EXPECT_THAT(given.annotations, ElementsAre(Pair(nri::kMark, "true")));
  }
  EXPECT_EQ(runtime_.create({"w", {{"a", "b"}}}), Adjusted()) << "it was given nothing";
  EXPECT_EQ(runtime_.create(pod("w", "{}")), Adjusted());
  EXPECT_EQ(hook_->trouble(), "");
  EXPECT_EQ(count("given"), 2);
}

TEST_F(DeviceHookTest, WhatOnlyThePodSaysIsRefused) {
  start(std::chrono::milliseconds(1));
  PodDevices refused = devices("{\"x\":3}", 1);
  refused.refusal = "its card is not healthy";
  hook_->know({{"u", devices("{\"x\":1}", 5)}, {"r", refused}});
  (void)runtime_.accept();
  for (const auto& [who, why] :
       {std::pair(pod("stranger", "{\"x\":1}"), "the API server does not show"),
        std::pair(pod("u", "{\"x\":2}"), "the API server does not show"),
        std::pair(pod("r", "{\"x\":3}"), "pod default/name-r: its card is not healthy")}) {
    const Adjusted adjusted = runtime_.create(who);
    EXPECT_THAT(adjusted.error, HasSubstr(why));
    EXPECT_THAT(adjusted.devices, IsEmpty());
  }
  EXPECT_EQ(count("refused"), 3);
  EXPECT_EQ(runtime_.create(pod("u", "{\"x\":1}")).devices.size(), 2U) << "others are served";
}

TEST_F(DeviceHookTest, APodThatIsNotKnownYetIsAwaited) {
  start(kLong);
  (void)runtime_.accept();
  const std::jthread later([&] { hook_->know({{"u", devices("{\"x\":1}", 5)}}); });
  EXPECT_EQ(runtime_.create(pod("u", "{\"x\":1}")).devices.size(), 2U);
}

TEST_F(DeviceHookTest, ConnectsForEverAndFindsWhatItMissed) {
  start(kLong);
  hook_->know({{"u", devices("{\"x\":1}", 5)}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(runtime_.accept({{pod("u", "{\"x\":1}"), true},
                               {pod("v", "{\"x\":1}"), false},
                               {pod("w", "{}"), false},
                               {{"x", {}}, false}}),
              "plimsoll 90 8");
    EXPECT_EQ(missed(), 1);
    EXPECT_EQ(runtime_.create(pod("u", "{\"x\":1}")).devices.size(), 2U);
    runtime_.drop();
  }
}

TEST_F(DeviceHookTest, SaysThatThereIsNoRuntime) {
  hook_ = std::make_unique<DeviceHook>(HookOptions{"/nowhere/nri.sock", {}, {}, kLong}, nullptr);
  while (hook_->trouble() == "starting") std::this_thread::yield();
  EXPECT_THAT(hook_->trouble(), HasSubstr("/nowhere/nri.sock: No such file or directory"));
}

}  // namespace
}  // namespace plimsoll::node
