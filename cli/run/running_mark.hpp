#pragma once
// Sets up the running mark of a scheduler without leader election: its own connection and thread.
// See informer/lease/start_mark.hpp.

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "framework/base/result.hpp"
#include "informer/http/http_client.hpp"
#include "informer/lease/start_mark.hpp"

namespace plimsoll::cli {

class RunningMark {
 public:
  // Does not connect yet. `on_exchange`: is told of each request, on the client's thread.
  [[nodiscard]] static Result<std::unique_ptr<RunningMark>> create(
      const std::string& ns, const std::string& name, const informer::ServerAccess& access,
      std::shared_ptr<informer::CredentialSource> credentials,
      std::function<void(const informer::HttpExchange&)> on_exchange = {});
  ~RunningMark();  // calls stop(false)
  RunningMark(const RunningMark&) = delete;
  RunningMark& operator=(const RunningMark&) = delete;

  [[nodiscard]] const std::string& identity() const { return identity_; }
  [[nodiscard]] std::string lease_uid() const { return lease_.uid(); }

  // Takes the mark and reports, on a separate thread, whether the scheduler before this one ended
  // well. Reports later if another scheduler has taken it. Call it at most once.
  void start(std::function<void(bool ended_well)> on_taken,
             std::function<void(const std::string& holder)> on_lost);

  // `release`: every write has been answered. Idempotent.
  void stop(bool release);

 private:
  RunningMark(const std::string& ns, const std::string& name,
              std::unique_ptr<informer::HttpClient> client);

  const std::string identity_;
  std::unique_ptr<informer::HttpClient> client_;
  informer::ApiServerLease lease_;
  informer::StartMark mark_;
  std::jthread thread_;
  bool stopped_ = false;
};

}  // namespace plimsoll::cli
