#include <gtest/gtest.h>

#include <plimsoll/resource_names.hpp>

#include <limits>

namespace plimsoll::sdk {
namespace {

TEST(Peak, AnInitContainerRunsBesideTheSidecarsBeforeIt) {
  Peak<AmountSum> peak;
  peak.add(PLIMSOLL_CONTAINER_INIT, int64_t{6});
  peak.add(PLIMSOLL_CONTAINER_SIDECAR, int64_t{2});
  peak.add(PLIMSOLL_CONTAINER_INIT, int64_t{5});
  peak.add(PLIMSOLL_CONTAINER_SIDECAR, int64_t{1});
  peak.add(PLIMSOLL_CONTAINER_APP, int64_t{1});
  EXPECT_EQ(peak.take().value, 7) << "5 beside 2";
}

TEST(Peak, ContainersAndAllSidecarsRunTogether) {
  Peak<AmountSum> peak;
  peak.add(PLIMSOLL_CONTAINER_INIT, int64_t{5});
  peak.add(PLIMSOLL_CONTAINER_SIDECAR, int64_t{2});
  peak.add(PLIMSOLL_CONTAINER_APP, int64_t{3});
  peak.add(PLIMSOLL_CONTAINER_APP, int64_t{1});
  EXPECT_EQ(peak.take().value, 6);
}

TEST(Peak, Saturates) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Peak<AmountSum> peak;
  peak.add(PLIMSOLL_CONTAINER_APP, kMost);
  peak.add(PLIMSOLL_CONTAINER_APP, int64_t{1});
  EXPECT_EQ(peak.take().value, kMost);
  EXPECT_EQ(saturating_sum(-kMost, -kMost), std::numeric_limits<int64_t>::min());
}

}  // namespace
}  // namespace plimsoll::sdk
