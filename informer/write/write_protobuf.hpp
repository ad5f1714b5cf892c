#pragma once
// What write_bodies.hpp writes as JSON, in Kubernetes' protobuf encoding, which costs an API server
// less to read. Kubernetes: k8s.io/api/core/v1 and events/v1, generated.proto. (Patches have no
// protobuf form.)

#include <chrono>
#include <string>
#include <string_view>

#include "framework/port/api_writer.hpp"
#include "informer/write/write_bodies.hpp"

namespace plimsoll::informer {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";
// Answers in protobuf; in JSON from a server that has no other.
inline constexpr std::string_view kAcceptProtobuf =
    "application/vnd.kubernetes.protobuf,application/json";

// v1.Binding, with the envelope around it.
[[nodiscard]] std::string binding_protobuf(const BindRequest& request);

// events.k8s.io/v1 Event, with the envelope around it. `series` may be null.
[[nodiscard]] std::string event_protobuf(const EventRecord& event, const std::string& name,
                                         const std::string& reporting_instance,
                                         std::chrono::system_clock::time_point event_time,
                                         const EventSeries* series = nullptr);

}  // namespace plimsoll::informer
