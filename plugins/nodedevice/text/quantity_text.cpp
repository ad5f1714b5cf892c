#include "plugins/nodedevice/text/quantity_text.hpp"

#include <plimsoll/quantity.hpp>
#include <span>

namespace plimsoll::devices {
namespace {

std::string with_suffix(int64_t value, int64_t base, std::span<const std::string_view> suffixes) {
  size_t power = 0;
  while (value != 0 && value % base == 0 && power + 1 < suffixes.size()) {
    value /= base;
    ++power;
  }
  return std::to_string(value) + std::string(suffixes[power]);
}

}  // namespace

std::optional<int64_t> parse_quantity(std::string_view text) {
  return sdk::parse_quantity(text, sdk::QuantityUnit::kWhole);
}

std::string decimal_text(int64_t value) {
  constexpr std::string_view kSuffixes[] = {"", "k", "M", "G", "T", "P", "E"};
  return with_suffix(value, 1000, kSuffixes);
}

std::string binary_text(int64_t value) {
  constexpr std::string_view kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  return with_suffix(value, 1024, kSuffixes);
}

}  // namespace plimsoll::devices
