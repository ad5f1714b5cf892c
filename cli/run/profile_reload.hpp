#pragma once
// Takes a changed profile file into use while the scheduler runs.
//
// The file is checked by a process of its own, which makes the plugins as this one would: whatever
// is wrong in it, and whatever it does to a plugin, this process goes on as before. A good file is
// taken into use by a clean stop and a new start of the same program in the same process: every
// plugin then reads all objects afresh, as after any restart, and what was promised is in the pods.
// Only the thread that runs the program calls these.

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "config/validate.hpp"
#include "framework/metrics/registry.hpp"

namespace plimsoll::cli {

// Notices that a file, or the file behind a symbolic link, was written, replaced or removed.
class FileWatch {
 public:
  explicit FileWatch(std::string path);
  // True once for each change, when the file was the same at two calls in a row: whoever writes it
  // has ended.
  [[nodiscard]] bool changed();

 private:
  struct State {
    bool there = false;
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t size = 0;
    int64_t seconds = 0;  // of the last modification
    int64_t nanoseconds = 0;
    bool operator==(const State&) const = default;
  };
  [[nodiscard]] State look() const;

  const std::string path_;
  State taken_;  // the one that changed() was last true for
  State seen_;
};

struct ProfileCheck {
  enum class Result { kUsable, kUnchanged, kRefused, kStopped };
  Result result = Result::kRefused;
  std::string reason = {};   // of a refusal, in one line: kubectl shows no more of an event
  std::string meaning = {};  // kUsable: the effective configuration that it makes, as YAML
};

// The schedulers of a configuration that another one does not have: "a, b". Nobody tries their pods
// any more. Both are effective configurations, as this program prints them.
[[nodiscard]] std::string schedulers_left_out(std::string_view before, std::string_view now);

// Whether an extender has keyData.
[[nodiscard]] bool has_private_key(const config::Validation& configuration);

// The effective configuration as YAML, and a hash of what it does not show: the certificates and
// keys of extenders. Equal texts mean the same.
[[nodiscard]] std::string meaning_of(const config::Validation& configuration);

// Checks the file that this process was started with, as it is now. `in_force`: the meaning of the
// one that runs. Blocks for a minute at most; kStopped: `stop` was requested.
[[nodiscard]] ProfileCheck check_profile_file(const std::string& in_force,
                                              const std::stop_token& stop);

// What became of changed files, since the process began: starts anew count on.
class ProfileMetrics {
 public:
  // Any number of times per registry; all show the same.
  explicit ProfileMetrics(metrics::Registry& registry);
  void count(ProfileCheck::Result result) const;  // kUsable: by the program that takes it into use

 private:
  metrics::Family<metrics::Counter> reloads_;
  metrics::Gauge refused_;
};

// Starts this process's program anew, with its arguments. Returns only if that fails, with the
// reason. Everything must have been stopped: no other thread goes on.
[[nodiscard]] std::string start_anew();

}  // namespace plimsoll::cli
