#pragma once
// The bodies of write_bodies.hpp in Kubernetes' protobuf encoding, which an API server parses at
// lower cost. Kubernetes: k8s.io/api/core/v1 and events/v1, generated.proto. (Patches have no
// protobuf form.)

#include <chrono>
#include <string>
#include <string_view>

#include "framework/port/api_writer.hpp"
#include "informer/write/write_bodies.hpp"

namespace plimsoll::informer {

// v1.Binding, including the envelope.
[[nodiscard]] std::string binding_protobuf(const BindRequest& request);

// events.k8s.io/v1 Event, including the envelope. `series` may be null.
[[nodiscard]] std::string event_protobuf(const EventRecord& event, const std::string& name,
                                         const std::string& reporting_instance,
                                         std::chrono::system_clock::time_point event_time,
                                         const EventSeries* series = nullptr);

}  // namespace plimsoll::informer
