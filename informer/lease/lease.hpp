#pragma once
// One Lease of coordination.k8s.io/v1, as leader election uses it: read, created, and replaced only
// if nobody else has changed it meanwhile.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "framework/base/result.hpp"
#include "informer/http/http_client.hpp"

namespace plimsoll::informer {

// What a Lease says. Kubernetes: LeaderElectionRecord. The times are texts, as they stand in the
// object: nobody computes with another machine's clock.
struct LeaseRecord {
  std::string holder;  // empty: released
  std::int64_t duration_seconds = 0;
  std::string acquire_time;
  std::string renew_time;
  std::int64_t transitions = 0;

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

// For one thread; every call blocks until it is answered, `timeout` and a moment at most
// (kUnavailable then, and a write may have been carried out or not).
class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  virtual Result<LeaseRecord> get(std::chrono::milliseconds timeout) = 0;  // kNotFound: none
  // kConflict: there is one already.
  virtual Result<void> create(const LeaseRecord& record, std::chrono::milliseconds timeout) = 0;
  // Replaces what was last read or written here. kConflict: it has changed since. What is in the
  // object besides the record (labels, annotations) stays.
  virtual Result<void> update(const LeaseRecord& record, std::chrono::milliseconds timeout) = 0;
};

// The Lease in an API server.
class ApiServerLease final : public LeaseStore {
 public:
  // `client` must outlive it; its stop() ends a call that is under way (kCancelled).
  ApiServerLease(HttpClient& client, std::string ns, std::string name);
  ~ApiServerLease() override;

  Result<LeaseRecord> get(std::chrono::milliseconds timeout) override;
  Result<void> create(const LeaseRecord& record, std::chrono::milliseconds timeout) override;
  Result<void> update(const LeaseRecord& record, std::chrono::milliseconds timeout) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer
