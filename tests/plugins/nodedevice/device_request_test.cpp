#include "plugins/nodedevice/requests/device_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/nodedevice/text/quantity_text.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::quantities;

// "gpu x2 gpu-core=50 gpu-memory-ratio=50 shared", or the error.
std::string parsed(const Ask& ask) {
  const auto request = parse_device_request(test::types(), quantities(ask));
  if (!request) return request.error();
  std::string text;
  for (const TypeRequest& of_type : request->types) {
    const DeviceType& type = test::types().type(of_type.type);
    text += (text.empty() ? "" : "; ") + type.name + " x" + std::to_string(of_type.count);
    for (size_t dim = 0; dim < type.dims.size(); ++dim)
      if (of_type.per_device.has(static_cast<int>(dim)))
        text += " " + type.dims[dim].substr(type.dims[dim].find('/') + 1) + "=" +
                std::to_string(of_type.per_device.value[dim]);
    if (of_type.is_shared) text += " shared";
  }
  return text;
}

struct Case {
  Ask ask;
  const char* expected;
};

TEST(DeviceRequest, LegalCombinations) {
  const Case cases[] = {
      {{{"cpu", 4000}, {"memory", 1 << 30}}, ""},
      {{{"nvidia.com/gpu", 2}}, "gpu x2 gpu-core=100 gpu-memory-ratio=100"},
      {{{"amd.com/gpu", 1}}, "gpu x1 gpu-core=100 gpu-memory-ratio=100"},
      {{{"dcu.com/gpu", 1}}, "gpu x1 gpu-core=100 gpu-memory-ratio=100"},
      {{{"koordinator.sh/gpu", 50}}, "gpu x1 gpu-core=50 gpu-memory-ratio=50 shared"},
      {{{"koordinator.sh/gpu", 100}}, "gpu x1 gpu-core=100 gpu-memory-ratio=100"},
      {{{"koordinator.sh/gpu", 400}}, "gpu x4 gpu-core=100 gpu-memory-ratio=100"},
      {{{"koordinator.sh/gpu-memory", 1024}}, "gpu x1 gpu-memory=1024 shared"},
      {{{"koordinator.sh/gpu-memory-ratio", 300}}, "gpu x3 gpu-memory-ratio=100"},
      {{{"koordinator.sh/gpu-core", 100}, {"koordinator.sh/gpu-memory", 1024}},
       "gpu x1 gpu-core=100 gpu-memory=1024 shared"},
      {{{"koordinator.sh/gpu-core", 200}, {"koordinator.sh/gpu-memory", 1024}},
       "gpu x1 gpu-core=200 gpu-memory=1024 shared"},
      {{{"koordinator.sh/gpu-core", 200}, {"koordinator.sh/gpu-memory-ratio", 200}},
       "gpu x2 gpu-core=100 gpu-memory-ratio=100"},
      {{{"koordinator.sh/gpu-core", 100}, {"koordinator.sh/gpu-memory-ratio", 300}},
       "gpu x3 gpu-core=33 gpu-memory-ratio=100"},
      {{{"koordinator.sh/gpu-memory-ratio", 200}, {"huawei.com/npu-core", 16}},
       "gpu x2 gpu-memory-ratio=100 npu-core=8"},
      {{{"koordinator.sh/gpu.shared", 2},
        {"koordinator.sh/gpu-core", 100},
        {"koordinator.sh/gpu-memory-ratio", 100}},
       "gpu x2 gpu-core=50 gpu-memory-ratio=50 shared"},
      {{{"koordinator.sh/gpu.shared", 3}, {"koordinator.sh/gpu-memory", 12}},
       "gpu x3 gpu-memory=4 shared"},
      {{{"koordinator.sh/gpu.shared", 1},
        {"huawei.com/npu-core", 4},
        {"huawei.com/npu-cpu", 2},
        {"huawei.com/npu-dvpp", 100},
        {"koordinator.sh/gpu-memory", 64}},
       "gpu x1 gpu-memory=64 npu-core=4 npu-cpu=2 npu-dvpp=100 shared"},
      {{{"koordinator.sh/rdma", 100}, {"nvidia.com/gpu", 1}},
       "gpu x1 gpu-core=100 gpu-memory-ratio=100; rdma x1 rdma=100"},
      {{{"koordinator.sh/rdma", 300}}, "rdma x3 rdma=100"},
      {{{"koordinator.sh/fpga", 25}}, "fpga x1 fpga=25"},
  };
  for (const Case& one : cases) EXPECT_EQ(parsed(one.ask), one.expected);
}

