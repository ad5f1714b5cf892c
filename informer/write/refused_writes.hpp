#pragma once
// Writes that the API server refuses to this process: it has no right (403) or no credential that
// counts (401). Who runs it must hear of that; the pods only wait.

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll::informer {

// All functions may be called from any thread.
class RefusedWrites {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A try was answered. `kind`: "bindings", ... (a literal, one of a few); `answer`: the server's
  // message, which is read only if it is logged. The first refusal of each kind and status is
  // logged, then one a minute with the number of them.
  void answered(std::string_view kind, int status, std::string_view answer, Time now);

  // Why nothing is written; nothing: the last answer was no refusal, or there was none.
  [[nodiscard]] std::optional<std::string> problem() const;

 private:
  struct Cause {
    std::uint64_t since_said = 0;
    std::optional<Time> said;
  };

  mutable std::mutex mutex_;  // guards all below
  std::map<std::pair<std::string_view, int>, Cause> causes_;
  std::optional<std::string> problem_;
};

}  // namespace plimsoll::informer
