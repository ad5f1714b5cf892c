#pragma once
// The kinds of vector files. A further kind is one file here that defines its check, and one line
// in the table.

#include <span>
#include <string_view>

#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

struct Kind {
  std::string_view name;  // on the command line
  std::string_view view;  // --view; the first of a name is the default. Empty: there is only one
  std::string_view what;
  void (*check)(const Json& test_case, Findings& findings);
  // For kinds whose lines hold many cases that are judged one by one: the share that may be wrong.
  double tolerated = 0;
  // For kinds with a reference that is wrong under known rules: the share of decisions that may
  // differ from it on purpose.
  double different = 0;
};

[[nodiscard]] std::span<const Kind> kinds();

void check_quantity(const Json& test_case, Findings& findings);
void check_qos_requests(const Json& test_case, Findings& findings);
void check_selectors(const Json& test_case, Findings& findings);
void check_spread_affinity(const Json& test_case, Findings& findings);
void check_fit(const Json& test_case, Findings& findings);
void check_nrt_filter(const Json& test_case, Findings& findings);
void check_nrt_score(const Json& test_case, Findings& findings);
void check_queue(const Json& test_case, Findings& findings);
void check_preempt(const Json& test_case, Findings& findings);
void check_schedule(const Json& test_case, Findings& findings);
void check_merge(const Json& test_case, Findings& findings);
void check_distribute(const Json& test_case, Findings& findings);
void check_admit_exact(const Json& test_case, Findings& findings);
void check_admit_counts(const Json& test_case, Findings& findings);
void check_device(const Json& test_case, Findings& findings);
void check_volumes(const Json& test_case, Findings& findings);

}  // namespace plimsoll::conformance