TEST(DeviceRequest, IllegalCombinationsSayWhich) {
  const Case cases[] = {
      {{{"koordinator.sh/gpu", 101}}, "invalid resource unit koordinator.sh/gpu: 101"},
      {{{"koordinator.sh/fpga", 101}}, "invalid resource unit koordinator.sh/fpga: 101"},
      {{{"koordinator.sh/rdma", 101}}, "invalid resource unit koordinator.sh/rdma: 101"},
      {{{"koordinator.sh/rdma", 1001}}, "invalid resource unit koordinator.sh/rdma: 1001"},
      {{{"koordinator.sh/gpu-core", 100}},
       "invalid resource device requests: [koordinator.sh/gpu-core]"},
      {{{"koordinator.sh/gpu-memory-ratio", 101}},
       "invalid resource device requests: [koordinator.sh/gpu-memory-ratio]"},
      {{{"huawei.com/npu-core", 1}}, "invalid resource device requests: [huawei.com/npu-core]"},
      {{{"nvidia.com/gpu", 1}, {"koordinator.sh/gpu", 100}},
       "invalid resource device requests: [koordinator.sh/gpu nvidia.com/gpu]"},
      {{{"koordinator.sh/gpu-memory", 1}, {"koordinator.sh/gpu-memory-ratio", 50}},
       "invalid resource device requests: [koordinator.sh/gpu-memory "
       "koordinator.sh/gpu-memory-ratio]"},
      {{{"koordinator.sh/gpu.shared", 2}, {"koordinator.sh/gpu-memory-ratio", 99}},
       "invalid resource device requests: [koordinator.sh/gpu-memory-ratio "
       "koordinator.sh/gpu.shared]"},
      {{{"koordinator.sh/gpu.shared", 2}, {"koordinator.sh/gpu-memory-ratio", 400}},
       "invalid resource device requests: [koordinator.sh/gpu-memory-ratio "
       "koordinator.sh/gpu.shared]"},
  };
  for (const Case& one : cases)
    EXPECT_THAT(parsed(one.ask), testing::StartsWith(std::string(one.expected) + ": "));
}

TEST(DeviceRequest, IllegalCombinationsSayWhatIsLegal) {
  const Case cases[] = {
      {{{"koordinator.sh/rdma", 1001}},
       "invalid resource unit koordinator.sh/rdma: 1001: must be at most 100, or a multiple of "
       "100"},
      {{{"koordinator.sh/gpu-core", 100}},
       "invalid resource device requests: [koordinator.sh/gpu-core]: legal is "
       "koordinator.sh/gpu-core with koordinator.sh/gpu-memory, or "
       "koordinator.sh/gpu-core with koordinator.sh/gpu-memory-ratio, or "
       "koordinator.sh/gpu-core with koordinator.sh/gpu-memory with koordinator.sh/gpu.shared, or "
       "koordinator.sh/gpu-core with koordinator.sh/gpu-memory-ratio with "
       "koordinator.sh/gpu.shared"},
      {{{"nvidia.com/gpu", 1}, {"koordinator.sh/gpu", 100}},
       "invalid resource device requests: [koordinator.sh/gpu nvidia.com/gpu]: legal is "
       "nvidia.com/gpu, or koordinator.sh/gpu"},
      {{{"koordinator.sh/gpu-memory-ratio", 101}},
       "invalid resource device requests: [koordinator.sh/gpu-memory-ratio]: "
       "koordinator.sh/gpu-memory-ratio is 101, must be at most 100, or a multiple of 100"},
      {{{"koordinator.sh/gpu.shared", 2}, {"koordinator.sh/gpu-memory-ratio", 99}},
       "invalid resource device requests: [koordinator.sh/gpu-memory-ratio "
       "koordinator.sh/gpu.shared]: koordinator.sh/gpu-memory-ratio is 99, must be a multiple of "
       "koordinator.sh/gpu.shared (2), and at most 100 for each"},
  };
  for (const Case& one : cases) EXPECT_EQ(parsed(one.ask), one.expected);
}

// Koordinator's tests of its own functions say that nothing is not valid, and that two
// nvidia.com/gpu are nothing when they are said to be another combination. No pod comes to either:
// one that asks for nothing is not looked at, and what is asked for says which combination it is.
TEST(DeviceRequest, NothingIsAskedForByWhoAsksForNothing) {
  EXPECT_EQ(parsed({}), "");
  EXPECT_EQ(parsed({{"nvidia.com/gpu", 0}}), "");
  EXPECT_EQ(parsed({{"nvidia.com/gpu", 2}}), "gpu x2 gpu-core=100 gpu-memory-ratio=100");
}

