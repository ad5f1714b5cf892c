#pragma once
// The one ledger of the process: its service, and its events, metrics and timers. Internal to
// LedgerAccess. Loop only, except what LedgerService excepts.

#include <plimsoll/state_source.h>
#include <exception>
#include <map>
#include <memory>
#include <plimsoll/arguments.hpp>
#include <plimsoll/host.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/ledger/ledger.hpp"
#include "plugins/topology/service/annotation_writer.hpp"
#include "plugins/topology/service/ledger_metrics.hpp"
#include "plugins/topology/service/zone_forecast.hpp"

namespace plimsoll::topology {

class LedgerOwner final : public LedgerService, public std::enable_shared_from_this<LedgerOwner> {
 public:
  explicit LedgerOwner(sdk::Host the_host);
  ~LedgerOwner();
  LedgerOwner(const LedgerOwner&) = delete;
  LedgerOwner& operator=(const LedgerOwner&) = delete;

  // An object of NodeResourceTopology came, changed or went. An API server that serves both
  // versions returns the same objects in both. In v1alpha1 they lack the attributes with the
  // policy, so v1alpha1 is used only while there is no v1alpha2.
  void object(const sdk::ObjectEvent& event);
  // The list of one version is complete, or the version is not served.
  void synced(const sdk::ObjectEvent& event);
  // For a node that was just added: until when its report may be on its way, on another watch; 0:
  // it is not.
  [[nodiscard]] int64_t report_until_ms(sdk::Node node);
  // After every change of the ledger: tells the host, listeners and metrics.
  void tell_changes();

  void subscribe(Listener* listener) override { listeners_.push_back(listener); }
  void unsubscribe(Listener* listener) override { std::erase(listeners_, listener); }
  [[nodiscard]] const LedgerAnswers& ask() const override { return ledger.ask(); }
  [[nodiscard]] std::shared_ptr<Inquiry> inquire(const plimsoll_pod& pod,
                                                 WithoutReport without_report) const override;
  [[nodiscard]] std::string explain(uint32_t slot, const Inquiry& pod, const plimsoll_pod& object,
                                    Verdict verdict) const override;
  [[nodiscard]] bool eased(uint32_t slot) const override { return ledger.eased(slot); }
  bool reserve(uint32_t slot, const plimsoll_pod& pod, bool insist,
               std::vector<plimsoll_numa_charge>& where) override;
  void unreserve(const plimsoll_pod& pod) override;

  sdk::Host host;
  Ledger ledger;
  plimsoll_state_source state{};  // for `plimsoll debug dump`
  std::unique_ptr<PublishedForecast> forecast;

 private:
  void keep_time();
  void upsert(std::string_view name, std::string_view json, bool old_version);
  void tell_freed(uint32_t slot);
  void watch_old();

  std::vector<Listener*> listeners_;
  LedgerMetrics metrics_;
  std::shared_ptr<AnnotationWriter> annotations_;  // shared with nobody, as this
  std::unique_ptr<Ledger::Changes> changes_room_;  // their memory is kept
  int64_t timer_ms_ = INT64_MAX;                   // when the next timer runs
  uint64_t malformed_ = 0;
  std::map<std::string, std::string> told_errors_;  // by node: not logged again
  bool served_new_ = false;                         // v1alpha2 is known to be there
  bool listed_ = false;    // the list of reports is complete, or they are not served
  bool served_ = false;    // in one version
  bool seen_old_ = false;  // a node whose report would be there by now
  bool watching_old_ = false;
  bool told_missing_ = false;
  std::set<std::string> from_old_;  // nodes whose report is a v1alpha1 object
};

}  // namespace plimsoll::topology
