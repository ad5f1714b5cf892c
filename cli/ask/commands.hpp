#pragma once
// What the commands that ask a scheduler take. Each function returns the process's
// exit status. 0: success. 1: failure, with the reason on standard error.

#include <cstdint>
#include <functional>
#include <string>

#include "cli/ask/asking.hpp"

namespace plimsoll::cli {

struct ExplainArguments {
  std::string pod;              // NAMESPACE/NAME
  std::string nodes;            // number of nodes shown, or "all"; empty: depends on the output
  std::string output = "text";  // or json
};
// `ask`: a running scheduler, or what was made of files.
[[nodiscard]] int explain(const ExplainArguments& arguments, const Ask& ask);

struct ShowArguments {
  std::string limit;            // how many nodes or pods, or "all"; empty: 50
  std::string output = "text";  // or json
};
// What nodes, zones and devices have and how much of it is used, as the scheduler counts.
[[nodiscard]] int show_use(const ShowArguments& arguments, const Ask& ask);
// The pods that wait.
[[nodiscard]] int show_queue(const ShowArguments& arguments, const Ask& ask);

struct PageArguments {
  bool open = false;       // by the desktop's browser
  std::uint16_t port = 0;  // on 127.0.0.1; 0: any that is free
};
// Finds the way to a scheduler.
using Reach = std::function<Result<Ask>()>;
// Serves the page (docs/ui.md) to this user's browser, and hands on what it asks, until a signal
// ends it.
[[nodiscard]] int show_page(const PageArguments& arguments, const Reach& reach);
// Serves the page with this document (docs/ui.md, "The document"); nobody is asked.
[[nodiscard]] int show_saved_page(const PageArguments& arguments, const std::string& json);

struct DebugArguments {
  double settle_s = 5;  // how long a difference must last
  std::string output = "text";
};
// Exit status 2: failure.
[[nodiscard]] int debug_dump(const Ask& ask);
// Exit status 0: equal, 1: differences, 2: failure.
[[nodiscard]] int debug_compare(const DebugArguments& arguments, const Ask& ask);
// Prints the log level, or sets it: `level` is not empty.
[[nodiscard]] int debug_log_level(const std::string& level, const Ask& ask);

}  // namespace plimsoll::cli
