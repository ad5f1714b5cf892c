#pragma once
// Options that several commands have.

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "framework/base/log.hpp"

namespace plimsoll::cli {

void add_plugin_option(CLI::App& command, std::vector<std::string>& directories);
void add_lenient_flag(CLI::App& command, bool& lenient);
// -o, --output: text or json.
void add_output_option(CLI::App& command, std::string& output);

struct LogArguments {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};
void add_log_options(CLI::App& command, LogArguments& arguments);

// An option whose value is one of a few words. `words` lives as long as the program.
template <typename Value>
void add_choice(CLI::App& command, const std::string& flag, Value& into,
                const std::map<std::string, Value>& words, const std::string& text) {
  std::vector<std::string> known;
  std::string now;
  for (const auto& [word, value] : words) {
    known.push_back(word);
    if (value == into) now = word;
  }
  command
      .add_option_function<std::string>(
          flag, [&into, &words](const std::string& word) { into = words.at(word); }, text)
      ->check(CLI::IsMember(known))
      ->default_str(now);
}

}  // namespace plimsoll::cli
