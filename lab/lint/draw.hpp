#pragma once
// Random JSON from patterns, the same for the same seed, whatever the standard library.
//
// A pattern is JSON, and draws itself but for:
//   "{a|b}m"         one of the texts; "{1-8}", "{500-4000/250}": a number (in steps); "{app}": one
//                    of the list "app"; of entries "key=value" the key, and "{=}" is then the value
//   "#{1-8}"         what the text is as JSON: a number, true, null
//   "=name"          a value of the part "name"; "==name": the same value again
//   "=/spec/x"       the value there in the object to be changed; null: none
//   {"|": [a, b]}    one of them; a null leaves out what it stands for
//   {"+": [a, b]}    lists one behind the other, or objects, later keys first
//   {"~": a}         about half of the entries of an object; {"~3": a}: 1 to 3 of them
//   {"'": a}         just that
//   [a, {"?3": b}]   b only once in three times; [{"*3": a}]: 0 to 3 times
//   {"key?3": a}     the same for a key, "key?2/3": twice in three times; {"{app}*3": a}: 0 to 3
//   keys
//   {"@app?2": a}    for each of the list "app"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::lint {

using Json = nlohmann::json;

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}

  [[nodiscard]] size_t below(size_t limit) { return static_cast<size_t>(engine_() % limit); }
  [[nodiscard]] bool one_in(size_t count) { return below(count) == 0; }
  [[nodiscard]] const auto& of(const auto& choices) { return choices[below(choices.size())]; }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

struct Words {
  std::map<std::string, std::vector<std::string>> lists;
  Json parts = Json::object();
};

// `self`: the object to be changed. A pattern that is none of the above ends the process: patterns
// are a program's own.
[[nodiscard]] Json draw(Dice& dice, const Json& pattern, const Words& words = {},
                        const Json& self = nullptr);

}  // namespace plimsoll::lint
