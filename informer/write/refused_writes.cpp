#include "informer/write/refused_writes.hpp"

#include "framework/base/log.hpp"
#include "informer/wire/status_answer.hpp"

namespace plimsoll::informer {
namespace {

constexpr std::chrono::minutes kPause{1};

constexpr std::array kRefusals{401, 403};

std::string message_of(std::string_view answer) {
  const auto status = read_status(answer);
  if (status && !status->message.empty()) return status->message;
  return std::string(answer.substr(0, 200));
}

}  // namespace

void RefusedWrites::answered(std::string_view kind, int status, std::string_view answer, Time now) {
  const bool refused = status == kRefusals[0] || status == kRefusals[1];
  const std::lock_guard lock(mutex_);
  if (!refused) {
    problem_.reset();
    return;
  }
  if (!problem_) {
    problem_ = "the API server refuses " + std::string(kind) + " (" + std::to_string(status) +
               "): " + message_of(answer);
  }
  Cause& cause = causes_[{kind, status}];
  ++cause.since_said;
  if (cause.said && now - *cause.said < kPause) return;
  log_warn(
      "the API server refuses what this scheduler writes; its pods wait (deploy/base/rbac.yaml)",
      {{"what", kind},
       {"status", status},
       {"times", cause.since_said},
       {"answer", message_of(answer)}});
  cause.said = now;
  cause.since_said = 0;
}

std::optional<std::string> RefusedWrites::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace plimsoll::informer
