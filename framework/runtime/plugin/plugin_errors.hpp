#pragma once
// What plugins log as errors, for whoever tries them: a function that returns nothing has no other
// way to say that it threw.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll {

// While one lives, the errors that plugins log on this thread are kept in it, and not logged. One
// at a time.
class PluginErrors {
 public:
  PluginErrors() { kept_in_ = this; }
  ~PluginErrors() { kept_in_ = nullptr; }
  PluginErrors(const PluginErrors&) = delete;
  PluginErrors& operator=(const PluginErrors&) = delete;

  // False: nobody keeps it.
  static bool keep(std::string_view plugin, std::string_view text) {
    if (kept_in_ != nullptr) kept_in_->errors_.emplace_back(plugin, text);
    return kept_in_ != nullptr;
  }
  // Plugin and text of each since the last call.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> take() {
    return std::exchange(errors_, {});
  }

 private:
  static inline thread_local constinit PluginErrors* kept_in_ = nullptr;

  std::vector<std::pair<std::string, std::string>> errors_;
};

}  // namespace plimsoll
