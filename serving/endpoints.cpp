#include "serving/endpoints.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "framework/base/log.hpp"

namespace plimsoll::serving {
namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 4> kLevels{
    {{"debug", LogLevel::kDebug},
     {"info", LogLevel::kInfo},
     {"warn", LogLevel::kWarn},
     {"error", LogLevel::kError}}};
constexpr int kDebugVerbosity = 4;  // klog: messages from this verbosity on are for debugging only

std::string level_name(LogLevel level) {
  for (const auto& [name, known] : kLevels) {
    if (known == level) return std::string(name);
  }
  return level == LogLevel::kTrace ? "debug" : "error";
}

std::optional<LogLevel> parse_level(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  for (const auto& [name, level] : kLevels) {
    if (name == text) return level;
  }
  int verbosity = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), verbosity);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || verbosity < 0) {
    return std::nullopt;
  }
  return verbosity >= kDebugVerbosity ? LogLevel::kDebug : LogLevel::kInfo;
}

Response log_level_answer(const Request& request) {
  if (request.method == "GET") return {200, level_name(log_level()) + "\n"};
  if (request.method != "PUT") return {405, "GET or PUT\n"};
  const auto level = parse_level(request.body);
  if (!level) {
    return {400,
            "the body must be debug, info, warn or error, or a verbosity as klog has them "
            "(0 to 3: info, 4 and more: debug)\n"};
  }
  const std::string before = level_name(log_level());
  set_log_level(*level);
  log_info("the log level was changed", {{"from", before}, {"to", level_name(*level)}});
  return {200, "successfully set the log level to " + level_name(*level) + "\n"};
}

class Handlers {
 public:
  explicit Handlers(Endpoints endpoints) : endpoints_(std::move(endpoints)) {
    const auto group = [this](const char* name, std::vector<HealthCheck> checks) {
      checks.insert(checks.begin(), ping());
      health_.emplace_back(name, std::move(checks));
      paths_.push_back(std::string("/") + name);
    };
    if (!endpoints_.configz.empty()) paths_.emplace_back("/configz");
    for (const std::string& path : endpoints_.question_paths) paths_.push_back(path);
    if (endpoints_.change_level) paths_.emplace_back("/debug/flags/v");
    group("healthz", endpoints_.healthz);
    group("livez", endpoints_.livez);
    if (endpoints_.registry != nullptr) paths_.emplace_back("/metrics");
    group("readyz", endpoints_.readyz);
  }

  void operator()(const Request& request, const Reply& reply) const {
    if (is_one_of(endpoints_.question_paths, request)) return endpoints_.questions(request, reply);
    reply(ready(answer(request)));
  }

 private:
  static bool is_one_of(const std::vector<std::string>& paths, const Request& request) {
    return std::ranges::find(paths, request.path) != paths.end();
  }

  [[nodiscard]] Response answer(const Request& request) const {
    for (const HealthEndpoint& group : health_) {
      if (auto answer = group.answer(request)) return std::move(*answer);
    }
    if (request.path == "/debug/flags/v" && endpoints_.change_level) {
      return log_level_answer(request);
    }
    if (!is_one_of(paths_, request) && request.path != "/") return {404, "404 page not found\n"};
    if (request.method != "GET") return {405, "only GET\n"};
    if (request.path == "/metrics") {
      return {200, endpoints_.registry->text(), "text/plain; version=0.0.4; charset=utf-8"};
    }
    if (request.path == "/configz") return {200, endpoints_.configz, "application/json"};
    std::string list;
    for (const std::string& path : paths_) list += path + "\n";
    return {200, list};
  }

  Endpoints endpoints_;
  std::vector<HealthEndpoint> health_;
  std::vector<std::string> paths_;
};

}  // namespace

LateHandler make_handler(Endpoints endpoints) {
  return [handlers = std::make_shared<Handlers>(std::move(endpoints))](
             const Request& request, const Reply& reply) { (*handlers)(request, reply); };
}

}  // namespace plimsoll::serving
