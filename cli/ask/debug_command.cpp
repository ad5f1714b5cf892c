#include <plimsoll/join.hpp>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/ask/asking.hpp"
#include "cli/ask/commands.hpp"
#include "cli/line/failure.hpp"
#include "cli/line/table.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kDifferent = 1;
constexpr int kFailed = 2;

int debug_failure(const std::string& message) {
  std::cerr << "plimsoll debug: " << message << "\n";
  return kFailed;
}

Result<ordered_json> answer_to(const informer::HttpRequest& question, const Ask& ask) {
  const auto result = ask(question);
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
  const auto state = answer_to(question("dump"), ask);
  if (!state) return debug_failure(state.error().message);
  std::cout << state->dump(2) << "\n";
  return 0;
}

int debug_compare(const DebugArguments& arguments, const Ask& ask) {
  const auto result = answer_to(
      question("compare", {{"settleSeconds", ordered_json(arguments.settle_s).dump()}}), ask);
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
  informer::HttpRequest request = question("flags/v");  // in Kubernetes' way
  request.body = level;
  if (!level.empty()) request.method = "PUT";
  const auto said = ask(request);
  if (!said) return debug_failure(said.error().message);
  std::cout << *said;
  return 0;
}

}  // namespace plimsoll::cli
