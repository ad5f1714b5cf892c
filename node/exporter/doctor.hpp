#pragma once
// What plimsoll-node sees of its node, what it lacks, and what would happen to a pod there: one
// look at everything, for people. Writes nothing.

#include <stop_token>
#include <string>

#include "node/exporter/exporter.hpp"

namespace plimsoll::node {

struct Diagnosis {
  std::string text;
  bool lacks = false;  // something that the report needs
};

// `options.devices`: not set: devices are looked at, and it is said that they are not reported.
[[nodiscard]] Diagnosis diagnose(const ExporterOptions& options, const FinderOptions& finder,
                                 informer::HttpClient& client, const std::stop_token& stop);

}  // namespace plimsoll::node
