#pragma once
// Accounts as a text, to compare them.

#include <string>

#include "plugins/nodedevice/accounts/accounts.hpp"

namespace plimsoll::devices::test {

// Everything that is used, in a fixed order: equal texts are equal accounts.
inline std::string accounts_text(const Accounts& accounts) {
  const DeviceTypes& types = accounts.types();
  std::string text;
  accounts.each_node([&](const NodeState& state, const Accounts::PodsOfNode&) {
    std::string lines;
    for (int t = 0; t < types.count(); ++t) {
      const TypeState& type = state.type(t);
      if (type.unknown_whole != 0 || type.blocked != 0)
        lines += "  " + types.type(t).name + " unknown=" + std::to_string(type.unknown_whole) +
                 " blocked=" + std::to_string(type.blocked) + "\n";
      for (const DeviceState& device : type.devices) {
        lines += "  " + types.type(t).name + " " + std::to_string(device.minor) +
                 (device.present ? "" : " absent") + (device.healthy ? "" : " unhealthy") +
                 (device.withheld ? " withheld" : "") +
                 " whole=" + std::to_string(device.whole_users);
        for (size_t dim = 0; dim < types.type(t).dims.size(); ++dim)
          lines += " " + std::to_string(device.used.value[dim]) + "/" +
                   std::to_string(device.total.value[dim]) + ":" +
                   std::to_string(device.free.value[dim]);
        for (const std::string& vf : device.vfs_in_use) lines += " vf=" + vf;
        lines += "\n";
      }
    }
    if (!lines.empty() || state.malformed)
      text += state.name + (state.malformed ? " malformed\n" : "\n") + lines;
  });
  return text;
}

}  // namespace plimsoll::devices::test
