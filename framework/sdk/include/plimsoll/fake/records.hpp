// Plimsoll plugin SDK, for unit tests: what a FakeHost remembers and answers.
#pragma once

#include <plimsoll/fake/cycle.hpp>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::sdk {

struct FakeRecords {
  // ---- recorded calls of plugins, for tests to check
  std::vector<std::string> logs;
  std::string error;                 // the last error text that was set
  std::vector<std::string> watched;  // "<plural>.<version>.<group>"
  std::map<std::string, std::pair<uint32_t, const void*>> services;
  std::vector<std::pair<uint32_t, uint32_t>> touched;  // slot, aspects
  std::vector<std::string> events;                     // "Warning Reason: note"
  std::vector<std::string> allowed;                    // pod UIDs
  std::vector<std::pair<std::string, std::string>> rejected;
  struct Completion {
    plimsoll_token* token;
    int32_t code;
    std::string message;
  };
  std::vector<Completion> completed;
  std::vector<std::string> bindings;   // "namespace/name -> node"
  std::vector<std::string> activated;  // pod UIDs
  std::vector<std::string> requests;   // to the API server: "METHOD path body"
  struct Deferred {
    int64_t delay_ms;
    void (*fn)(void*, uint32_t);  // null once it has run
    void* user;
    void run(uint32_t cancelled = 0) {
      if (auto* once = std::exchange(fn, nullptr)) once(user, cancelled);
    }
  };
  std::vector<Deferred> deferred;  // tasks passed to run_on_loop; the test runs them: d.run()
  void drop_deferred() {
    for (Deferred& task : std::exchange(deferred, {})) task.run(1);
  }
  int requeued = 0;
  // Metrics by name and label values: metrics["seats_refused_total{west}"]. Holds the sum of a
  // counter, the last value of a gauge, and all observations of a histogram in order.
  std::map<std::string, std::vector<double>> metrics;

  std::map<std::string, std::string> nominations;  // pod name -> node, after the last nominate
  std::vector<std::string> cancelled;              // pod UIDs of cancelled bindings
  struct AmountAdded {
    std::string claim, resource;
    int64_t mapped, overhead;
  };
  std::map<std::string, std::vector<AmountAdded>> amounts_added;  // by pod UID

  // ---- answers to plugins, set by tests
  // The verdict of all filters on a node in a what-if: a reason text, empty if the pod fits.
  std::function<std::string(const FakeWhatIf&)> what_if_verdict;
  std::map<std::string, std::vector<const plimsoll_pod*>> nominated;  // by node
  bool bindings_can_be_cancelled = false;
  std::vector<std::string> bindings_cancelled;  // pod UIDs whose binding is cancelled
  std::vector<const plimsoll_pod*> pods;        // found by UID
  // Of the kinds in <plimsoll/kinds.hpp>, by resource, namespace and name.
  std::map<std::string, std::map<std::pair<std::string, std::string>, const plimsoll_object*>>
      objects;
  std::vector<plimsoll_waiting_pod> waiting;  // on Permit
  int32_t answer_status = 200;                // for every request to the API server
  std::string answer_body = "{}";
  // If it is set, it answers instead: status and body.
  std::function<std::pair<int32_t, std::string>(const plimsoll_api_request&)> answer;
  int64_t now = 0;
};

}  // namespace plimsoll::sdk
