#pragma once
// One Lease of coordination.k8s.io/v1 for leader election: it is read, created, and replaced only
// if nobody else has changed it meanwhile.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "framework/base/result.hpp"
#include "informer/http/http_client.hpp"

namespace plimsoll::informer {

// The content of a Lease. Kubernetes: LeaderElectionRecord. Times stay text as in the object,
// because nothing calculates with another machine's clock.
struct LeaseRecord {
  std::string holder;  // empty: released
  std::int64_t duration_seconds = 0;
  std::string acquire_time;
  std::string renew_time;
  std::int64_t transitions = 0;

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

// For one thread. Every call blocks until it is answered, for at most a little more than `timeout`.
// After that it fails with kUnavailable, and a write may or may not have been carried out.
class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  virtual Result<LeaseRecord> get(std::chrono::milliseconds timeout) = 0;  // kNotFound: none
  // kConflict: the lease already exists.
  virtual Result<void> create(const LeaseRecord& record, std::chrono::milliseconds timeout) = 0;
  // Replaces what was last read or written here. kConflict: it has changed since. Other parts of
  // the object (labels, annotations) stay.
  virtual Result<void> update(const LeaseRecord& record, std::chrono::milliseconds timeout) = 0;
};

// The Lease in an API server.
class ApiServerLease final : public LeaseStore {
 public:
  // `client` must outlive it; the client's stop() ends a call under way (kCancelled).
  ApiServerLease(HttpClient& client, std::string ns, std::string name);
  ~ApiServerLease() override;

  Result<LeaseRecord> get(std::chrono::milliseconds timeout) override;
  Result<void> create(const LeaseRecord& record, std::chrono::milliseconds timeout) override;
  Result<void> update(const LeaseRecord& record, std::chrono::milliseconds timeout) override;

  // Of the object as last seen; empty: none was seen. Any thread.
  [[nodiscard]] std::string uid() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer
