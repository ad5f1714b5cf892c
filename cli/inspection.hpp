#pragma once
// Answers operators' questions to a running scheduler: explain a pod, dump the state, compare it
// with the API server. The loop only returns a value (an Explanation, a StateSnapshot); lists,
// waiting and formatting run on other threads.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/api/symbols.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/cycle/state_compare.hpp"
#include "informer/http/credentials.hpp"
#include "informer/http/kubeconfig.hpp"

namespace plimsoll::cli {

// How long a difference must last to be reported.
inline constexpr std::chrono::milliseconds kSettleTime{5000};

struct CompareResult {
  std::vector<StateDifference> differences;
  ApiListing listing;
};

class Inspection {
 public:
  // The reply of ControlSocket; see there.
  using Reply = std::function<void(std::function<std::string()>)>;

  // `scheduler` and `symbols` must outlive it.
  Inspection(Scheduler& scheduler, SymbolTable& symbols, informer::ServerAccess access,
             std::shared_ptr<informer::CredentialSource> credentials);
  ~Inspection();  // calls stop()
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  // Any thread; returns at once. Questions, as JSON objects:
  //   {"command":"explain","pod":"NAMESPACE/NAME","nodes":10,"texts":3}
  //   {"command":"queue"}
  //   {"command":"top"}
  //   {"command":"dump"}
  //   {"command":"compare","settleSeconds":5}
  //   {"command":"log-level"}, and to set it {"command":"log-level","level":"debug"}
  // Answers: {"ok":true,"result":{...}}, or {"ok":false,"error":"..."}.
  void ask(std::string_view question, Reply reply);

  // Writes the state, and its comparison with the API server, to the log. Returns at once. A call
  // while another one is under way does nothing.
  void write_to_log();

  // Ends work under way; waiting questions are not answered. Idempotent.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::cli
