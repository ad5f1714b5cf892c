#pragma once
// An Event about a node's Device object, as `kubectl describe device NODE` shows it. Pods have the
// host's own events. Returns at once; a write that fails is not repeated for ever, as with all
// events. Any thread.

#include <plimsoll/host.hpp>
#include <string_view>

namespace plimsoll::devices {

// `json`: the Device object, for its UID. Nothing is sent on a host that is too old for requests.
void report_device_object(const sdk::Host& host, std::string_view node, std::string_view json,
                          std::string_view reason, std::string_view note);

}  // namespace plimsoll::devices
