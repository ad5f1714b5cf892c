#include "config/text/problem.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
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
  return "Unsupported value: " + go_quoted(value) +
         ": supported values: " + sdk::join(supported, ", ", go_quoted);
}

std::string forbidden(std::string_view detail) {
  return "Forbidden: " + std::string(detail);
}

}  // namespace plimsoll::config
