#include "node/machine/amounts.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "framework/api/quantity.hpp"

namespace plimsoll::node {

Result<std::int64_t> parse_amount(std::string_view resource, const nlohmann::json& quantity) {
  if (!quantity.is_string() && !quantity.is_number()) {
    return fail(ErrorCode::kInvalid,
                std::string(resource) + ": a quantity is a string or a number");
  }
  const auto parsed = quantity.is_string() ? Quantity::parse(quantity.get_ref<const std::string&>())
                                           : Quantity::parse_json(quantity.dump());
  if (!parsed) return fail(parsed.error().within(resource));
  return resource == "cpu" ? parsed->milli_value() : parsed->value();
}

Result<Amounts> parse_amounts(const nlohmann::json& list) {
  Amounts amounts;
  if (list.is_null()) return amounts;
  if (!list.is_object()) return fail(ErrorCode::kInvalid, "a resource list is an object");
  for (const auto& [name, quantity] : list.items()) {
    const auto amount = parse_amount(name, quantity);
    if (!amount) return fail(amount.error());
    amounts[name] = *amount;
  }
  return amounts;
}

std::string format_amount(std::string_view resource, std::int64_t amount) {
  if (resource == "cpu") {
    return amount % 1000 == 0 ? std::to_string(amount / 1000) : std::to_string(amount) + "m";
  }
  return std::to_string(amount);
}

void add_amounts(Amounts& into, const Amounts& amounts) {
  for (const auto& [name, amount] : amounts) {
    if (__builtin_add_overflow(into[name], amount, &into[name])) {
      into[name] = std::numeric_limits<std::int64_t>::max();
    }
  }
}

void max_amounts(Amounts& into, const Amounts& amounts) {
  for (const auto& [name, amount] : amounts) into[name] = std::max(into[name], amount);
}

std::int64_t amount_of(const Amounts& amounts, std::string_view resource) {
  const auto found = amounts.find(std::string(resource));
  return found == amounts.end() ? 0 : found->second;
}

}  // namespace plimsoll::node
