#include "cli/served_questions.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/asking.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;
using serving::Request;
using serving::Response;

constexpr std::string_view kPrefix = "/debug/";

bool is_question(const Request& request) {
  return std::ranges::find(question_paths(), request.path) != question_paths().end();
}

// The whole text, as a number.
template <typename Number>
bool read_number(const std::string& text, Number& into) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), into);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// Inspection's question; empty with `problem`: it makes no sense.
std::string question_of(const Request& request, std::string& problem) {
  json question{{"command", request.path.substr(kPrefix.size())}};
  if (request.path == "/debug/compare") {
    for (const std::string& text : request.parameters("settleSeconds")) {
      double seconds = 0;
      if (!read_number(text, seconds)) problem = "settleSeconds must be a number";
      question["settleSeconds"] = seconds;
    }
  }
  if (request.path != "/debug/explain") return question.dump();
  const std::vector<std::string> pods = request.parameters("pod");
  if (pods.size() != 1) {
    problem = "which pod? ?pod=NAMESPACE/NAME";
    return {};
  }
  question["pod"] = pods.front();
  for (const char* name : {"nodes", "texts"}) {
    for (const std::string& text : request.parameters(name)) {
      std::uint64_t number = 0;
      if (!read_number(text, number)) {
        problem = std::string(name) + " must be a whole number";
        return {};
      }
      question[name] = number;
    }
  }
  return question.dump(-1, ' ', false, json::error_handler_t::replace);
}

Response answer_of(const std::string& line) {
  auto result = result_of(line);
  if (!result) return {404, result.error().message + "\n"};
  return {200, std::move(*result), "application/json"};
}

}  // namespace

const std::vector<std::string>& question_paths() {
  static const std::vector<std::string> kPaths{"/debug/compare", "/debug/dump", "/debug/explain",
                                               "/debug/queue", "/debug/top"};
  return kPaths;
}

serving::Gate answer_questions(serving::Gate check, Inspection& inspection) {
  return [check = std::move(check), &inspection](const Request& request, serving::Verdict done) {
    if (!is_question(request)) return check(request, std::move(done));
    std::string problem;
    std::string question = question_of(request, problem);
    std::optional<Response> wrong;
    if (!problem.empty()) wrong = {400, problem + "\n"};
    if (request.method != "GET") wrong = {405, "only GET\n"};
    check(request, [&inspection, wrong = std::move(wrong), question = std::move(question),
                    done = std::move(done)](std::function<Response()> refusal) {
      if (refusal) return done(std::move(refusal));
      if (wrong) return done(serving::ready(*wrong));
      inspection.ask(question, [done](const std::function<std::string()>& line) {
        done([line] { return answer_of(line()); });
      });
    });
  };
}

}  // namespace plimsoll::cli
