#pragma once
// What all instances of the plugin share: the accounts, and what node labels say about GPUs. It
// offers services to other plugins. One instance passes the scheduler's events on to it.
//
// Changed on the loop only; Filter and Score read it from other threads while the loop waits.

#include <plimsoll/state_source.h>
#include <plimsoll/host.hpp>
#include <plimsoll/shared.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/services/device_accounts.h>
#include "plugins/nodedevice/accounts/accounts.hpp"
#include "plugins/nodedevice/accounts/device_metrics.hpp"
#include "plugins/nodedevice/accounts/state_numbers.hpp"
#include "plugins/nodedevice/allocation/allocator.hpp"
#include "plugins/nodedevice/store/claim_book.hpp"

namespace plimsoll::devices {

class DeviceStore {
 public:
  // The store of this scheduler; the first call says which device types there are. Throws if
  // another plugin file keeps the accounts, or the types are not those of the first call.
  using Shared = sdk::Shared<DeviceStore>;
  [[nodiscard]] static Shared shared(const sdk::Host& host, const std::vector<DeviceType>& types);

  DeviceStore(const sdk::Host& host, std::vector<DeviceType> types);
  ~DeviceStore();
  DeviceStore(const DeviceStore&) = delete;
  DeviceStore& operator=(const DeviceStore&) = delete;

  void node_event(const sdk::Host& host, sdk::Node node, bool removed);
  void pod_assigned(const sdk::Host& host, sdk::Pod pod, std::string_view node_name);
  void pod_removed(std::string_view uid);
  // Upsert, or deletion when `json` is empty.
  void device_event(const sdk::Host& host, std::string_view node_name, std::string_view json);

  // NodeResourceTopology objects, as events name them. They wake pods that zones may have refused.
  static constexpr std::string_view kReports =
      "noderesourcetopologies.v1alpha2.topology.node.k8s.io";
  static constexpr std::string_view kOldReports =
      "noderesourcetopologies.v1alpha1.topology.node.k8s.io";
  [[nodiscard]] static bool is_report_kind(std::string_view resource) {
    return resource == kReports || resource == kOldReports;
  }

  // What an event is about that a pod may have been refused for.
  struct Subject {
    std::string_view node;
    bool devices = true;  // false: only zones, of pods' CPUs or in a report
  };
  // Nothing: it is about nothing of that kind. The accounts have heard of the change before the
  // queue does.
  [[nodiscard]] std::optional<Subject> subject_of(const plimsoll_event& event) const;

  [[nodiscard]] Accounts& accounts() { return accounts_; }
  [[nodiscard]] const Accounts& accounts() const { return accounts_; }
  [[nodiscard]] ClaimBook& claims() { return claims_; }
  // plimsoll_device_accounts::hold
  void claim_has(std::string_view holder, std::string_view node,
                 const sdk::List<plimsoll_device_identity>& devices);
  // Which nodes are alike to filters and scores. Loop: brings the numbers up to date.
  void refresh_numbers();
  [[nodiscard]] const StateNumbers& numbers() const { return numbers_; }

  // What the Node object in a slot says.
  struct Facts {
    static Facts of(sdk::Labels labels);

    std::string gpu_vendor;
    std::string gpu_model;
    std::string partition_policy;
    std::string isolation_provider;
    NumaPolicy numa_policy = NumaPolicy::kNone;
    uint64_t version = 0;  // in a slot: another whenever one of them changes

    bool operator==(const Facts&) const = default;
    [[nodiscard]] NodeLabels labels() const { return {gpu_vendor, gpu_model, partition_policy}; }
  };
  [[nodiscard]] const Facts& facts(uint32_t slot) const {
    return slot < facts_.size() ? facts_[slot] : nothing_;
  }

 private:
  void publish_accounts(const sdk::Host& host);
  [[nodiscard]] bool is_news(std::string_view node_name, std::string_view json) const;
  void complain_of_node(const sdk::Host& host, std::string_view node, std::string_view json,
                        const std::vector<std::string>& problems, bool malformed);

  const sdk::Host host_;
  DeviceTypes types_;
  StateNumbers numbers_;
  Accounts accounts_;
  ClaimBook claims_{types_, accounts_};
  std::vector<Facts> facts_;
  uint64_t last_facts_version_ = 0;
  Facts nothing_;
  // What was complained about last: of pods (by uid) their annotation, of nodes their Device
  // object.
  std::map<std::string, AnnotationProblems, std::less<>> complained_;
  std::map<std::string, std::vector<std::string>, std::less<>> complained_of_nodes_;
  std::map<std::string, size_t, std::less<>> news_;  // by node: hash of the last text with any
  DeviceMetrics metrics_;
  plimsoll_device_accounts* service_ = nullptr;
  plimsoll_state_source state_{};
};

}  // namespace plimsoll::devices
