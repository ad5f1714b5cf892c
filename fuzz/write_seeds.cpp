// fuzz_seeds OUT: writes the seeds of all targets to OUT/TARGET/, and their words to
// OUT/TARGET.dict, libFuzzer's dictionary.

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz/seeds.hpp"

namespace {

using plimsoll::fuzz::seeds;

constexpr std::size_t kMostWords = 300;
constexpr std::size_t kLongestWord = 48;

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '/' ||
         c == '_';
}

// The words that occur in the most inputs.
std::vector<std::string> words_of(const std::set<std::string>& inputs) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& input : inputs) {
    std::set<std::string> words;
    for (auto at = input.begin(); at != input.end();) {
      const auto begin = std::find_if(at, input.end(), is_of_word);
      at = std::find_if_not(begin, input.end(), is_of_word);
      const auto size = static_cast<std::size_t>(at - begin);
      if (size >= 2 && size <= kLongestWord) words.emplace(begin, at);
    }
    for (const std::string& word : words) ++counts[word];
  }
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [word, count] : counts) order.emplace_back(count, word);
  std::sort(order.rbegin(), order.rend());
  std::vector<std::string> words;
  for (const auto& [count, word] : order) {
    if (words.size() < kMostWords) words.push_back(word);
  }
  return words;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (!(file << text).flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace

int main(int count, char** args) try {
  if (count != 2) {
    std::cerr << "usage: fuzz_seeds OUT (in the root of the tree)\n";
    return 2;
  }
  const std::filesystem::path out = args[1];
  for (const auto& [target, inputs] : seeds()) {
    std::filesystem::create_directories(out / target);
    std::size_t number = 0;
    for (const std::string& input : inputs) {
      write(out / target / ("seed-" + std::to_string(number++)), input);
    }
    std::string dictionary;
    for (const std::string& word : words_of(inputs)) dictionary += '"' + word + "\"\n";
    write(out / (target + ".dict"), dictionary);
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "fuzz_seeds: " << error.what() << '\n';
  return 1;
}
