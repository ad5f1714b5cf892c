#pragma once
// rest_client_*: requests to the API server, under client-go's names.

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "framework/metrics/registry.hpp"

namespace plimsoll::metrics {

// The metrics of one client of one server. Not thread-safe: each client has its own and uses it on
// its I/O thread.
class RestClientMetrics {
 public:
  // `server`: the URL; its host and port are the label.
  RestClientMetrics(Registry& registry, std::string_view server);

  // Records a finished request. `status` 0: there was no answer ("<error>"). A watch is counted but
  // not timed, since it stays open on purpose.
  void observe(std::string_view method, int status, bool watch, double seconds);

 private:
  Family<Counter> requests_;
  Family<Histogram> durations_;
  std::string host_;
  std::map<std::pair<std::string, int>, Counter, std::less<>> by_code_;
  std::map<std::string, Histogram, std::less<>> by_verb_;
};

}  // namespace plimsoll::metrics
