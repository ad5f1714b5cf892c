#pragma once
// Text in columns.

#include <string>
#include <vector>

namespace plimsoll::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row);
  [[nodiscard]] bool empty() const { return rows_.size() == 1; }

  // One line per row; columns are as wide as their widest text, with two blanks between them.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace plimsoll::cli
