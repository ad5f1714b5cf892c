#include "tests/e2e/amounts.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace plimsoll::test {
namespace {

// Long enough for every amount that a test uses: 64 bits of mantissa are more than Pi has bytes.
long double suffix_factor(std::string_view suffix) {
  static constexpr std::string_view kUnits = "KMGTPE";
  if (suffix.empty()) return 1.0L;
  if (suffix == "n") return 1e-9L;
  if (suffix == "u") return 1e-6L;
  if (suffix == "m") return 1e-3L;
  if (suffix == "k") return 1e3L;
  const auto power = kUnits.find(suffix.front());
  if (power != std::string_view::npos && suffix.size() == 2 && suffix.back() == 'i') {
    return std::pow(1024.0L, static_cast<long double>(power + 1));
  }
  if (power != std::string_view::npos && suffix.size() == 1 && suffix != "K") {
    return std::pow(1000.0L, static_cast<long double>(power + 1));
  }
  if (suffix.front() == 'e' || suffix.front() == 'E') {
    return std::pow(10.0L, std::stold(std::string(suffix.substr(1))));
  }
  throw std::invalid_argument("no such suffix: " + std::string(suffix));
}

}  // namespace

std::int64_t amount_of(std::string_view resource, std::string_view quantity) {
  const auto end = std::min(quantity.find_first_not_of("+-.0123456789"), quantity.size());
  const long double number = std::stold(std::string(quantity.substr(0, end)));
  const long double value = number * suffix_factor(quantity.substr(end));
  // A hair below the next integer is that integer: 0.3 has no exact form in binary.
  return static_cast<std::int64_t>(std::ceil(value * (resource == "cpu" ? 1000.0L : 1.0L) - 1e-6L));
}

Amounts amounts_of(const nlohmann::json& resource_list) {
  Amounts amounts;
  if (resource_list.is_null()) return amounts;
  for (const auto& [name, quantity] : resource_list.items()) {
    amounts[name] =
        amount_of(name, quantity.is_string() ? quantity.get<std::string>() : quantity.dump());
  }
  return amounts;
}

std::int64_t get(const Amounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

void add(Amounts& to, const Amounts& more) {
  for (const auto& [name, amount] : more) to[name] += amount;
}

void raise(Amounts& to, const Amounts& least) {
  for (const auto& [name, amount] : least) to[name] = std::max(to[name], amount);
}

bool fits(const Amounts& wanted, const Amounts& there) {
  return std::ranges::all_of(wanted, [&](const auto& entry) {
    return entry.second == 0 || entry.second <= get(there, entry.first);
  });
}

Amounts left_of(const Amounts& all, const Amounts& used) {
  Amounts left;
  for (const auto& [name, amount] : all) left[name] = amount - get(used, name);
  return left;
}

std::string to_string(const Amounts& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts) {
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(amount);
  }
  return text;
}

}  // namespace plimsoll::test
