#pragma once
// The result of an extension point, and the reasons for rejections as small integers.
//
// Codes and their meaning are fwk.Code and fwk.Status of the Kubernetes scheduling framework. The
// verdicts per node are kept as arrays of codes and reason ids; a Status is the result of a whole
// call.

#include <plimsoll/plugin_abi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

enum class Code : uint8_t {
  kSuccess = PLIMSOLL_SUCCESS,
  kError = PLIMSOLL_ERROR,
  kUnschedulable = PLIMSOLL_UNSCHEDULABLE,
  kUnschedulableAndUnresolvable = PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE,
  kWait = PLIMSOLL_WAIT,
  kSkip = PLIMSOLL_SKIP,
  kPending = PLIMSOLL_PENDING,
};

// "Success", "UnschedulableAndUnresolvable", ...; for an unknown number: "code 17".
[[nodiscard]] std::string code_name(int32_t code);

// Unschedulable, UnschedulableAndUnresolvable or Pending.
[[nodiscard]] constexpr bool is_rejected(Code code) {
  return code == Code::kUnschedulable || code == Code::kUnschedulableAndUnresolvable ||
         code == Code::kPending;
}

// Index of a plugin within its Framework; kNoPlugin: none.
using PluginIndex = uint16_t;
inline constexpr PluginIndex kNoPlugin = 0xffff;

class ReasonTable;

struct [[nodiscard]] Status {
  Code code = Code::kSuccess;
  uint32_t reason = 0;  // id in the ReasonTable, 0: none
  PluginIndex plugin_index = kNoPlugin;
  std::string_view plugin;  // its name; lives as long as the Framework
  std::string error;        // text of an error; in bind steps also the text of a rejection

  [[nodiscard]] bool ok() const { return code == Code::kSuccess; }
  [[nodiscard]] bool rejected() const { return is_rejected(code); }
  [[nodiscard]] bool is_error() const { return code == Code::kError; }

  // Status.Message(): the error's text, then the reasons, joined by ", ".
  [[nodiscard]] std::string message(const ReasonTable& reasons) const;
};

[[nodiscard]] inline Status error_status(std::string text) {
  Status status;
  status.code = Code::kError;
  status.error = std::move(text);
  return status;
}

// Lists of reasons and their ids. The same list has the same id. Any thread. Lists are never freed,
// so their texts must come from a bounded set.
class ReasonTable {
 public:
  ReasonTable();
  ~ReasonTable();
  ReasonTable(const ReasonTable&) = delete;
  ReasonTable& operator=(const ReasonTable&) = delete;

  // Never 0. A list is cut after 2 KiB. A table with a million lists or 32 MiB is full: a plugin
  // puts names into its reasons. Then this returns the id of one list that says so.
  [[nodiscard]] uint32_t intern(std::span<const std::string_view> texts);
  [[nodiscard]] uint32_t intern(std::string_view text) { return intern(std::span(&text, 1)); }

  // The texts of an id; empty for 0 and for unknown ids. Valid as long as the table.
  [[nodiscard]] const std::vector<std::string>& texts(uint32_t id) const;
  // Joined by ", ".
  [[nodiscard]] std::string message(uint32_t id) const;
  [[nodiscard]] bool valid(uint32_t id) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
