#include "node/machine/hwloc_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/sandbox/units.hpp"

namespace plimsoll::sandbox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fixture(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file) << name;
  return text.str();
}

std::vector<int> cpus_of(const node::Hardware& hardware, std::size_t zone) {
  std::vector<int> ids;
  for (const node::MachineCpu& cpu : hardware.cpus) {
    if (cpu.zone == zone) ids.push_back(cpu.id);
  }
  return ids;
}

const node::MachineCpu& cpu(const node::Hardware& hardware, int id) {
  for (const node::MachineCpu& c : hardware.cpus) {
    if (c.id == id) return c;
  }
  throw std::out_of_range("no such CPU");
}

// Ends the process: 0 if the machine was read without choosing a CPU to run on.
[[noreturn]] void read_without_affinity() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sched_setaffinity, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(rules), rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    std::_Exit(2);
  const auto machine = node::this_machine();
  std::_Exit(machine && !machine->cpus.empty() ? 0 : 1);
}

// plimsoll-node.service forbids it (SystemCallFilter=~@resources).
TEST(HwlocReader, MovesToNoOtherCpu) {
  EXPECT_EXIT(read_without_affinity(), testing::ExitedWithCode(0), "");
}

TEST(HwlocReader, ReadsAnExport) {
  const auto hardware =
      node::hardware_from_xml(fixture("examples/clusters/machines/two_sockets_four_zones.xml"));
  ASSERT_TRUE(hardware) << hardware.error().message;
  ASSERT_EQ(hardware->zones.size(), 4U);
  EXPECT_EQ(hardware->cpus.size(), 16U);
  EXPECT_THAT(cpus_of(*hardware, 0), ElementsAre(0, 1, 8, 9));
  EXPECT_THAT(cpus_of(*hardware, 3), ElementsAre(6, 7, 14, 15));
  EXPECT_EQ(cpu(*hardware, 9).core, 1);
  EXPECT_EQ(cpu(*hardware, 13).core, 5);
  EXPECT_EQ(cpu(*hardware, 3).socket, 0);
  EXPECT_EQ(cpu(*hardware, 12).socket, 1);
  EXPECT_EQ(cpu(*hardware, 10).uncore, cpu(*hardware, 10).socket) << "one L3 cache per zone";
  const node::MachineZone& last = hardware->zones[3];
  EXPECT_EQ(last.id, 3);
  EXPECT_EQ(last.memory, 16 * kGi);
  EXPECT_EQ(last.hugepages, (node::Amounts{{"hugepages-1Gi", kGi}}));
  EXPECT_EQ(hardware->zones[0].hugepages, (node::Amounts{{"hugepages-2Mi", kGi}}));
  EXPECT_THAT(last.distances, ElementsAre(32, 32, 12, 10));
}

TEST(HwlocReader, KeepsGapsAndMemoryWithoutCpus) {
  const auto hardware =
      node::hardware_from_xml(fixture("tests/sandbox/machines/gaps_and_memory_only.xml"));
  ASSERT_TRUE(hardware) << hardware.error().message;
  ASSERT_EQ(hardware->zones.size(), 3U);
  EXPECT_EQ(hardware->zones[0].id, 0);
  EXPECT_EQ(hardware->zones[1].id, 8);
  EXPECT_EQ(hardware->zones[2].id, 16);
  EXPECT_THAT(cpus_of(*hardware, 0), ElementsAre(0, 1));
  EXPECT_THAT(cpus_of(*hardware, 1), ElementsAre(2, 3));
  EXPECT_TRUE(cpus_of(*hardware, 2).empty());
  EXPECT_THAT(hardware->zones[0].distances, ElementsAre(10, 20, 20)) << "Linux' defaults";
  EXPECT_EQ(cpu(*hardware, 2).uncore, cpu(*hardware, 2).socket) << "no last-level cache";
}

TEST(HwlocReader, ReadsASyntheticDescription) {
  const auto hardware =
      node::hardware_from_synthetic("pack:2 [numa(memory=64GiB)] l3:2 core:4 pu:2");
  ASSERT_TRUE(hardware) << hardware.error().message;
  ASSERT_EQ(hardware->zones.size(), 2U);
  EXPECT_EQ(hardware->zones[1].memory, 64 * kGi);
  EXPECT_TRUE(hardware->zones[1].hugepages.empty());
  EXPECT_EQ(hardware->cpus.size(), 32U);
  EXPECT_EQ(cpu(*hardware, 17).core, 16);
  EXPECT_EQ(cpu(*hardware, 17).zone, 1U);
  EXPECT_EQ(cpu(*hardware, 31).uncore, 3);
}

// cadvisor's addCacheInfo: a cache with as many CPUs as the NUMA node is the node's;
// getUncoreCacheID of the kubelet then takes the socket.
TEST(HwlocReader, AnL3CacheOfAWholeZoneIsNoUncoreCache) {
  const auto uncores = [](const std::string& description) {
    const auto hardware = node::hardware_from_synthetic(description);
    EXPECT_TRUE(hardware) << hardware.error().message;
    std::vector<int> ids;
    for (const node::MachineCpu& each : hardware->cpus) ids.push_back(each.uncore);
    return ids;
  };
  EXPECT_THAT(uncores("pack:2 numa:2 l3:1 core:1 pu:2"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(uncores("pack:2 numa:2 l3:2 core:1 pu:1"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(uncores("pack:2 l3:1 numa:2 core:1 pu:2"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(uncores("pack:1 l3:2 numa:2 core:1 pu:1"), ElementsAre(0, 0, 1, 1))
      << "a cache of two zones is one";
}

TEST(HwlocReader, ReadsTheIssuesForm) {
  const auto hardware = node::hardware_from_synthetic("pack:2 numa:2 core:8 pu:2");
  ASSERT_TRUE(hardware) << hardware.error().message;
  EXPECT_EQ(hardware->zones.size(), 4U);
  EXPECT_EQ(hardware->cpus.size(), 64U);
}

TEST(HwlocReader, SaysWhatToDo) {
  for (const std::string text : {"", "<topology", "pack:2", "<html></html>"}) {
    const auto hardware = node::hardware_from_xml(text);
    ASSERT_FALSE(hardware) << text;
    EXPECT_THAT(hardware.error().message, HasSubstr("lstopo --of xml"));
  }
  for (const std::string text : {"", "pack:", "core:4 pack:2", "nonsense"}) {
    const auto hardware = node::hardware_from_synthetic(text);
    ASSERT_FALSE(hardware) << text;
    EXPECT_THAT(hardware.error().message, HasSubstr("pack:2 numa:2 core:8 pu:2"));
  }
  EXPECT_THAT(node::hardware_from_synthetic("pack:2 core:1100 pu:1").error().message,
              HasSubstr("CPU ids go from 0 to 2047"));
  EXPECT_THAT(node::hardware_from_synthetic("pack:65 [numa] core:1 pu:1").error().message,
              HasSubstr("NUMA node ids go from 0 to 63"));
}

}  // namespace
}  // namespace plimsoll::sandbox
