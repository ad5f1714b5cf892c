#pragma once
// What clients wrote to an API server, by its own audit log: who wrote what how often, also across
// restarts of everything else.

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "tests/kube/kube_fixture.hpp"

namespace plimsoll::test {

// Writes to one pod by one user, without its events.
struct PodWrites {
  int bound = 0;           // POST pods/NAME/binding that succeeded
  int lost_binds = 0;      // that a client or server died over: done or not, nobody heard
  int refused_binds = 0;   // that the server refused
  int status_patches = 0;  // PATCH pods/NAME/status
  int others = 0;          // anything else
};

// When the server got and did what it was asked about a pod, by its own clock; only what succeeded.
struct PodTimes {
  using Time = std::chrono::system_clock::time_point;
  std::optional<Time> create;          // the request to create it
  std::optional<Time> binding, bound;  // the request to bind it, and the answer
};

// What begins as "2026-01-31T12:00:00.123456Z", with any number of digits behind the point.
[[nodiscard]] PodTimes::Time utc_time(const std::string& text);

// A request to bind a pod, and how it ended.
struct BindingRecord {
  enum class End { kDone, kLost, kRefused };
  std::string pod;  // namespace/name
  PodTimes::Time received, answered;
  End end = End::kDone;  // kLost: a client or server died over it: done or not, nobody heard
};

class AuditLog {
 public:
  // Writes the policy file into the folder, which must outlive the API server.
  explicit AuditLog(const std::filesystem::path& folder);

  // The API server flags that make it write this log.
  [[nodiscard]] std::vector<std::string> flags() const;

  [[nodiscard]] const std::filesystem::path& file() const { return log_; }

  // Reads the whole log: by "namespace/name", the user's writes to pods.
  [[nodiscard]] std::map<std::string, PodWrites> pod_writes(const std::string& user) const;
  // Successful bindings so far; cheap enough to ask often.
  [[nodiscard]] int bindings();
  // By "namespace/name", whoever wrote.
  [[nodiscard]] std::map<std::string, PodTimes> pod_times() const;
  // In the order in which the requests arrived, whoever wrote.
  [[nodiscard]] std::vector<BindingRecord> binding_records() const;
  // What the user was forbidden, and what it did, by the rights that this takes: "list nodes",
  // "create pods/binding", "watch replicasets.apps". `from`: what size() said before.
  [[nodiscard]] std::set<std::string> forbidden(const std::string& user,
                                                std::size_t from = 0) const;
  [[nodiscard]] std::set<std::string> used(const std::string& user, std::size_t from = 0) const;
  [[nodiscard]] std::size_t size() const;

 private:
  [[nodiscard]] std::set<std::string> rights(const std::string& user, std::size_t from,
                                             bool granted) const;

  std::filesystem::path policy_;
  std::filesystem::path log_;
  std::size_t counted_bytes_ = 0;
  int bindings_ = 0;
};

}  // namespace plimsoll::test
