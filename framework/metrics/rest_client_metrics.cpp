#include "framework/metrics/rest_client_metrics.hpp"

namespace plimsoll::metrics {
namespace {

std::string host_of(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  return std::string(url.substr(0, url.find('/')));
}

}  // namespace

RestClientMetrics::RestClientMetrics(Registry& registry, std::string_view server)
    : requests_(registry.counters({"rest_client_requests_total",
                                   "[ALPHA] Requests to the API server, by status code.",
                                   {"code", "method", "host"}})),
      durations_(registry.histograms(
          {"rest_client_request_duration_seconds",
           "[ALPHA] Time from sending a request to the end of its answer; watches are left out.",
           {"verb", "host"}},
          {0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0})),
      host_(host_of(server)) {}

void RestClientMetrics::observe(std::string_view method, int status, bool watch, double seconds) {
  Counter& counter = by_code_[{std::string(method), status}];
  if (!counter) {
    const std::string code = status == 0 ? "<error>" : std::to_string(status);
    counter = requests_.with({code, method, host_});
  }
  counter.add();
  if (watch) return;
  Histogram& duration = by_verb_[std::string(method)];
  if (!duration) duration = durations_.with({method, host_});
  duration.observe(seconds);
}

}  // namespace plimsoll::metrics
