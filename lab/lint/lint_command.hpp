#pragma once
// `plimsoll plugins lint`: finds what a plugin reads and does not declare (lint).

#include <cstdint>
#include <string>
#include <vector>

#include "lab/lint/lint.hpp"

namespace plimsoll::cli {

struct LintArguments {
  std::vector<std::string> files;    // plugin files
  std::vector<std::string> builtin;  // names of built-in plugins; "all"
  std::vector<std::string> plugins;  // only these; empty: all of the above
  std::vector<std::string> args;     // FILE, or NAME=FILE
  std::vector<std::string> objects;  // files of manifests
  std::vector<std::string> words;    // additional to those in the files
  std::uint64_t rounds = 20;
  std::uint64_t seed = 1;
  std::int64_t call_timeout_s = 60;  // the longest that one call of a plugin may take
  std::string output = "text";
};

// Runs the plugins in a separate process, so that a crash is reported too, and a call that does not
// return. Exit status 0: no
// findings, 1: findings, 2: failure.
[[nodiscard]] int lint_plugins(const LintArguments& arguments);

// Reports as text and as JSON.
[[nodiscard]] std::string lint_text(const std::vector<lint::Report>& reports,
                                    const LintArguments& arguments);
[[nodiscard]] std::string lint_json(const std::vector<lint::Report>& reports,
                                    const LintArguments& arguments);

}  // namespace plimsoll::cli
