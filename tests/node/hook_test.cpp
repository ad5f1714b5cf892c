// What containers are given by plimsoll-node's hook. With a runtime: real_runtime_test.cpp.

#include "node/hook/device_hook.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "node/devices/device_report.hpp"
#include "node/hook/mux.hpp"
#include "tests/node/fake_machine.hpp"

namespace plimsoll::node {
namespace {

using namespace std::string_literals;
using nlohmann::json;
using test::FakeMachine;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

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
    return devices_of_pod({annotation, "", ""}, devices_, files_, cdi_);
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
  std::set<std::string> cdi_;
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
  node("0000:15:00.1", "its-own", "9:9", "of-the-function");  // where a link of the NIC leads
  machine_.add({"pci0000:60", "0000:60:01.0", "0000:61:00.0"},
               {{"vendor", "0x1002"}, {"driver", "->../amdgpu"}, {"mem_info_vram_total", "1024"}});
  node("0000:61:00.0", "drm/renderD128", "226:128", "dri/renderD128");
  node("0000:61:00.0", "drm/card0", "226:0", "dri/card0");
  node("0000:61:00.0", "graphics/fb0", "29:0", "fb0");
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

// What CDI files name is given by name, and of a pod's cards all or none.
TEST_F(PodDevicesTest, WhatTheRuntimeKnowsByNameIsGivenByName) {
  machine_.set_card("0000:14:00.0", "mig", "MIG-a/1g.10gb/1024");
  node("0000:15:00.0", "infiniband_verbs/uverbs0", "231:192", "infiniband/uverbs0");
  look();
  const std::string cards = R"({"gpu": [{"minor": 3}, {"minor": 7}]})";
  const std::string both = R"({"gpu": [{"minor": 3}], "mig": [{"minor": 48, "id": "MIG-a"}]})";
  const auto all = Pair("NVIDIA_VISIBLE_DEVICES", "void");
  cdi_ = {"nvidia.com/gpu=GPU-3", "nvidia.com/gpu=MIG-a", "other.com/gpu=GPU-7"};
  EXPECT_THAT(of(cards).cdi, IsEmpty()) << "nvidia.com/gpu=GPU-7 is not known";
  EXPECT_THAT(of(cards).nodes, testing::SizeIs(5));
  EXPECT_THAT(of(both).cdi, ElementsAre("nvidia.com/gpu=GPU-3", "nvidia.com/gpu=MIG-a"));
  EXPECT_THAT(of(both).variables, ElementsAre(all));
  EXPECT_THAT(of(both).nodes, IsEmpty());
  cdi_ = {"nvidia.com/gpu=GPU-3", "nvidia.com/gpu=GPU-7", "vfio.com/nic=0000:15:00.0"};
  const PodDevices pod = of(R"({"gpu": [{"minor": 3}, {"minor": 7}], "rdma": [{"minor": 0}]})");
  EXPECT_EQ(pod.refusal, "");
  EXPECT_THAT(pod.cdi, ElementsAre("nvidia.com/gpu=GPU-3", "nvidia.com/gpu=GPU-7"));
  EXPECT_THAT(texts(pod), ElementsAre("/dev/infiniband/uverbs0 231:192"))
      << "nobody said of which kind NICs are";
  EXPECT_THAT(of(both).refusal, HasSubstr("no CDI file names nvidia.com/gpu=MIG-a"));
  EXPECT_THAT(of(both).cdi, IsEmpty());
  EXPECT_THAT(of(R"({"gpu": [{"minor": 6}]})").refusal, HasSubstr("gpu 6 is not healthy"));

  // A rule may say of which kind its devices are.
  FinderOptions options = machine_.options();
  options.rules = parse_type_rules(R"({"types": [{"type": "rdma", "cdi": "vfio.com/nic",
      "match": {"infiniband/*": "*"}, "resources": {"koordinator.sh/rdma": "100"}}]})")
                      .value();
  DeviceFinder finder(options, [] {});
  devices_ = report_devices(finder.find(nullptr), json::object(), {}, "").devices;
  const PodDevices nic = of(R"({"rdma": [{"minor": 0}]})");
  EXPECT_THAT(nic.cdi, ElementsAre("vfio.com/nic=0000:15:00.0"));
  EXPECT_THAT(nic.nodes, IsEmpty());
  EXPECT_THAT(of(R"({"rdma": [{"minor": 1}]})").refusal,
              HasSubstr("no CDI file names vfio.com/nic=0000:25:00.0"));
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
    return devices_of_pod({gpus(list), "", by}, devices_, files_);
  };
  EXPECT_THAT(held(part, "").mounts, IsEmpty()) << "nothing holds it";
  EXPECT_EQ(held(part, "").refusal, "");
  EXPECT_THAT(held(part, "HAMi-core").refusal, HasSubstr("no /usr/local/vgpu/libvgpu.so"));
  EXPECT_THAT(held(part, "MPS").refusal, HasSubstr("nothing is known here of MPS"));
  std::filesystem::create_directories(files_.root / "usr/local/vgpu");
  std::ofstream(files_.root / "usr/local/vgpu/libvgpu.so") << "x";

  const PodDevices pod = held(part + "," + half, "HAMi-core");
  EXPECT_EQ(pod.refusal, "");
  using testing::Field;
  EXPECT_THAT(pod.mounts, ElementsAre(Field(&Mount::path, "/usr/local/vgpu/libvgpu.so"),
                                      Field(&Mount::path, "/tmp/vgpulock")));
  EXPECT_FALSE(pod.mounts[0].writable) << "all containers load it";
  EXPECT_THAT(pod.variables,
              ElementsAre(Pair("CUDA_DEVICE_MEMORY_LIMIT", std::to_string(4LL << 30)),
                          Pair("CUDA_DEVICE_SM_LIMIT", "20"),
                          Pair("LD_PRELOAD", "/usr/local/vgpu/libvgpu.so"),
                          Pair("NVIDIA_VISIBLE_DEVICES", "GPU-1,GPU-2")));
  EXPECT_EQ(held(card("1", "50", "100", "16Gi"), "HAMi-core").variables.at("CUDA_DEVICE_SM_LIMIT"),
            "50")
      << "all of the memory is not all of the card";
  EXPECT_THAT(held(whole, "HAMi-core").mounts, IsEmpty());
  EXPECT_THAT(held(whole, "HAMi-core").variables,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "GPU-3")));
  EXPECT_THAT(held(card("1", "x", "25", "4Gi"), "").refusal, HasSubstr("koordinator.sh/gpu-core"));
}

