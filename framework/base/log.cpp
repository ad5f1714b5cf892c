#include "framework/base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <memory>

#include "framework/base/quote.hpp"
#include "framework/base/shown.hpp"

namespace plimsoll {
namespace {

std::atomic<int> g_level{static_cast<int>(LogLevel::kWarn)};  // until log_to_stderr()
std::atomic<bool> g_json{false};

constexpr std::array kSpdlogLevels{spdlog::level::trace, spdlog::level::debug, spdlog::level::info,
                                   spdlog::level::warn,  spdlog::level::err,   spdlog::level::off};

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("plimsoll",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::trace);  // g_level decides which records are written
    return made;
  }();
  return *instance;
}

std::string json_record(std::string_view message, std::initializer_list<LogField> fields) {
  std::string out = "\"msg\":";
  append_json_string(out, message);
  for (const LogField& field : fields) {
    out += ',';
    append_json_string(out, field.key);
    out += ':';
    if (field.quoted) {
      append_json_string(out, field.text);
    } else {
      out += field.text;
    }
  }
  return out;
}

std::string text_record(std::string_view message, std::initializer_list<LogField> fields) {
  std::string out = shown(message);
  for (const LogField& field : fields) {
    out += ' ';
    out += field.key;
    out += '=';
    const bool plain =
        !field.text.empty() && field.text.find_first_of(" \t\n\"=") == std::string::npos;
    if (plain || !field.quoted) {
      out += shown(field.text);
    } else {
      append_json_string(out, field.text);
    }
  }
  return out;
}

}  // namespace

void log_to_stderr(LogLevel level, LogFormat format) {
  set_log_level(level);
  g_json = format == LogFormat::kJson;
  logger().set_pattern(format == LogFormat::kJson
                           ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                           : "%Y-%m-%dT%H:%M:%S.%eZ %L %v",
                       spdlog::pattern_time_type::utc);
  logger().flush_on(spdlog::level::warn);
}

LogFormat log_format() {
  return g_json ? LogFormat::kJson : LogFormat::kText;
}

void set_log_level(LogLevel level) {
  g_level = static_cast<int>(level);
}
LogLevel log_level() {
  return static_cast<LogLevel>(g_level.load());
}

bool log_enabled(LogLevel level) {
  return static_cast<int>(level) >= g_level.load(std::memory_order_relaxed);
}

void log_write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const auto record = g_json ? json_record(message, fields) : text_record(message, fields);
  logger().log(kSpdlogLevels.at(static_cast<std::size_t>(level)), record);
}

}  // namespace plimsoll
