#pragma once
// Outcomes in forms for people and for programs.

#include <string>
#include <vector>

#include "bench/workloads/driver.hpp"
#include "bench/workloads/workload_file.hpp"

namespace plimsoll::bench {

struct Reported {
  Workload workload;
  Outcome outcome;
};

// The table's head; one row; a failure's lines. Markdown, each with its newline.
[[nodiscard]] std::string table_head();
[[nodiscard]] std::string table_row(const Reported& run);
// What the runs left out, and what the figures mean.
[[nodiscard]] std::string remarks(const std::vector<Reported>& runs);
[[nodiscard]] std::string as_json(const std::vector<Reported>& runs);

}  // namespace plimsoll::bench
