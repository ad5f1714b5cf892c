#include "node/machine/description_bounds.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <string>

namespace plimsoll::node {
namespace {

constexpr std::size_t kMostObjects = 65'536;
constexpr std::size_t kMostLevels = 128;
constexpr std::size_t kMostDistances = 4'096;  // on a side of a matrix
constexpr std::size_t kLongestSynthetic = 65'536;
constexpr const char* kNotAnExport =
    "not an XML export of hwloc; make one on the machine with `lstopo --of xml FILE`";

tl::unexpected<Error> refused(const std::string& why) {
  return fail(ErrorCode::kInvalid, why);
}

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// No number, or too large a one: the largest there is.
std::uint64_t number(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, base);
  return parsed.ec == std::errc() && parsed.ptr == end ? value : UINT64_MAX;
}

// The tags of an export, one after the other. All that reads XML must agree where they end, so
// there is neither < nor > in quotes.
class Tags {
 public:
  explicit Tags(std::string_view xml) : rest_(xml) {}

  // The next one, without < and >. False: there is none, or this is no XML as lstopo writes it.
  bool next(std::string_view& tag) {
    const std::size_t begin = rest_.find('<');
    if (begin == std::string_view::npos) return false;
    rest_.remove_prefix(begin + 1);
    const std::size_t end = rest_.find('>');
    tag = rest_.substr(0, end);
    strange_ = end == std::string_view::npos || tag.find('<') != tag.npos || ends_in_quotes(tag);
    rest_.remove_prefix(tag.size());
    return !strange_;
  }
  [[nodiscard]] bool strange() const { return strange_; }

 private:
  static bool ends_in_quotes(std::string_view tag) {
    char quote = 0;
    for (const char c : tag) {
      if (c == quote) {
        quote = 0;
      } else if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      }
    }
    return quote != 0;
  }

  std::string_view rest_;
  bool strange_ = false;
};

// Calls `each` with the attributes of a tag.
template <typename Each>
void attributes(std::string_view tag, Each each) {
  for (std::size_t equals = tag.find('='); equals != std::string_view::npos;
       equals = tag.find('=')) {
    std::size_t begin = equals;
    while (begin > 0 && is_word(tag[begin - 1])) --begin;
    const std::string_view name = tag.substr(begin, equals - begin);
    tag.remove_prefix(equals + 1);
    if (tag.empty() || (tag.front() != '"' && tag.front() != '\'')) continue;
    const std::size_t end = tag.find(tag.front(), 1);
    each(name, tag.substr(1, end == std::string_view::npos ? end : end - 1));
    tag.remove_prefix(end == std::string_view::npos ? tag.size() : end + 1);
  }
}