TEST_F(PodDevicesTest, WhatIsNotSureIsRefused) {
  machine_.set_card("0000:14:00.0", "mig", "MIG-a/1g.10gb/1024");
  look();
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const auto& [annotation, why] : std::map<std::string, std::string>{
           {R"({"gpu": [{"minor": )" + deep + "}]}", "this node has no gpu (no number)"},
           {"[]", "no JSON object"},
           {"{", "no JSON object"},
           {R"({"gpu": {"minor": 1}})", "gpu is no list"},
           {R"({"gpu": [1]})", "this node has no gpu null"},
           {R"({"gpu": [{"minor": 9}]})", "this node has no gpu 9"},
           {R"({"tpu": [{"minor": 0}]})", "this node has no tpu 0"},
           {R"({"gpu": [{"minor": 1, "id": "GPU-2"}]})", "another device than GPU-2"},
           {R"({"gpu": [{"minor": 6}]})", "gpu 6 is not healthy"},
           {R"({"mig": [{"minor": 48}]})", "no CDI file names nvidia.com/gpu=MIG-a"},
           {R"({"gpu": [{"minor": 1}], "rdma": [{"minor": 0}]})", "rdma 0 has no device node"}}) {
    const PodDevices pod = of(annotation);
    EXPECT_THAT(pod.refusal, HasSubstr(why)) << annotation;
    EXPECT_THAT(pod.nodes, IsEmpty()) << annotation;
    EXPECT_THAT(pod.variables, IsEmpty()) << annotation;
  }
  EXPECT_EQ(of("{}").refusal, "");
  EXPECT_THAT(of("{}").nodes, IsEmpty());
  std::filesystem::remove(files_.proc / "devices");
  EXPECT_THAT(of(R"({"gpu": [{"minor": 1}]})").refusal, HasSubstr("driver is not loaded"));
}

// A message may come in any pieces, and those of both connections in any order.
TEST(NriFrames, MessagesAreWholeHoweverTheyAreCut) {
  const std::string text(65536, 'x');
  const std::string call = mux::frame(mux::kPlugin, 3, mux::kRequest, text);
  const std::string head = call.substr(8, 10);  // behind the frame's own
  std::string bytes;
  const auto add_frame = [&](std::uint32_t connection, const std::string& part) {
    const std::string size = {0, 0, static_cast<char>(part.size() >> 8),
                              static_cast<char>(part.size() & 0xff)};
    bytes += std::string(3, '\0') + static_cast<char>(connection) + size + part;
  };
  add_frame(mux::kPlugin, head.substr(0, 3));
  bytes += mux::frame(mux::kRuntime, 1, mux::kResponse, "registered");
  add_frame(mux::kPlugin, head.substr(3));
  for (std::size_t at = 0; at < text.size(); at += 777) {
    add_frame(mux::kPlugin, text.substr(at, 777));
  }
  for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, bytes.size()}) {
    mux::Reader reader;
    std::vector<std::string> read;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      ASSERT_TRUE(reader.add(std::string_view(bytes).substr(at, size)));
      while (const auto message = reader.next()) {
        read.push_back(std::to_string(message->connection) + " " + std::to_string(message->stream) +
                       " " + message->data);
      }
    }
    std::sort(read.begin(), read.end());
    EXPECT_THAT(read, ElementsAre("1 3 " + text, "2 1 registered")) << size;
  }
  mux::Reader reader;
  EXPECT_FALSE(reader.add(std::string("\0\0\0\7\0\0\0\0", 8))) << "there is no such connection";
  EXPECT_FALSE(mux::Reader().add("\0\0\0\1\x7f\0\0\0"s)) << "a frame is larger than any";
}

TEST(DeviceHook, SaysThatThereIsNoRuntime) {
  const DeviceHook hook(HookOptions{"/nowhere/nri.sock", {}, {}, {}, std::chrono::minutes(1)},
                        nullptr);
  while (hook.trouble() == "starting") std::this_thread::yield();
  EXPECT_THAT(hook.trouble(), HasSubstr("/nowhere/nri.sock: No such file or directory"));
}

}  // namespace
}  // namespace plimsoll::node