TEST(DeviceRequest, NoDeviceIsAskedForNothing) {
  EXPECT_EQ(parsed({{"koordinator.sh/gpu.shared", 2}, {"koordinator.sh/gpu-memory", 1}}),
            "invalid resource device requests: [koordinator.sh/gpu-memory "
            "koordinator.sh/gpu.shared]: less than one koordinator.sh/gpu-memory for each of 2 "
            "devices");
  EXPECT_EQ(parsed({{"koordinator.sh/gpu.shared", 2}, {"koordinator.sh/gpu-memory", 2}}),
            "gpu x2 gpu-memory=1 shared");
  EXPECT_EQ(parsed({{"koordinator.sh/gpu-memory-ratio", 300}, {"koordinator.sh/gpu-core", 2}}),
            "invalid resource device requests: [koordinator.sh/gpu-core "
            "koordinator.sh/gpu-memory-ratio]: less than one koordinator.sh/gpu-core for each of 3 "
            "devices");
  // Whoever placed it all the same may use whole ones.
  const Ask ask = {{"koordinator.sh/gpu.shared", 2}, {"koordinator.sh/gpu-memory", 1}};
  const AskedOfType asked = asked_by_type(test::types(), quantities(ask))[0];
  EXPECT_EQ(asked.count, 2);
  EXPECT_FALSE(asked.request.has_value());
}

TEST(DeviceRequest, DeprecatedNamesMeanTheCurrentOnes) {
  EXPECT_EQ(parsed({{"kubernetes.io/gpu", 50}}), parsed({{"koordinator.sh/gpu", 50}}));
  EXPECT_EQ(parsed({{"kubernetes.io/rdma", 100}}), parsed({{"koordinator.sh/rdma", 100}}));
  EXPECT_EQ(parsed({{"kubernetes.io/gpu", 50}, {"koordinator.sh/gpu", 25}}),
            parsed({{"koordinator.sh/gpu", 25}}));
  EXPECT_EQ(parsed({{"kubernetes.io/batch", 50}}), "");
}

TEST(DeviceRequest, HugeValuesDoNotWrap) {
  const auto request =
      parse_device_request(test::types(), quantities({{"nvidia.com/gpu", INT64_MAX}}));
  ASSERT_TRUE(request.has_value());
  EXPECT_GT(request->types[0].count, 0);
  EXPECT_GE(request->types[0].total.get(0), 0);
}

TEST(DeviceRequest, BytesAreTheTruth) {
  const int64_t total = int64_t{64} << 30;
  EXPECT_EQ(ratio_to_bytes(50, total), int64_t{32} << 30);
  EXPECT_EQ(bytes_to_ratio(int64_t{32} << 30, total), 50);
  // Eight pods of 1.7Gi on the card of the proposal leave no room for twelve percent more.
  const int64_t card = int64_t{15472384} << 10;
  const int64_t pod = 1825361101;
  EXPECT_EQ(bytes_to_ratio(pod, card), 12);
  EXPECT_GE(8 * bytes_to_ratio(pod, card) + 12, 100);
  EXPECT_EQ(bytes_to_ratio(1, card), 1) << "a share is never free";
  for (int64_t ratio = 1; ratio <= 100; ++ratio)
    EXPECT_LE(bytes_to_ratio(ratio_to_bytes(ratio, card), card), ratio);
}

TEST(DeviceRequest, CountsWholeDevicesOfStrangers) {
  const auto counts = [](const Ask& ask) {
    std::array<int64_t, kMaxTypes> found{};
    const auto asked = asked_by_type(test::types(), quantities(ask));
    for (size_t t = 0; t < found.size(); ++t) found[t] = asked[t].count;
    return found;
  };
  EXPECT_EQ(counts({{"nvidia.com/gpu", 4}})[0], 4);
  EXPECT_EQ(counts({{"koordinator.sh/gpu", 50}})[0], 1);
  EXPECT_EQ(counts({{"nvidia.com/gpu", 2}, {"koordinator.sh/gpu", 300}})[0], 3);
  EXPECT_EQ(counts({{"cpu", 4000}})[0], 0);
}

TEST(QuantityText, RoundTrips) {
  EXPECT_EQ(parse_quantity("1500m"), 2);
  EXPECT_EQ(parse_quantity("1.5Gi"), int64_t{3} << 29);
  EXPECT_EQ(parse_quantity("15472384Ki"), int64_t{15472384} << 10);
  EXPECT_FALSE(parse_quantity("ten"));
  EXPECT_FALSE(parse_quantity(""));
  EXPECT_EQ(decimal_text(15000), "15k");
  EXPECT_EQ(decimal_text(0), "0");
  EXPECT_EQ(binary_text(int64_t{16} << 30), "16Gi");
  EXPECT_EQ(binary_text(3435973836), "3435973836");
}

}  // namespace
}  // namespace plimsoll::devices
