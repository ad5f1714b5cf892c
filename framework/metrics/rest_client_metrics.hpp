#pragma once
// rest_client_*: requests to the API server, under client-go's names.

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "framework/metrics/registry.hpp"

namespace plimsoll::metrics {

// Of one client to one server. Not thread-safe: each client has its own, used on its I/O thread.
class RestClientMetrics {
 public:
  // `server`: the URL; its host and port are the label.
  RestClientMetrics(Registry& registry, std::string_view server);

  // A request has ended. `status` 0: without an answer ("<error>"). A watch lasts as long as it is
  // good for, so it is counted but not timed.
  void observe(std::string_view method, int status, bool watch, double seconds);

 private:
  Family<Counter> requests_;
  Family<Histogram> durations_;
  std::string host_;
  std::map<std::pair<std::string, int>, Counter, std::less<>> by_code_;
  std::map<std::string, Histogram, std::less<>> by_verb_;
};

}  // namespace plimsoll::metrics
