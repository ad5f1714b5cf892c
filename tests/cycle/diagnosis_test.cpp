#include "framework/placement/diagnosis.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

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

// TestFitError_Error of pkg/scheduler/framework/types_test.go.
TEST(FitErrorMessage, Table) {
  struct Row {
    const char* name;
    size_t nodes;
    const char* pre_filter;
    std::vector<std::pair<const char*, size_t>> reasons;  // and on how many nodes
    const char* post_filter;
    const char* message;
  };
  const Row rows[] = {
      {"PreFilter",
       3,
       "Node(s) failed PreFilter plugin FalsePreFilter",
       {},
       "",
       "0/3 nodes are available: Node(s) failed PreFilter plugin FalsePreFilter."},
      {"PreFilter, and preemption did not help",
       3,
       "Node(s) failed PreFilter plugin FalsePreFilter",
       {},
       "Error running PostFilter plugin FailedPostFilter",
       "0/3 nodes are available: Node(s) failed PreFilter plugin FalsePreFilter. Error running "
       "PostFilter plugin FailedPostFilter"},
      {"PreFilter hides what nodes say",
       3,
       "none of them",
       {{"node(s) said something too", 3}},
       "",
       "0/3 nodes are available: none of them."},
      {"one Filter plugin",
       3,
       "",
       {{"Node(s) failed Filter plugin FalseFilter-1", 3}},
       "",
       "0/3 nodes are available: 3 Node(s) failed Filter plugin FalseFilter-1."},
      {"one Filter plugin, and preemption did not help",
       3,
       "",
       {{"Node(s) failed Filter plugin FalseFilter-1", 3}},
       "Error running PostFilter plugin FailedPostFilter",
       "0/3 nodes are available: 3 Node(s) failed Filter plugin FalseFilter-1. Error running "
       "PostFilter plugin FailedPostFilter"},
      {"two Filter plugins",
       3,
       "",
       {{"Node(s) failed Filter plugin FalseFilter-1", 2},
        {"Node(s) failed Filter plugin FalseFilter-2", 1}},
       "",
       "0/3 nodes are available: 1 Node(s) failed Filter plugin FalseFilter-2, 2 Node(s) failed "
       "Filter plugin FalseFilter-1."},
      {"two Filter plugins, and preemption did not help",
       3,
       "",
       {{"Node(s) failed Filter plugin FalseFilter-1", 2},
        {"Node(s) failed Filter plugin FalseFilter-2", 1}},
       "Error running PostFilter plugin FailedPostFilter",
       "0/3 nodes are available: 1 Node(s) failed Filter plugin FalseFilter-2, 2 Node(s) failed "
       "Filter plugin FalseFilter-1. Error running PostFilter plugin FailedPostFilter"},
      {"Permit",
       1,
       "",
       {{"Node failed Permit plugin Permit-1", 1}},
       "",
       "0/1 nodes are available: 1 Node failed Permit plugin Permit-1."},
      {"nodes that PreFilter left out count as one more reason",
       100,
       "",
       {{"Insufficient cpu", 9}, {"node(s) didn't satisfy plugin(s) [A B]", 91}},
       "",
       "0/100 nodes are available: 9 Insufficient cpu, 91 node(s) didn't satisfy plugin(s) [A B]."},
      {"sorted as texts, not as numbers",
       30,
       "",
       {{"node(s) had untolerated taint(s)", 9}, {"Insufficient cpu", 21}},
       "",
       "0/30 nodes are available: 21 Insufficient cpu, 9 node(s) had untolerated taint(s)."},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    ReasonTable reasons;
    Diagnosis diagnosis;
    diagnosis.node_count = row.nodes;
    diagnosis.pre_filter_message = row.pre_filter;
    diagnosis.post_filter_message = row.post_filter;
    for (const auto& [reason, nodes] : row.reasons) {
      diagnosis.nodes_by_reason[reasons.intern(reason)] = nodes;
    }
    EXPECT_EQ(fit_error_message(diagnosis, reasons), row.message);
  }
}

TEST(FitErrorMessage, NoReasonAtAll) {
  ReasonTable reasons;
  Diagnosis diagnosis;
  diagnosis.node_count = 1;
  EXPECT_EQ(fit_error_message(diagnosis, reasons), "0/1 nodes are available:");
}

}  // namespace
}  // namespace plimsoll
