#pragma once
// What is wrong with a text from outside, for people: the first ten, and how many more there are. A
// text may have something wrong in each of its thousands of entries.

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::devices {

class ProblemList {
 public:
  static constexpr size_t kMost = 10;

  void add(std::string text) {
    if (++count_ <= kMost) texts_.push_back(std::move(text));
  }
  void add(const ProblemList& others) {
    for (const std::string& text : others.texts_) add(text);
    count_ += others.count_ - others.texts_.size();
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> all = texts_;
    if (count_ > all.size()) all.push_back("and " + std::to_string(count_ - all.size()) + " more");
    return all;
  }

 private:
  std::vector<std::string> texts_;
  size_t count_ = 0;
};

}  // namespace plimsoll::devices
