#include "config/problem.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <tuple>

namespace plimsoll::config {

std::string to_string(const Problem& problem, std::string_view file) {
  std::string out(file);
  if (problem.at.line > 0) {
    out += ':' + std::to_string(problem.at.line) + ':' + std::to_string(problem.at.column);
  }
  out += ": ";
  const bool named = problem.message.find('"' + problem.path + '"') != std::string::npos;
  if (!problem.path.empty() && !named) out += problem.path + ": ";
  return out + problem.message;
}

std::string to_string(const Problems& problems, std::string_view file) {
  std::string out;
  for (const Problem& problem : problems) out += to_string(problem, file) + '\n';
  return out;
}

void sort_by_position(Problems& problems) {
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
  });
  const auto same = [](const Problem& a, const Problem& b) {
    return a.at == b.at && a.path == b.path && a.message == b.message;
  };
  problems.erase(std::unique(problems.begin(), problems.end(), same), problems.end());
}

bool mentions(const Problems& problems, std::string_view path) {
  const std::string_view parent = path.substr(0, std::min(path.rfind('.'), path.size()));
  return std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
    return problem.path == path || problem.path == parent;
  });
}

std::string child_path(std::string_view parent, std::string_view name) {
  if (parent.empty()) return std::string(name);
  return std::string(parent) + '.' + std::string(name);
}

std::string index_path(std::string_view parent, std::size_t index) {
  return std::string(parent) + '[' + std::to_string(index) + ']';
}

std::string go_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          char escape[8];
          std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(c));
          out += escape;
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string invalid_value(std::string_view value, std::string_view detail) {
  return "Invalid value: " + std::string(value) + ": " + std::string(detail);
}

std::string required_value(std::string_view detail) {
  return detail.empty() ? "Required value" : "Required value: " + std::string(detail);
}

std::string duplicate_value(std::string_view value) {
  return "Duplicate value: " + go_quoted(value);
}

std::string unsupported_value(std::string_view value, const std::vector<std::string>& supported) {
  std::string out = "Unsupported value: " + go_quoted(value) + ": supported values: ";
  for (std::size_t i = 0; i < supported.size(); ++i) {
    out += (i == 0 ? "" : ", ") + go_quoted(supported[i]);
  }
  return out;
}

std::string forbidden(std::string_view detail) {
  return "Forbidden: " + std::string(detail);
}

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// The number of letters to insert, delete, replace or swap with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kLongestWord =
      100;  // nobody mistypes longer names, and the cost is quadratic
  if (word.size() > kLongestWord) return {};
  std::string best;
  std::size_t best_distance = word.size() / 3 + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(lower(word), lower(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace plimsoll::config