std::string small(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Of an XML declaration: what it says is UTF-8, or nothing.
bool is_utf8(std::string_view tag) {
  bool utf8 = true;
  attributes(tag, [&](std::string_view name, std::string_view value) {
    if (name == "encoding") utf8 = small(value) == "utf-8";
  });
  return utf8;
}

Result<void> check_object(std::string_view tag) {
  std::uint64_t highest = 0;
  bool is_cpu = false;
  bool is_zone = false;
  bool is_escaped = false;
  attributes(tag, [&](std::string_view name, std::string_view value) {
    const bool counts = name == "os_index" || name == "type";
    is_escaped = is_escaped || (counts && value.find('&') != value.npos);
    if (name == "os_index") highest = std::max(highest, number(value));
    if (name != "type") return;
    const std::string type = small(value);
    is_cpu = is_cpu || type.starts_with("pu");
    is_zone = is_zone || type.starts_with("numa") || type.starts_with("node");
  });
  if (is_escaped) return refused(kNotAnExport);
  if (is_cpu && highest > kMaxCpuId) {
    return refused("CPU ids go from 0 to " + std::to_string(kMaxCpuId) + ", not to " +
                   std::to_string(highest));
  }
  if (is_zone && highest >= kMaxZones) {
    return refused("NUMA node ids go from 0 to " + std::to_string(kMaxZones - 1) + ", not to " +
                   std::to_string(highest));
  }
  return {};
}

// A level of a synthetic description: TYPE:COUNT or COUNT.
class Synthetic {
 public:
  explicit Synthetic(std::string_view text) : rest_(text) {}

  Result<void> check() {
    std::uint64_t width = 1;
    std::uint64_t objects = 1;
    bool fits = skip_attributes();
    for (skip_spaces(); fits && !rest_.empty(); skip_spaces()) {
      if (rest_.front() == '[') {
        fits = skip_to(']');  // memory of each object so far
      } else {
        const std::uint64_t count = level(fits);
        if (!fits) break;
        width = count > kMostObjects ? kMostObjects + 1 : width * count;
      }
      objects += width;
      if (width > kMaxCpuId + 1) {
        return refused("describes more than " + std::to_string(kMaxCpuId + 1) + " CPUs");
      }
      if (objects > kMostObjects) {
        return refused("describes more than " + std::to_string(kMostObjects) + " objects");
      }
    }
    if (fits) return {};
    return refused(
        "not a synthetic description of hwloc, such as \"pack:2 numa:2 core:8 pu:2\"; see the "
        "manual page hwloc(7), and try it with `lstopo --input DESCRIPTION`");
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  }
  bool skip_to(char end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + 1);
    return true;
  }
  bool skip_attributes() {
    skip_spaces();
    return !rest_.starts_with('(') || skip_to(')');
  }
  std::string_view word() {
    const auto end = std::ranges::find_if_not(rest_, is_word);
    const std::string_view found(rest_.data(), static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(found.size());
    return found;
  }
  std::uint64_t level(bool& fits) {
    std::string_view count = word();
    if (rest_.starts_with(':')) {
      rest_.remove_prefix(1);
      count = word();
    }
    fits = !count.empty() && std::isdigit(static_cast<unsigned char>(count.front())) != 0;
    const std::uint64_t counted = number(count);
    fits = fits && skip_attributes();
    return counted;
  }

  std::string_view rest_;
};

}  // namespace

Result<void> check_export(std::string_view xml) {
  if (xml.size() > kLargestExport) {
    return refused("is larger than " + std::to_string(kLargestExport >> 20) + " MiB");
  }
  // What is looked at here as it stands, hwloc's XML library decodes as the file says.
  if (!xml.starts_with('<') || xml.find('\0') != xml.npos) return refused(kNotAnExport);
  std::size_t objects = 0;
  std::size_t levels = 0;
  Tags tags(xml);
  for (std::string_view tag; tags.next(tag);) {
    if (tag.starts_with("?xml") && !is_utf8(tag)) return refused("is not in UTF-8");
    if (tag.starts_with('!') && (!tag.starts_with("!DOCTYPE") || tag.find('[') != tag.npos)) {
      return refused(std::string(kNotAnExport) + " (it has a comment, CDATA or entities)");
    }
    if (tag.starts_with("/object")) levels -= std::min<std::size_t>(levels, 1);
    if (tag.starts_with("distances")) {
      std::uint64_t side = 0;
      attributes(tag, [&](std::string_view name, std::string_view value) {
        if (name == "nbobjs") side = std::max(side, number(value));
      });
      if (side > kMostDistances) {
        return refused("has distances of more than " + std::to_string(kMostDistances) + " objects");
      }
    }
    if (!tag.starts_with("object")) continue;
    if (auto checked = check_object(tag); !checked) return checked;
    if (++objects > kMostObjects) {
      return refused("has more than " + std::to_string(kMostObjects) + " objects");
    }
    if (!tag.ends_with('/') && ++levels > kMostLevels) {
      return refused("is nested more than " + std::to_string(kMostLevels) + " levels deep");
    }
  }
  if (tags.strange() || objects == 0) return refused(kNotAnExport);
  return {};
}

Result<void> check_synthetic(std::string_view text) {
  if (text.size() > kLongestSynthetic) {
    return refused("is longer than " + std::to_string(kLongestSynthetic) + " bytes");
  }
  return Synthetic(text).check();
}

}  // namespace plimsoll::node
