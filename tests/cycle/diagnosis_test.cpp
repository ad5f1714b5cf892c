#include "framework/cycle/diagnosis.hpp"

#include <gtest/gtest.h>

#include "framework/cycle/go_duration.hpp"

namespace plimsoll {
namespace {

TEST(FitErrorMessage, CountsAndSortsReasonsAsTexts) {
  ReasonTable reasons;
  const std::string_view both[] = {"Insufficient cpu", "Insufficient memory"};
  Diagnosis diagnosis;
  diagnosis.node_count = 12;
  diagnosis.nodes_by_reason[reasons.intern(both)] = 2;
  diagnosis.nodes_by_reason[reasons.intern("Insufficient cpu")] = 8;
  diagnosis.nodes_by_reason[reasons.intern("node(s) were unschedulable")] = 2;
  EXPECT_EQ(fit_error_message(diagnosis, reasons),
            "0/12 nodes are available: 10 Insufficient cpu, 2 Insufficient memory, 2 node(s) were "
            "unschedulable.");
}

TEST(FitErrorMessage, PreFilterSpeaksForAllNodes) {
  ReasonTable reasons;
  Diagnosis diagnosis;
  diagnosis.node_count = 3;
  diagnosis.pre_filter_message = "pod has no seat";
  diagnosis.post_filter_message = "preemption: not eligible due to preemptionPolicy=Never.";
  EXPECT_EQ(fit_error_message(diagnosis, reasons),
            "0/3 nodes are available: pod has no seat. preemption: not eligible due to "
            "preemptionPolicy=Never.");
}

TEST(FitErrorMessage, NoReasonAtAll) {
  ReasonTable reasons;
  Diagnosis diagnosis;
  diagnosis.node_count = 1;
  EXPECT_EQ(fit_error_message(diagnosis, reasons), "0/1 nodes are available:");
}

TEST(GoDuration, PrintsAsGoDoes) {
  EXPECT_EQ(go_duration(0), "0s");
  EXPECT_EQ(go_duration(350), "350ms");
  EXPECT_EQ(go_duration(1500), "1.5s");
  EXPECT_EQ(go_duration(60'000), "1m0s");
  EXPECT_EQ(go_duration(900'000), "15m0s");
  EXPECT_EQ(go_duration(3'600'050), "1h0m0.05s");
  EXPECT_EQ(go_duration(-1000), "-1s");
}

}  // namespace
}  // namespace plimsoll
