#include "cli/line/table.hpp"

#include <algorithm>
#include <utility>

#include "framework/base/shown.hpp"

namespace plimsoll::cli {

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = shown(cell);
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  return text;
}

}  // namespace plimsoll::cli
