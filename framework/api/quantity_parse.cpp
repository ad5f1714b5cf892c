// The grammar of quantities: <sign><digits>[.<digits>]<suffix>.
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "framework/api/big_decimal.hpp"
#include "framework/api/quantity.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view kFormatWrong =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view kSuffixWrong = "unable to parse quantity's suffix";
constexpr int32_t kNano = -9;
constexpr int32_t kMaxInt64Digits = 18;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Parts {
  bool negative = false;
  std::string_view whole;  // without leading zeros, "0" if there is none
  std::string_view fraction;
  std::string_view suffix;
};

std::string_view take_digits(std::string_view text, size_t* at) {
  const size_t begin = *at;
  while (*at < text.size() && is_digit(text[*at])) ++*at;
  return text.substr(begin, *at - begin);
}

std::optional<Parts> split(std::string_view text) {
  Parts parts;
  size_t at = 0;
  if (text[0] == '-' || text[0] == '+') {
    parts.negative = text[0] == '-';
    ++at;
  }
  while (at < text.size() && text[at] == '0') ++at;
  parts.whole = take_digits(text, &at);
  if (parts.whole.empty()) parts.whole = "0";
  if (at < text.size() && text[at] == '.') {
    ++at;
    parts.fraction = take_digits(text, &at);
  }
  const size_t suffix = at;
  at = std::min(text.find_first_not_of("eEinumkKMGTP", at), text.size());
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  take_digits(text, &at);
  if (at != text.size()) return std::nullopt;
  parts.suffix = text.substr(suffix);
  return parts;
}

struct Suffix {
  bool binary = false;
  int32_t exponent = 0;
  Quantity::Format format = Quantity::Format::kDecimalSI;
};

std::optional<Suffix> interpret(std::string_view text) {
  using Format = Quantity::Format;
  constexpr std::string_view kDecimal[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr std::string_view kBinary[] = {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  int32_t exponent = kNano;
  for (std::string_view suffix : kDecimal) {
    if (text == suffix) return Suffix{false, exponent, Format::kDecimalSI};
    exponent += 3;
  }
  exponent = 10;
  for (std::string_view suffix : kBinary) {
    if (text == suffix) return Suffix{true, exponent, Format::kBinarySI};
    exponent += 10;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  std::string_view digits = text.substr(1);
  if (digits[0] == '+') digits.remove_prefix(1);
  if (digits.empty() || (digits[0] == '-' && text[1] == '+')) return std::nullopt;
  int64_t parsed = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  constexpr int64_t kLimit = Quantity::kMaxExponent;
  return Suffix{false, static_cast<int32_t>(std::clamp(parsed, -kLimit, kLimit)),
                Format::kDecimalExponent};
}

// The number as an int64 times 10^scale, in the cases of Go's fast path.
struct Small {
  int64_t value;
  int32_t scale;
  bool keep_spelling;
};

std::optional<Small> parse_small(const Parts& parts, const Suffix& suffix) {
  const auto whole_digits = static_cast<int32_t>(parts.whole.size());
  const auto fraction_digits = static_cast<int32_t>(parts.fraction.size());
  int32_t scale = suffix.exponent;
  int64_t factor = 1;
  if (suffix.binary) {
    if (fraction_digits != 0 || 14 - whole_digits - suffix.exponent * 3 / 10 < 0)
      return std::nullopt;
    factor = int64_t{1} << suffix.exponent;
    scale = 0;
  } else if (whole_digits + fraction_digits > kMaxInt64Digits) {
    return std::nullopt;
  }
  scale -= fraction_digits;
  if (scale < kNano) return std::nullopt;

  int64_t digits = 0;
  for (char c : parts.whole) digits = digits * 10 + (c - '0');
  for (char c : parts.fraction) digits = digits * 10 + (c - '0');
  int64_t value = 0;
  if (__builtin_mul_overflow(digits, factor, &value)) return std::nullopt;

  bool canonical = false;
  if (suffix.binary) {
    canonical = (digits & 7) != 0;
  } else {
    const bool three_zeros = whole_digits + fraction_digits >= 3 && digits % 1000 == 0;
    canonical = scale % 3 == 0 && !three_zeros && parts.whole[0] != '0';
  }
  return Small{parts.negative ? -value : value, scale, canonical};
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  if (text.empty()) return fail(ErrorCode::kInvalid, std::string(kFormatWrong));
  if (text.size() > kMaxLength) {
    return fail(ErrorCode::kInvalid,
                "a quantity of " + std::to_string(text.size()) + " characters is too long");
  }
  Quantity result;
  if (text == "0") {
    result.format_ = Format::kDecimalSI;
    result.spelling_ = text;
    return result;
  }
  const std::optional<Parts> parts = split(text);
  if (!parts) return fail(ErrorCode::kInvalid, std::string(kFormatWrong));
  const std::optional<Suffix> suffix = interpret(parts->suffix);
  if (!suffix) return fail(ErrorCode::kInvalid, std::string(kSuffixWrong));
  result.format_ = suffix->format;
  if (auto small = parse_small(*parts, *suffix)) {
    result.value_ = small->value;
    result.scale_ = small->scale;
    if (small->keep_spelling) result.spelling_ = text;
    return result;
  }

  const auto fraction_digits = static_cast<int32_t>(parts->fraction.size());
  BigDecimal amount =
      BigDecimal::from_digits(std::string(parts->whole) + std::string(parts->fraction),
                              fraction_digits - (suffix->binary ? 0 : suffix->exponent));
  if (suffix->binary) {
    for (int32_t i = 0; i < suffix->exponent; i += 10) amount.multiply(1024);
  }
  // A tiny non-zero amount becomes the smallest amount: a request that is not zero never becomes
  // zero.
  if (!amount.is_zero()) amount.round_up(-kNano);
  if (suffix->binary) {
    const BigDecimal most(std::numeric_limits<int64_t>::max(), 0);
    if (amount.compare(most) > 0) amount = most;
    if (!amount.is_zero() && amount.compare(BigDecimal(1, 0)) < 0)
      result.format_ = Format::kDecimalSI;
  }
  if (parts->negative) amount.negate();
  result.become(std::move(amount));
  return result;
}

Result<Quantity> Quantity::parse_json(std::string_view json) {
  if (json == "null") return Quantity();
  if (json.size() >= 2 && json.front() == '"' && json.back() == '"') {
    json = json.substr(1, json.size() - 2);
  }
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!json.empty() && space(json.front())) json.remove_prefix(1);
  while (!json.empty() && space(json.back())) json.remove_suffix(1);
  return parse(json);
}

}  // namespace plimsoll
