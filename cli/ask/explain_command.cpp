#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/ask/commands.hpp"
#include "cli/ask/explain_text.hpp"
#include "cli/line/failure.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kAll = std::numeric_limits<size_t>::max();
constexpr size_t kNodesShown = 10;
constexpr const char* kTextsShown = "3";

// How many nodes are shown.
Result<size_t> nodes_of(const ExplainArguments& arguments) {
  const std::string& given = arguments.nodes;
  if (given == "all" || (given.empty() && arguments.output == "json")) return kAll;
  if (given.empty()) return kNodesShown;
  if (given.size() > 9 || given.find_first_not_of("0123456789") != std::string::npos) {
    return fail(ErrorCode::kInvalid, "--nodes wants a number or \"all\", not \"" + given + "\"");
  }
  return std::stoul(given);
}

}  // namespace

int explain(const ExplainArguments& arguments, const Ask& ask) {
  const auto nodes = nodes_of(arguments);
  if (!nodes) return failure("explain", nodes.error().message);
  std::vector<Parameter> parameters{{"pod", arguments.pod}};
  if (*nodes != kAll)
    parameters.insert(parameters.end(),
                      {{"nodes", std::to_string(*nodes)}, {"texts", kTextsShown}});
  const auto answer = ask(question("explain", parameters));
  if (!answer) return failure("explain", answer.error().message);
  const ordered_json result = ordered_json::parse(*answer, nullptr, false);
  if (!result.is_object()) return failure("explain", "the answer makes no sense");
  if (arguments.output == "json") {
    std::cout << result.dump(2) << "\n";
  } else {
    std::cout << explain_text(result.dump(), *nodes);
  }
  return 0;
}

}  // namespace plimsoll::cli
