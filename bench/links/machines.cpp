#include "bench/links/machines.hpp"

#include "node/devices/device_finder.hpp"
#include "node/devices/device_report.hpp"
#include "plugins/nodedevice/devices/link_table.hpp"
#include "tests/node/fake_machine.hpp"

namespace plimsoll::links_bench {
namespace {

std::string hex(int number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {kDigits[static_cast<size_t>(number / 16)], kDigits[static_cast<size_t>(number % 16)]};
}

std::string address_of(int minor) {
  return "0000:" + hex(0x80 + minor) + ":00.0";
}

// The other ends of a card's links, as the mock of NVIDIA's library is told of them.
std::string links_of(const Machine& machine, int minor) {
  std::string links;
  for (const auto& [a, b, count] : machine.lanes) {
    if (a != minor && b != minor) continue;
    links +=
        (links.empty() ? "" : ",") + address_of(a == minor ? b : a) + "*" + std::to_string(count);
  }
  return links;
}

}  // namespace

nlohmann::json device_object(const Machine& machine, Told told, const std::string& node) {
  node::test::FakeMachine fake;
  for (int minor = 0; minor < machine.cards; ++minor) {
    const std::string bus = hex(minor / machine.cards_at_a_switch);
    const std::vector<std::string> chain{"pci0000:" + bus, "0000:" + bus + ":01.0",
                                         "0000:" + hex(0x10 + minor) + ":00.0", address_of(minor)};
    fake.add_card(chain, minor / machine.cards_in_a_zone,
                  {{"uuid", "GPU-" + std::to_string(minor)},
                   {"minor", std::to_string(minor)},
                   {"version", "2"},
                   {"links", links_of(machine, minor)}});
  }
  node::DeviceFinder finder(fake.options(), [] {});
  const node::DeviceReport report =
      node::report_devices(finder.find(nullptr), nlohmann::json(), {}, "2026-01-01T00:00:00Z");
  nlohmann::json devices = report.devices;
  for (nlohmann::json& device : devices) {
    if (told == Told::kMinors) device.erase("topology");
  }
  nlohmann::json meta = {{"name", node}};
  if (told == Told::kLinks) meta["annotations"] = report.annotations;
  return {{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
          {"kind", "Device"},
          {"metadata", meta},
          {"spec", {{"devices", devices}}}};
}

std::string links_annotation(const Machine& machine) {
  return device_object(machine, Told::kLinks)["metadata"]["annotations"][devices::kLinksAnnotation];
}

}  // namespace plimsoll::links_bench
