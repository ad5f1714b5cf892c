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
              HasSubstr("more than 2048 CPUs"));
  EXPECT_THAT(node::hardware_from_synthetic("pack:65 [numa] core:1 pu:1").error().message,
              HasSubstr("NUMA node ids go from 0 to 63"));
}

std::string why_not(const std::string& synthetic) {
  const auto machine = node::hardware_from_synthetic(synthetic);
  return machine ? "" : machine.error().message;
}

// hwloc would make each object of them.
TEST(HwlocReader, RefusesMachinesThatAreTooLargeBeforeTheyAreMade) {
  for (const char* good :
       {"pack:32 [numa] core:32 pu:2", "pack:0x10 pu:4", "4 2 2", "(memory=1GB) numa:2 pu:8",
        "numa:2(memory=1GB indexes=1,0) core:4 pu:2(indexes=8*2:2*8)",
        "pack:2 [numa(memory=16GiB)] [numa(memory=1GiB)]\nl3:2(size=1MB) core:2 pu:1"}) {
    EXPECT_EQ(why_not(good), "") << good;
  }
  for (const char* large :
       {"core:1000000 pu:1", "pack:1000 core:1000 pu:1", "pu:18446744073709551617", "1000000",
        "pack:65536 core:65536 l2:65536 pu:65536", "pack:0x100000 pu:1", "pack:2core:1000000 pu:1",
        "pack:1025 pu:2", "pack:-1 pu:1"}) {
    EXPECT_THAT(why_not(large), testing::AnyOf(HasSubstr("more than 2048 CPUs"),
                                               HasSubstr("not a synthetic description")))
        << large;
  }
  std::string zones = "pack:1024 ";
  for (int i = 0; i < 1000; ++i) zones += "[numa]";
  EXPECT_THAT(why_not(zones + " pu:2"), HasSubstr("more than 65536 objects"));
  EXPECT_THAT(why_not("pack(x:1000000):1 pu:1"), HasSubstr("not a synthetic description"));
  EXPECT_THAT(why_not(std::string(70'000, ' ') + "pu:1"), HasSubstr("longer than 65536 bytes"));
}

// An export of one CPU with more in it.
std::string exported(const std::string& more, const std::string& cpu = "0",
                     const std::string& after = "") {
  const std::string sets =
      R"( cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1")";
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
<object type="Machine" os_index="0")" +
         sets +
         R"( allowed_cpuset="0x1" allowed_nodeset="0x1"><object type="NUMANode" os_index="0")" +
         sets + R"( local_memory="1000"/><object type="PU" os_index=")" + cpu + "\"" + sets + "/>" +
         more + "</object>\n" + after + "</topology>\n";
}

std::string repeated(int times, const std::string& text) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(HwlocReader, RefusesExportsThatWouldTakeAllMemoryOrTheStack) {
  const auto why = [](const std::string& xml) {
    const auto machine = node::hardware_from_xml(xml);
    return machine ? "" : machine.error().message;
  };
  const std::string misc = R"(<object type="Misc" name="x">)";
  const auto nested = [&](int deep) { return repeated(deep, misc) + repeated(deep, "</object>"); };
  EXPECT_EQ(why(exported("")), "");
  EXPECT_EQ(why(exported(nested(100))), "");
  EXPECT_EQ(why(exported(R"(<object type="Misc" name="one's own"/>)")), "");
  EXPECT_THAT(why(exported(nested(1'000'000))), HasSubstr("16 MiB"));
  EXPECT_THAT(why(exported(nested(100'000))), HasSubstr("more than 128 levels deep"));
  EXPECT_THAT(why(exported(repeated(100'000, R"(<object type="Misc" name="x"/>)"))),
              HasSubstr("more than 65536 objects"));
  EXPECT_THAT(why(exported("", "4294967290")), HasSubstr("CPU ids go from 0 to 2047"));
  EXPECT_THAT(why(exported("", " 2048")), HasSubstr("CPU ids go from 0 to 2047"));
  EXPECT_THAT(why(exported(R"(<object os_index="4294967290" type="nUmaNode"/>)")),
              HasSubstr("NUMA node ids go from 0 to 63"));
  EXPECT_THAT(why(exported("", "0", R"(<distances2 type="PU" nbobjs="65537" kind="5"/>)")),
              HasSubstr("distances of more than 4096 objects"));
  // What hwloc's XML library would decode, and this reader does not.
  EXPECT_THAT(why("+ADw-topology+AD4-"), HasSubstr("not an XML export of hwloc"));
  EXPECT_THAT(why(std::string("<\0t\0", 4)), HasSubstr("not an XML export of hwloc"));
  EXPECT_THAT(why(R"(<?xml version="1.0" encoding="UTF-7"?>)" + exported("")),
              HasSubstr("not in UTF-8"));
  EXPECT_THAT(why(exported(R"(<object type="&#80;U" os_index="4294967290"/>)")),
              HasSubstr("not an XML export of hwloc"));
  // What one reader of XML sees as text and another as objects.
  for (const std::string& hides :
       {R"(<object type="Misc" name=">)" + nested(1000) + "\"/>",
        R"(<object type="Misc" name='>)" + nested(1000) + "'/>",
        "<!-- " + repeated(1000, "</object>") + "-->", std::string("<![CDATA[ </object> ]]>")}) {
    EXPECT_THAT(why(exported(hides)), HasSubstr("not an XML export of hwloc"));
  }
}

}  // namespace
}  // namespace plimsoll::sandbox
