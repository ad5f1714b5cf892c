#pragma once
// The server's record of its requests: counters, the log hook, fault rules. Thread-safe.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lab/sandbox/apiserver/api_server.hpp"

namespace plimsoll::sandbox {

class Traffic {
 public:
  void record(const RequestRecord& record);
  void set_hook(std::function<void(const RequestRecord&)> hook);
  [[nodiscard]] bool has_hook() const;

  [[nodiscard]] std::vector<RequestCount> counts() const;
  [[nodiscard]] std::uint64_t writes(const std::string& resource) const;
  void reset();

  void inject(Fault fault);
  void clear_faults();
  // Returns the first matching rule and decrements its count.
  [[nodiscard]] std::optional<Fault> take_fault(const Route& route);

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, RequestCount> counts_;
  std::function<void(const RequestRecord&)> hook_;
  std::vector<Fault> faults_;
  std::mt19937_64 dice_;
};

}  // namespace plimsoll::sandbox
