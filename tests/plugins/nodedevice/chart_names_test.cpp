// Every resource name by which the charts of HAMi, Koordinator and Volcano have pods ask for
// devices is decided on as docs/devices.md says ("Names of the charts").

#include <gmock/gmock.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "config/validate.hpp"
#include "plugins/nodedevice/args/device_args.hpp"
#include "tests/config/test_registry.hpp"

namespace plimsoll::devices {
namespace {

enum class Decision {
  kGiven,     // by NodeDevice
  kDevices,   // so many are set aside
  kAmounts,   // of the devices beside it
  kOrdinary,  // a node's resource like any other
};
using enum Decision;

void PrintTo(Decision decision, std::ostream* out) {
  *out << std::array{"given", "devices", "amounts", "ordinary"}[static_cast<size_t>(decision)];
}

// As a profile sees it.
class Profile {
 public:
  explicit Profile(const std::string& file) {
    const auto validation = config::validate_file(file, config::test_registry());
    EXPECT_TRUE(validation.ok()) << validation.report();
    if (!validation.ok()) return;
    const auto& args = validation.profiles.at(0).args;
    const auto fit = nlohmann::json::parse(args.at("NodeResourcesFit"));
    ignored_ = fit.value("ignoredResources", std::vector<std::string>());
    const auto device_args = parse_device_args(args.at("NodeDevice"));
    EXPECT_TRUE(device_args.has_value()) << (device_args ? "" : device_args.error());
    if (device_args) types_ = DeviceTypes(device_args->types);
  }
  [[nodiscard]] Decision decides(const std::string& name) const {
    if (types_.find_request(name)) return kGiven;
    const DeviceTypes::Uses uses = types_.find_same_hardware(name);
    return uses.devices != 0 ? kDevices : uses.amounts != 0 ? kAmounts : kOrdinary;
  }
  [[nodiscard]] const std::vector<std::string>& ignored() const { return ignored_; }

 private:
  DeviceTypes types_ = DeviceTypes::standard();
  std::vector<std::string> ignored_;
};

const std::map<std::string, Decision>& names() {
  static const std::map<std::string, Decision> kNames = {
      // HAMi: values.yaml and the scheduler's device configuration, NVIDIA's below.
      {"nvidia.com/gpu", kGiven},
      {"cambricon.com/vmlu", kDevices},
      {"cambricon.com/mlu.smlu.vmemory", kAmounts},
      {"cambricon.com/mlu.smlu.vcore", kAmounts},
      {"hygon.com/dcunum", kDevices},
      {"hygon.com/dcumem", kAmounts},
      {"hygon.com/dcucores", kAmounts},
      {"hygon.com/hcunum", kDevices},
      {"hygon.com/hcumem", kAmounts},
      {"hygon.com/hcucores", kAmounts},
      {"metax-tech.com/gpu", kDevices},
      {"metax-tech.com/sgpu", kDevices},
      {"metax-tech.com/vcore", kAmounts},
      {"metax-tech.com/vmemory", kAmounts},
      {"enflame.com/gcu", kDevices},
      {"enflame.com/drs-gcu", kDevices},
      {"enflame.com/gcu-memory", kAmounts},
      {"enflame.com/gcu-core", kAmounts},
      {"mthreads.com/vgpu", kDevices},
      {"mthreads.com/sgpu-memory", kAmounts},
      {"mthreads.com/sgpu-core", kAmounts},
      {"iluvatar.ai/MR-V100-vgpu", kDevices},
      {"iluvatar.ai/MR-V100.vMem", kAmounts},
      {"iluvatar.ai/MR-V100.vCore", kAmounts},
      {"iluvatar.ai/BI-V150-vgpu", kDevices},
      {"kunlunxin.com/xpu", kDevices},
      {"kunlunxin.com/vxpu", kDevices},
      {"kunlunxin.com/vxpu-memory", kAmounts},
      {"vastaitech.com/va", kDevices},
      {"birentech.com/gpu", kDevices},
      {"amd.com/gpu", kGiven},
      {"amd.com/gpumem", kAmounts},
      {"amd.com/gpucores", kAmounts},
      {"huawei.com/Ascend910A", kDevices},
      {"huawei.com/Ascend910B4-1", kDevices},
      {"huawei.com/Ascend910B4-1-memory", kAmounts},
      {"huawei.com/Ascend910B4-1-core", kAmounts},
      {"huawei.com/Ascend310P", kDevices},
      {"huawei.com/Ascend310P-memory", kAmounts},
      {"aws.amazon.com/neuron", kOrdinary},
      {"aws.amazon.com/neuroncore", kOrdinary},
      // Koordinator
      {"koordinator.sh/gpu", kGiven},
      {"koordinator.sh/gpu.shared", kGiven},
      {"koordinator.sh/gpu-core", kGiven},
      {"koordinator.sh/gpu-memory", kGiven},
      {"koordinator.sh/gpu-memory-ratio", kGiven},
      {"koordinator.sh/rdma", kGiven},
      {"koordinator.sh/fpga", kGiven},
      {"kubernetes.io/gpu-core", kGiven},
      {"kubernetes.io/rdma", kGiven},
      {"huawei.com/npu-core", kGiven},
      {"huawei.com/npu-cpu", kGiven},
      {"huawei.com/npu-dvpp", kGiven},
      {"kubernetes.io/batch-cpu", kOrdinary},
      {"kubernetes.io/mid-memory", kOrdinary},
      // Volcano
      {"volcano.sh/vgpu-number", kDevices},
      {"volcano.sh/vgpu-memory", kAmounts},
      {"volcano.sh/vgpu-memory-percentage", kAmounts},
      {"volcano.sh/vgpu-cores", kAmounts},
      {"volcano.sh/gpu-number", kDevices},
      {"volcano.sh/gpu-memory", kAmounts},
  };
  return kNames;
}

TEST(ChartNames, AreDecidedOnInEveryProfile) {
  for (const char* file : {"hami.yaml", "topology.yaml", "koordinator-migrated.yaml"}) {
    const Profile profile("examples/profiles/" + std::string(file));
    for (const auto& [name, decision] : names())
      EXPECT_EQ(profile.decides(name), decision) << file << " " << name;
  }
}

TEST(ChartNames, HamisNamesForNvidia) {
  const Profile hami("examples/profiles/hami.yaml");
  const Profile topology("examples/profiles/topology.yaml");
  std::vector<std::string> not_advertised;
  for (const char* name :
       {"nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"}) {
    EXPECT_EQ(hami.decides(name), kGiven) << name;
    EXPECT_EQ(topology.decides(name), kAmounts) << name;
    not_advertised.emplace_back(name);
  }
  const char* kHint = "nvidia.com/priority";
  EXPECT_EQ(hami.decides(kHint), kOrdinary) << "no device's";
  not_advertised.emplace_back(kHint);
  EXPECT_THAT(hami.ignored(), testing::UnorderedElementsAreArray(not_advertised));
}

TEST(ChartNames, KoordinatorsNumberOfShares) {
  for (const char* file : {"topology.yaml", "koordinator-migrated.yaml",
                           "koordinator-deviceshare.yaml", "wide-pods.yaml"})
    EXPECT_THAT(Profile("examples/profiles/" + std::string(file)).ignored(),
                testing::ElementsAre("koordinator.sh/gpu.shared"));
}

}  // namespace
}  // namespace plimsoll::devices
