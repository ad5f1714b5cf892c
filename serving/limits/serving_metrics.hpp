#pragma once
// What the server counts about itself.

#include "framework/metrics/registry.hpp"

namespace plimsoll::serving {

// Any thread. Made without a registry, it counts nothing.
struct ServingMetrics {
  ServingMetrics() = default;
  explicit ServingMetrics(metrics::Registry& registry)
      : access(registry.counters(
            {"plimsoll_serving_access_total",
             "Requests by what became of the check who asks: allowed, unauthenticated, forbidden, "
             "failed (nobody could be asked), busy. Paths that are always allowed are left out.",
             {"result"}})),
        certificate_loads(registry.counters({"plimsoll_serving_certificate_loads_total",
                                             "Certificates that were taken into use (loaded) or "
                                             "could not be (failed).",
                                             {"result"}})),
        certificate_end(registry.gauges({"plimsoll_serving_certificate_expiration_seconds",
                                         "When the certificate in use ends, in seconds since the "
                                         "epoch.",
                                         {}})),
        turned_away(registry.counters({"plimsoll_serving_connections_turned_away_total",
                                       "Connections that were cut to make room for others. Of the "
                                       "peer that has the most, the one that waits for the longest "
                                       "time goes first.",
                                       {}})) {
    certificate_loads.with({"failed"}).raise_to(0);  // an alert looks at what comes to it
  }

  metrics::Family<metrics::Counter> access;
  metrics::Family<metrics::Counter> certificate_loads;
  metrics::Family<metrics::Gauge> certificate_end;
  metrics::Family<metrics::Counter> turned_away;
};

}  // namespace plimsoll::serving
