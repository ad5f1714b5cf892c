#include "framework/api/readable_amount.hpp"

#include <array>
#include <cstdlib>

namespace plimsoll {
namespace {

constexpr std::array kUnits{"", "Ki", "Mi", "Gi", "Ti", "Pi"};

}  // namespace

bool is_in_bytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-") || resource == "koordinator.sh/gpu-memory";
}

int unit_for(std::string_view resource, int64_t amount) {
  int unit = 0;
  if (!is_in_bytes(resource)) return unit;
  for (; std::llabs(amount) >= 1024 && unit + 1 < static_cast<int>(kUnits.size()); ++unit)
    amount /= 1024;
  return unit;
}

std::string readable_amount(std::string_view resource, int64_t amount, int unit) {
  const bool cpu = resource == "cpu";
  const int64_t whole = cpu ? 1000 : int64_t{1} << 10 * unit;
  std::string text = std::to_string(amount / whole);
  const int64_t rest = std::llabs(amount % whole);
  if (amount < 0 && amount / whole == 0) text.insert(0, "-");
  if (cpu) {  // exact: people ask for 250m
    std::string digits = std::to_string(1000 + rest).substr(1);
    digits.resize(digits.find_last_not_of('0') + 1);
    return digits.empty() ? text : text + "." + digits;
  }
  const auto tenth = static_cast<int64_t>(static_cast<__int128>(rest) * 10 / whole);
  if (tenth != 0) text += "." + std::to_string(tenth);
  return text + kUnits.at(static_cast<size_t>(unit));
}

std::string readable_amount(std::string_view resource, int64_t amount) {
  return readable_amount(resource, amount, unit_for(resource, amount));
}

}  // namespace plimsoll
