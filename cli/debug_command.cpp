#include <plimsoll/join.hpp>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/asking.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kDifferent = 1;
constexpr int kFailed = 2;
constexpr std::chrono::minutes kForTheLists{15};

int debug_failure(const std::string& message) {
  std::cerr << "plimsoll debug: " << message << "\n";
  return kFailed;
}

Result<ordered_json> ask(const std::string& socket, const ordered_json& question) {
  const auto result = ask_on_socket(socket, kForTheLists)(question.dump());
  if (!result) return fail(result.error());
  return ordered_json::parse(*result);
}

std::string compared_text(const ordered_json& compared) {
  return sdk::join(compared.items(), ", ",
                   [](const auto& item) { return item.value().dump() + " " + item.key(); });
}

}  // namespace

int debug_dump(const DebugArguments& arguments) {
  const auto state = ask(arguments.socket, {{"command", "dump"}});
  if (!state) return debug_failure(state.error().message);
  std::cout << state->dump(2) << "\n";
  return 0;
}

int debug_compare(const DebugArguments& arguments) {
  const auto result =
      ask(arguments.socket, {{"command", "compare"}, {"settleSeconds", arguments.settle_s}});
  if (!result) return debug_failure(result.error().message);
  const bool equal = (*result)["equal"].get<bool>();
  if (arguments.output == "json") {
    std::cout << result->dump(2) << "\n";
    return equal ? 0 : kDifferent;
  }
  if (equal) {
    std::cout << "equal: " << compared_text((*result)["compared"]) << "\n";
    return 0;
  }
  Table table({"PROBLEM", "KIND", "OBJECT", "UID", "SCHEDULER", "API SERVER"});
  const auto shown = [](const ordered_json& text) {
    return text.get<std::string>().empty() ? "-" : text.get<std::string>();
  };
  for (const ordered_json& difference : (*result)["differences"]) {
    table.add({shown(difference["problem"]), shown(difference["kind"]), shown(difference["object"]),
               shown(difference["uid"]), shown(difference["scheduler"]), shown(difference["api"])});
  }
  const size_t count = (*result)["differences"].size();
  std::cout << table.text() << count << (count == 1 ? " difference in " : " differences in ")
            << compared_text((*result)["compared"]) << "\n";
  return kDifferent;
}

}  // namespace plimsoll::cli
