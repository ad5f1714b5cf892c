#pragma once
// Sets up leader election: the settings, the lease's own connection, the thread that renews.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "cli/run/commands.hpp"
#include "config/profile/scheduler_config.hpp"
#include "framework/base/result.hpp"
#include "informer/http/http_client.hpp"
#include "informer/http/write_fence.hpp"
#include "informer/lease/leader_elector.hpp"
#include "informer/lease/lease.hpp"

namespace plimsoll::cli {

// The file's settings, overridden by the command line; an error lists all problems, one per line.
[[nodiscard]] Result<config::LeaderElection> leader_election_settings(
    config::LeaderElection from_file, const LeaderElectionArguments& arguments);

// Two schedulers that serve the pods of one name bind the same pods. Fails if a profile serves
// those of default-scheduler and nothing keeps kube-scheduler off them: under another lease than
// its own, or none. `no_kube_scheduler`: the operator says that none runs.
[[nodiscard]] Result<void> check_beside_kube_scheduler(const config::SchedulerConfig& config,
                                                       bool no_kube_scheduler);

class Leadership {
 public:
  using OnExchange = std::function<void(const informer::HttpExchange&)>;
  using OnLeading = std::function<void()>;
  using OnLost = std::function<void(const std::string& why)>;
  using Unfit = std::function<std::optional<std::string>()>;

  // Does not connect yet. `on_exchange`: is told of each request, on the client's thread.
  [[nodiscard]] static Result<std::unique_ptr<Leadership>> create(
      const config::LeaderElection& settings, const informer::ServerAccess& access,
      std::shared_ptr<informer::CredentialSource> credentials, OnExchange on_exchange = {});
  ~Leadership();  // calls stop(false, false)
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // Closed while this process does not lead.
  [[nodiscard]] const informer::WriteFence& fence() const { return fence_; }
  // Whether it leads, who does, when the lease was last renewed.
  [[nodiscard]] const informer::LeaderElector& elector() const { return *elector_; }
  [[nodiscard]] const std::string& identity() const { return identity_; }
  [[nodiscard]] std::string lease_uid() const { return lease_->uid(); }

  // Starts to campaign for the lease. All callbacks run on a separate thread, on_leading and
  // on_lost at most once. The fence is open when on_leading is called and closed when on_lost is.
  // `unfit` returns why this process must not lead, or nothing.
  void start(OnLeading on_leading, OnLost on_lost, Unfit unfit);

  // Stops leading; nothing may be written from here on. `ended`: every write has been answered.
  // `earlier_ended`: writes of an earlier leader can no longer be carried out either. With `ended`,
  // and `earlier_ended` or a lease that nobody held before, the lease is released, so
  // that the next leader can start at once. Idempotent.
  void stop(bool ended, bool earlier_ended);

 private:
  explicit Leadership(const config::LeaderElection& settings);
  void elect(const std::stop_token& stop, const OnLost& on_lost);

  const std::string identity_;
  std::string lease_name_;  // "namespace/name"
  informer::WriteFence fence_;
  std::unique_ptr<informer::HttpClient> client_;
  std::unique_ptr<informer::ApiServerLease> lease_;
  std::unique_ptr<informer::LeaderElector> elector_;
  OnLeading on_leading_;
  Unfit unfit_;
  std::jthread thread_;
  bool stopped_ = false;
};

}  // namespace plimsoll::cli
