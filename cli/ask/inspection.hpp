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
#include "framework/cycle/inspect/state_compare.hpp"
#include "framework/cycle/scheduler.hpp"
#include "informer/http/credentials.hpp"
#include "informer/http/kubeconfig.hpp"
#include "serving/request.hpp"

namespace plimsoll::cli {

// How long a difference must last to be reported.
inline constexpr std::chrono::milliseconds kSettleTime{5000};

struct CompareResult {
  std::vector<StateDifference> differences;
  ApiListing listing;
};

class Inspection {
 public:
  // `scheduler` and `symbols` must outlive it.
  Inspection(Scheduler& scheduler, SymbolTable& symbols, informer::ServerAccess access,
             std::shared_ptr<informer::CredentialSource> credentials);
  ~Inspection();  // calls stop()
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  // Any thread; returns at once. The questions, which are served to those who may ask for them:
  //
  //   GET /debug/explain?pod=NAMESPACE/NAME&nodes=10&texts=3
  //   POST /debug/explain?nodes=10&texts=3    the same of the pod in the body (cli/ask/what_if.hpp)
  //   GET /debug/queue
  //   GET /debug/top?node=NAME&pods
  //   GET /debug/top?since=STATE&first=NODE,NODE    what changed since an answer that had this
  //       "state", or everything, as pages see it (cli/ask/picture.hpp)
  //   GET /debug/top?history        each minute of the last day (cli/ask/history.hpp)
  //   GET /debug/dump
  //   GET /debug/compare?settleSeconds=5
  //   GET /debug/ui/    the page that draws them (ui/page.hpp)
  //
  // 200 with the result as JSON; 400: the question makes no sense; 404: nothing is known of it.
  // A question that is still open when the scheduler stops gets no answer.
  void answer(const serving::Request& request, serving::Reply reply);
  [[nodiscard]] static const std::vector<std::string>& paths();

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
