#pragma once
// Answers what people ask a running scheduler: explain a pod, dump the state, compare it with the
// API server. The loop is only asked for a value (an Explanation, a StateSnapshot); lists, waiting
// and text are the work of other threads.

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

// How long a difference must last before it is called one.
inline constexpr std::chrono::milliseconds kSettleTime{5000};

struct CompareResult {
  std::vector<StateDifference> differences;
  ApiListing listing;
};

class Inspection {
 public:
  // What ControlSocket wants called; see there.
  using Reply = std::function<void(std::function<std::string()>)>;

  // `scheduler` and `symbols` outlive it.
  Inspection(Scheduler& scheduler, SymbolTable& symbols, informer::ServerAccess access,
             std::shared_ptr<informer::CredentialSource> credentials);
  ~Inspection();  // stop()
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  // Any thread; returns at once. Questions, as JSON objects:
  //   {"command":"explain","pod":"NAMESPACE/NAME","nodes":10,"texts":3}
  //   {"command":"dump"}
  //   {"command":"compare","settleSeconds":5}
  // Answers: {"ok":true,"result":{...}}, or {"ok":false,"error":"..."}.
  void ask(std::string_view question, Reply reply);

  // Writes the state, and its comparison with the API server, to the log. Returns at once; while
  // one is under way a further call does nothing.
  void write_to_log();

  // Ends what is under way; questions of which nothing was heard yet are not answered. Idempotent.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::cli
