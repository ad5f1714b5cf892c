#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/ask/cluster_use.hpp"
#include "cli/ask/commands.hpp"
#include "cli/line/failure.hpp"

namespace plimsoll::cli {
namespace {

constexpr size_t kShown = 50;

size_t limit_of(const std::string& text) {
  if (text.empty()) return kShown;
  return text == "all" ? std::numeric_limits<size_t>::max() : std::stoul(text);
}

using Text = std::string (*)(std::string_view json, size_t most);

int show(const char* command, const ShowArguments& arguments, const Ask& ask, Text text) {
  const auto result = ask(question(command));
  if (!result) return failure(command, result.error().message);
  try {
    std::cout << (arguments.output == "json" ? nlohmann::ordered_json::parse(*result).dump(2) + "\n"
                                             : text(*result, limit_of(arguments.limit)));
  } catch (const nlohmann::json::exception&) {
    return failure(command, "the answer makes no sense");
  }
  return 0;
}

}  // namespace

int show_use(const ShowArguments& arguments, const Ask& ask) {
  return show("top", arguments, ask, &use_text);
}

int show_queue(const ShowArguments& arguments, const Ask& ask) {
  return show("queue", arguments, ask, &queue_text);
}

}  // namespace plimsoll::cli
