// Plimsoll plugin SDK, a part of Host: the log, reasons and statuses, and how all parts call the
// scheduler.
#pragma once

#include <plimsoll/status.hpp>
#include <plimsoll/views.hpp>

#include <cstddef>
#include <exception>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::sdk {

class HostCalls {
 public:
  explicit HostCalls(const plimsoll_host* table) : table_(table) {}

  [[nodiscard]] const plimsoll_host& table() const { return *table_; }

  void debug(std::string_view message) const { log(PLIMSOLL_LOG_DEBUG, message); }
  void info(std::string_view message) const { log(PLIMSOLL_LOG_INFO, message); }
  void warn(std::string_view message) const { log(PLIMSOLL_LOG_WARN, message); }
  void error_log(std::string_view message) const { log(PLIMSOLL_LOG_ERROR, message); }
  void log(uint32_t level, std::string_view message) const {
    call(&plimsoll_host::log, level, message);
  }

  // ---- statuses
  // An id for a list of reasons; the same list gets the same id. Take the texts from a bounded set:
  // they must not contain the name of a pod.
  [[nodiscard]] uint32_t reason(std::string_view text) const {
    const plimsoll_str one = str(text);
    return call(&plimsoll_host::reason, &one, 1U);
  }
  [[nodiscard]] uint32_t reason(std::span<const std::string_view> texts) const {
    std::vector<plimsoll_str> all;
    all.reserve(texts.size());
    for (std::string_view text : texts) all.push_back(str(text));
    return call(&plimsoll_host::reason, all.data(), static_cast<uint32_t>(all.size()));
  }
  [[nodiscard]] uint32_t reason(std::initializer_list<std::string_view> texts) const {
    return reason(std::span(texts.begin(), texts.size()));
  }
  // The texts of a reason id, which may be another plugin's.
  [[nodiscard]] std::vector<std::string_view> reason_texts(uint32_t reason_id) const {
    std::vector<std::string_view> texts;
    for (const auto& text : Strings(call(&plimsoll_host::reason_texts, reason_id))) {
      texts.push_back(view(text));
    }
    return texts;
  }
  Status unschedulable(std::string_view text) const { return Status::unschedulable(reason(text)); }
  Status unresolvable(std::string_view text) const { return Status::unresolvable(reason(text)); }
  Status pending(std::string_view text) const { return Status::pending(reason(text)); }
  // For failures that are not a verdict on the pod. The text may contain any name.
  Status error(std::string_view text) const { return failed(PLIMSOLL_ERROR, text); }
  // For pre_bind and bind, which report a text instead of reasons.
  Status failed(int32_t code, std::string_view text) const {
    call(&plimsoll_host::set_error, text);
    return {code, 0};
  }

 protected:
  template <typename Function>
  using Slot = Function plimsoll_host::*;

  // Whether the host has this function. An older host has a shorter table.
  template <typename Function>
  [[nodiscard]] bool has(Slot<Function> slot) const {
    const auto* begin = reinterpret_cast<const std::byte*>(table_);
    const auto* end = reinterpret_cast<const std::byte*>(&(table_->*slot)) + sizeof(Function);
    return static_cast<size_t>(end - begin) <= table_->size && table_->*slot != nullptr;
  }
  // Calls a function of the host. A host that is too old for it does nothing and answers 0, null or
  // an empty list.
  template <typename Result, typename... Params, typename... Args>
  Result call(Slot<Result (*)(plimsoll_host_ctx*, Params...)> slot, const Args&... args) const {
    if (!has(slot)) return Result();
    return (table_->*slot)(table_->ctx, passed(args)...);
  }
  // For functions that a plugin cannot do without.
  template <typename Function>
  void require(Slot<Function> slot, const char* name) const {
    if (!has(slot)) throw std::runtime_error(std::string("the scheduler is too old for ") + name);
  }

 private:
  static plimsoll_str passed(std::string_view text) { return str(text); }
  static const plimsoll_pod* passed(Pod pod) { return &*pod; }
  template <typename Plain>
  static Plain passed(Plain plain) {
    return plain;
  }

  const plimsoll_host* table_;
};

namespace detail {

// Runs a callback of the host. The text of an exception is logged, and it goes no further.
template <typename Call>
void logged(const HostCalls& host, std::string_view function, const Call& call) noexcept {
  try {
    call();
    return;
  } catch (const std::exception& e) {
    try {
      host.error_log(std::string(function) + ": " + e.what());
    } catch (...) {
      host.error_log("out of memory");
    }
  } catch (...) {
    host.error_log("an exception that is no std::exception");
  }
}

}  // namespace detail

}  // namespace plimsoll::sdk
