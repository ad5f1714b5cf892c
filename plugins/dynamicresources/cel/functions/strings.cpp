// Functions of strings.
#include <algorithm>
#include <string>

#include "plugins/dynamicresources/cel/functions/functions.hpp"
#include "plugins/dynamicresources/cel/text/points.hpp"

namespace plimsoll::dra::cel {
namespace {

constexpr int64_t kAllOfThem = -1;

bool charge_search(Run& run, std::string_view text, std::string_view part) {
  return run.charge(1 + (text.size() / 10 + 1) * (part.size() + 1) / 4);
}

Value size_of_text(Run& run, Arguments a) {
  if (!run.charge_text(a[0].text.size())) return Run::out_of_steps();
  return Value::of_int(
      static_cast<int64_t>(a[0].kind == Kind::kBytes ? a[0].text.size() : count_points(a[0].text)));
}

Value contains(Run& run, Arguments a) {
  if (!charge_search(run, a[0].text, a[1].text)) return Run::out_of_steps();
  return Value::of_bool(a[0].text.find(a[1].text) != std::string_view::npos);
}

Value begins_with(Run&, Arguments a) {
  return Value::of_bool(a[0].text.starts_with(a[1].text));
}
Value ends_with(Run&, Arguments a) {
  return Value::of_bool(a[0].text.ends_with(a[1].text));
}

Value out_of_range(Run& run, int64_t index) {
  return run.fail("index out of range: " + std::to_string(index));
}

// The code points [begin, end) of a text.
Value part_of(Run& run, std::string_view text, int64_t begin, int64_t end) {
  const auto starts = starts_of(text);
  const auto count = static_cast<int64_t>(starts.size()) - 1;
  if (begin < 0 || begin > count) return out_of_range(run, begin);
  if (end < 0 || end > count) return out_of_range(run, end);
  const size_t first = starts[static_cast<size_t>(begin)];
  return Value::of_string(text.substr(first, starts[static_cast<size_t>(end)] - first));
}

Value char_at(Run& run, Arguments a) {
  if (!run.charge_text(a[0].text.size())) return Run::out_of_steps();
  const int64_t at = a[1].integer;
  const auto count = static_cast<int64_t>(count_points(a[0].text));
  return part_of(run, a[0].text, at, at >= count ? at : at + 1);
}

Value substring(Run& run, Arguments a) {
  if (!run.charge_text(a[0].text.size())) return Run::out_of_steps();
  const auto count = static_cast<int64_t>(count_points(a[0].text));
  const int64_t begin = a[1].integer, end = a.size() > 2 ? a[2].integer : count;
  if (a.size() > 2 && begin > end) return Value::of_error("invalid substring range");
  return part_of(run, a[0].text, begin, end);
}

// Where in the text, in code points; -1: nowhere.
Value place_in(std::string_view text, size_t at) {
  if (at == std::string_view::npos) return Value::of_int(-1);
  return Value::of_int(static_cast<int64_t>(count_points(text.substr(0, at))));
}

Value index_of_text(Run& run, Arguments a) {
  const std::string_view text = a[0].text, part = a[1].text;
  const int64_t from = a.size() > 2 ? a[2].integer : 0;
  if (!charge_search(run, text, part)) return Run::out_of_steps();
  if (from < 0) return out_of_range(run, from);
  const auto starts = starts_of(text);
  const auto count = static_cast<int64_t>(starts.size()) - 1;
  if (part.empty()) return Value::of_int(std::min(from, count));
  if (from >= count) return Value::of_int(-1);
  return place_in(text, text.find(part, starts[static_cast<size_t>(from)]));
}

Value last_index_of_text(Run& run, Arguments a) {
  const std::string_view text = a[0].text, part = a[1].text;
  if (!charge_search(run, text, part)) return Run::out_of_steps();
  const auto starts = starts_of(text);
  const auto count = static_cast<int64_t>(starts.size()) - 1;
  if (a.size() == 2) return part.empty() ? Value::of_int(count) : place_in(text, text.rfind(part));
  const int64_t from = a[2].integer;
  if (from < 0) return out_of_range(run, from);
  if (part.empty()) return Value::of_int(std::min(from, count));
  if (from >= count) return Value::of_int(-1);
  return place_in(text, text.rfind(part, starts[static_cast<size_t>(from)]));
}

// With each byte from `first` to `last` moved to another letter.
Value moved_letters(Run& run, std::string_view text, char first, char last, int by) {
  std::string moved(text);
  for (char& c : moved)
    if (c >= first && c <= last) c = static_cast<char>(c + by);
  return run.string(moved);
}

Value lower_ascii(Run& run, Arguments a) {
  return moved_letters(run, a[0].text, 'A', 'Z', 'a' - 'A');
}
Value upper_ascii(Run& run, Arguments a) {
  return moved_letters(run, a[0].text, 'a', 'z', 'A' - 'a');
}

Value trimmed(Run& run, Arguments a) {
  constexpr std::string_view kSpaces[] = {
      " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\u0085", "\u00A0", "\u1680",
      "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
      "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000"};
  std::string_view text = a[0].text;
  if (!run.charge_text(text.size() * 2)) return Run::out_of_steps();
  const auto begins = [&](std::string_view space) { return text.starts_with(space); };
  const auto ends = [&](std::string_view space) { return text.ends_with(space); };
  for (auto at = std::begin(kSpaces); at != std::end(kSpaces);) {
    at = std::find_if(std::begin(kSpaces), std::end(kSpaces), begins);
    if (at != std::end(kSpaces)) text.remove_prefix(at->size());
  }
  for (auto at = std::begin(kSpaces); at != std::end(kSpaces);) {
    at = std::find_if(std::begin(kSpaces), std::end(kSpaces), ends);
    if (at != std::end(kSpaces)) text.remove_suffix(at->size());
  }
  return Value::of_string(text);
}

Value quoted(Run& run, Arguments a) {
  constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"", kLetters = "abfnrtv\\\"";
  if (!run.charge_text(a[0].text.size())) return Run::out_of_steps();
  std::string text = "\"";
  for (char c : a[0].text) {
    const size_t at = kSpecial.find(c);
    if (at != std::string_view::npos) text += '\\';
    text += at == std::string_view::npos ? c : kLetters[at];
  }
  return run.string(text + '"');
}

// Replaces the first `most` occurrences. An empty `from` is found in front of each code point and
// at the end.
Value replaced(Run& run, Arguments a) {
  std::string_view rest = a[0].text;
  const std::string_view from = a[1].text, to = a[2].text;
  int64_t left = a.size() > 3 ? a[3].integer : kAllOfThem;
  if (!charge_search(run, rest, from)) return Run::out_of_steps();
  std::string text;
  for (; left != 0; --left) {
    const size_t at = rest.find(from);
    if (at == std::string_view::npos) break;
    if (!run.charge_text(at + to.size())) return Run::out_of_steps();
    text.append(rest.substr(0, at)).append(to);
    rest.remove_prefix(at + from.size());
    if (!from.empty()) continue;
    if (rest.empty()) return run.string(text);
    const size_t size = first_size(rest);
    text.append(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return run.string(text.append(rest));
}

// The size of the next piece, and how much it and the separator take; an empty separator stands
// between all code points.
struct Piece {
  size_t size, taken;
};

Piece next_piece(std::string_view rest, std::string_view separator) {
  if (separator.empty()) return {first_size(rest), first_size(rest)};
  const size_t at = rest.find(separator);
  if (at == std::string_view::npos) return {rest.size(), rest.size() + 1};
  return {at, at + separator.size()};
}

std::vector<std::string_view> pieces_of(std::string_view rest, std::string_view separator,
                                        int64_t most) {
  std::vector<std::string_view> pieces;
  if (most == 0 || (separator.empty() && rest.empty())) return pieces;
  for (; most < 0 || static_cast<int64_t>(pieces.size()) < most - 1;) {
    const Piece piece = next_piece(rest, separator);
    if (piece.taken >= rest.size() + (separator.empty() ? 0 : 1)) break;
    pieces.push_back(rest.substr(0, piece.size));
    rest.remove_prefix(piece.taken);
  }
  pieces.push_back(rest);
  return pieces;
}

Value split(Run& run, Arguments a) {
  const int64_t most = a.size() > 2 ? a[2].integer : kAllOfThem;
  if (!charge_search(run, a[0].text, a[1].text) || !run.charge(a[0].text.size() / 4))
    return Run::out_of_steps();
  const auto pieces = pieces_of(a[0].text, a[1].text, most);
  const auto items = run.room<Value>(pieces.size());
  for (size_t i = 0; i < items.size(); ++i) items[i] = Value::of_string(pieces[i]);
  return run.list(items);
}

Value join(Run& run, Arguments a) {
  const std::string_view separator = a.size() > 1 ? a[1].text : std::string_view();
  std::string text;
  bool first = true;
  for (const Value& item : a[0].list->items) {
    if (item.kind != Kind::kString) return Value::of_error("join: invalid input");
    if (!run.charge_text(item.text.size() + separator.size())) return Run::out_of_steps();
    if (!first) text.append(separator);
    text.append(item.text);
    first = false;
  }
  return run.string(text);
}

constexpr Function kStrings[] = {
    {"size", "(bytes) int|bytes.() int|(string) int|string.() int", size_of_text},
    {"contains", "string.(string) bool", contains},
    {"startsWith", "string.(string) bool", begins_with},
    {"endsWith", "string.(string) bool", ends_with},
    {"charAt", "string.(int) string", char_at},
    {"substring", "string.(int) string|string.(int, int) string", substring},
    {"indexOf", "string.(string) int|string.(string, int) int", index_of_text},
    {"lastIndexOf", "string.(string) int|string.(string, int) int", last_index_of_text},
    {"lowerAscii", "string.() string", lower_ascii},
    {"upperAscii", "string.() string", upper_ascii},
    {"trim", "string.() string", trimmed},
    {"strings.quote", "(string) string", quoted},
    {"replace", "string.(string, string) string|string.(string, string, int) string", replaced},
    {"split", "string.(string) list(string)|string.(string, int) list(string)", split},
    {"join", "list(string).() string|list(string).(string) string", join},
};

}  // namespace

std::span<const Function> string_functions() {
  return kStrings;
}

}  // namespace plimsoll::dra::cel
