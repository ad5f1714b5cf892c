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

// How much a plugin may still say that stays: the ABI promises it that an id and its texts hold for
// the life of the process, if they are from a bounded set.
struct ReasonQuota {
  size_t lists = 4096;
  size_t bytes = size_t{256} << 10;
};

// Lists of reasons and their ids. The same list has the same id while it is there. Any thread.
//
// Plugins put words of strangers into reasons: resources that a pod invents, names. So only what
// the quota of a plugin covers stays. All else belongs to the step of the loop that brought it, an
// attempt most often, or to what holds it beyond that (HeldReasons), and goes with it. An id is not
// given to another list as long as there are others.
class ReasonTable {
 public:
  ReasonTable();
  ~ReasonTable();
  ReasonTable(const ReasonTable&) = delete;
  ReasonTable& operator=(const ReasonTable&) = delete;

  // Never 0. A list is cut after 2 KiB. `quota`: null: the list stays. One step may bring 32 MiB;
  // what is more gets the id of one list that says so.
  [[nodiscard]] uint32_t intern(std::span<const std::string_view> texts,
                                ReasonQuota* quota = nullptr);
  [[nodiscard]] uint32_t intern(std::string_view text) { return intern(std::span(&text, 1)); }

  // The texts of an id; empty for 0 and for unknown ids. Of one that is gone: that it is.
  [[nodiscard]] std::vector<std::string> texts(uint32_t id) const;
  // The same of a list that stays, for the life of the table; null: it need not stay.
  [[nodiscard]] const std::vector<std::string>* lasting_texts(uint32_t id) const;
  // Joined by ", ".
  [[nodiscard]] std::string message(uint32_t id) const;
  // Whether it was ever given.
  [[nodiscard]] bool valid(uint32_t id) const;

  // A step of the loop is over: what it brought goes, but for what is held. Loop only.
  void end_step();

  [[nodiscard]] size_t bytes() const;  // of all lists

 private:
  friend class HeldReasons;
  // 0: nothing has to be held, else the bytes of the list.
  size_t hold(uint32_t id);
  void release(std::span<const uint32_t> ids);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The reasons of verdicts that are kept from one attempt to the next. Each counts once. Loop only.
class HeldReasons {
 public:
  explicit HeldReasons(ReasonTable& table) : table_(&table) {}
  HeldReasons(HeldReasons&& other) noexcept = default;
  HeldReasons& operator=(HeldReasons&&) = delete;
  HeldReasons(const HeldReasons&) = delete;
  HeldReasons& operator=(const HeldReasons&) = delete;
  ~HeldReasons() { clear(); }

  void add(uint32_t id);
  void clear();
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  ReasonTable* table_;
  std::vector<uint32_t> ids_;  // sorted
  size_t bytes_ = 0;
};

}  // namespace plimsoll
