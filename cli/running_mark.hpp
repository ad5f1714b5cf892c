#pragma once
// The mark of a scheduler that elects no leader, put together: its own connection and thread. See
// informer/lease/start_mark.hpp.

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
  // Connects nothing yet.
  [[nodiscard]] static Result<std::unique_ptr<RunningMark>> create(
      const std::string& ns, const std::string& name, const informer::ServerAccess& access,
      std::shared_ptr<informer::CredentialSource> credentials);
  ~RunningMark();  // stop(false)
  RunningMark(const RunningMark&) = delete;
  RunningMark& operator=(const RunningMark&) = delete;

  [[nodiscard]] const std::string& identity() const { return identity_; }

  // Takes the mark, and tells on a thread of its own whether the scheduler before this one ended
  // well. At most once.
  void start(std::function<void(bool ended_well)> on_taken);

  // `release`: nothing that was written is without an answer. Idempotent.
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
