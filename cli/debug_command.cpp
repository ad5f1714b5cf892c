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

int debug_failure(const std::string& message) {
  std::cerr << "plimsoll debug: " << message << "\n";
  return kFailed;
}

Result<ordered_json> answer_to(const ordered_json& question, const Ask& ask) {
  const auto result = ask(question.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  if (!result) return fail(result.error());
  ordered_json answer = ordered_json::parse(*result, nullptr, false);
  if (answer.is_discarded()) return fail(ErrorCode::kInvalid, "the answer makes no sense");
  return answer;
}

std::string compared_text(const ordered_json& compared) {
  return sdk::join(compared.items(), ", ",
                   [](const auto& item) { return item.value().dump() + " " + item.key(); });
}

}  // namespace

int debug_dump(const Ask& ask) {
  const auto state = answer_to({{"command", "dump"}}, ask);
  if (!state) return debug_failure(state.error().message);
  std::cout << state->dump(2) << "\n";
  return 0;
}

int debug_compare(const DebugArguments& arguments, const Ask& ask) {
  const auto result =
      answer_to({{"command", "compare"}, {"settleSeconds", arguments.settle_s}}, ask);
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

int debug_log_level(const std::string& level, const Ask& ask) {
  ordered_json question{{"command", "log-level"}};
  if (!level.empty()) question["level"] = level;
  const auto said = answer_to(question, ask);
  if (!said) return debug_failure(said.error().message);
  if (!said->is_string()) return debug_failure("the answer makes no sense");
  std::cout << said->get<std::string>() << "\n";
  return 0;
}

}  // namespace plimsoll::cli
