// Selectors of resource claims, and the amounts and versions that claims and devices name.

#include "fuzz/target.hpp"
#include "plugins/dynamicresources/cel/selector.hpp"
#include "plugins/dynamicresources/values/quantity.hpp"
#include "plugins/dynamicresources/values/semver.hpp"

namespace plimsoll::fuzz {
namespace {

dra::Device some_device() {
  dra::Device device;
  device.attributes = {{"index", int64_t{3}},
                       {"model", std::string("H100")},
                       {"healthy", true},
                       {"driverVersion", dra::Version{"1.2.3-rc.1"}},
                       {"nic.example.com/zones", std::vector<int64_t>{0, 1}}};
  device.capacity["memory"].value = dra::Quantity::parse("80Gi").value();
  return device;
}

}  // namespace

void claim_selector(std::string_view input) {
  const auto selector = dra::cel::Selector::compile(input);
  if (!selector) return require(!selector.error().text.empty(), "an error says something");
  for (const dra::Device& device : {some_device(), dra::Device()}) {
    const auto first = selector->matches("gpu.example.com", device);
    const auto second = selector->matches("gpu.example.com", device);
    require(first == second, "the same device gives the same answer");
    if (!first) require(!first.error().empty(), "an error says something");
  }
}

void claim_values(std::string_view input) {
  const std::string_view first = take_part(input);
  const auto a = dra::Quantity::parse(first), b = dra::Quantity::parse(take_part(input));
  if (a) {
    const auto again = dra::Quantity::parse(a->text());
    require(again && *again == *a, a->text(), " is the same number");
    if (const auto whole = a->kept_whole()) require(dra::Quantity::whole(*whole) == *a, "is whole");
  }
  if (a && b) require(a->plus(*b) == b->plus(*a), "a + b is b + a");
  const auto version = dra::Semver::parse(first);
  if (version) require(dra::Semver::parse_lenient(first) == version, first, " is read leniently");
}

}  // namespace plimsoll::fuzz
