#pragma once
// Structured logging with a small interface, so that no header includes spdlog.
//
//   log_info("binding failed", {{"pod", "ns/a"}, {"node", node}});
//
// Any thread may log. A record below the level costs one relaxed load.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace plimsoll {

enum class LogLevel : int { kTrace, kDebug, kInfo, kWarn, kError, kOff };
enum class LogFormat { kText, kJson };

// A key and its value. JSON output has numbers and booleans as such.
class LogField {
 public:
  LogField(std::string_view key, std::string_view value) : key(key), text(value), quoted(true) {}
  LogField(std::string_view key, const char* value) : LogField(key, std::string_view(value)) {}
  LogField(std::string_view key, const std::string& value)
      : LogField(key, std::string_view(value)) {}
  LogField(std::string_view key, bool value)
      : key(key), text(value ? "true" : "false"), quoted(false) {}
  template <typename Number>
  requires std::is_arithmetic_v<Number> LogField(std::string_view key, Number value)
      : key(key), text(std::to_string(value)), quoted(false) {}

  std::string_view key;
  std::string text;
  bool quoted;
};

// Starts to log to standard error. Call this once, before threads are started.
void log_to_stderr(LogLevel level, LogFormat format);
[[nodiscard]] LogFormat log_format();

// Changes the level at run time; any thread.
void set_log_level(LogLevel level);
[[nodiscard]] LogLevel log_level();
[[nodiscard]] bool log_enabled(LogLevel level);

void log_write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);

inline void log_debug(std::string_view message, std::initializer_list<LogField> fields = {}) {
  if (log_enabled(LogLevel::kDebug)) log_write(LogLevel::kDebug, message, fields);
}
inline void log_info(std::string_view message, std::initializer_list<LogField> fields = {}) {
  if (log_enabled(LogLevel::kInfo)) log_write(LogLevel::kInfo, message, fields);
}
inline void log_warn(std::string_view message, std::initializer_list<LogField> fields = {}) {
  if (log_enabled(LogLevel::kWarn)) log_write(LogLevel::kWarn, message, fields);
}
inline void log_error(std::string_view message, std::initializer_list<LogField> fields = {}) {
  if (log_enabled(LogLevel::kError)) log_write(LogLevel::kError, message, fields);
}

}  // namespace plimsoll
