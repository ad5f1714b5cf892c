#pragma once
// `plimsoll plugins lint`: what a plugin reads and does not declare (framework/lint).

#include <cstdint>
#include <string>
#include <vector>

#include "framework/lint/lint.hpp"

namespace plimsoll::cli {

struct LintArguments {
  std::vector<std::string> files;    // plugin files
  std::vector<std::string> builtin;  // names of built-in plugins; "all"
  std::vector<std::string> plugins;  // only these; empty: all of the above
  std::vector<std::string> args;     // FILE, or NAME=FILE
  std::vector<std::string> objects;  // files of manifests
  std::vector<std::string> words;    // beside those in the files
  std::uint64_t rounds = 20;
  std::uint64_t seed = 1;
  std::string output = "text";
};

// Runs the plugins in a process of its own, so that one that crashes is told of too. Exit status 0:
// nothing was found, 1: something was, 2: it did not work.
[[nodiscard]] int lint_plugins(const LintArguments& arguments);

// Reports for people, and as JSON.
[[nodiscard]] std::string lint_text(const std::vector<lint::Report>& reports,
                                    const LintArguments& arguments);
[[nodiscard]] std::string lint_json(const std::vector<lint::Report>& reports,
                                    const LintArguments& arguments);

}  // namespace plimsoll::cli
