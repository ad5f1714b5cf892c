#pragma once
// PreBind: writes a pod's claims to the API server, one after the other: the finalizer, then the
// allocation with the reservation. Then it waits until the watch has shown what was written, and
// until devices with binding conditions are ready. Kubernetes: bindClaim and isPodReadyForBinding
// in pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
//
// Two schedulers may give one device away at the same time: the API server takes both. Who comes
// second in its order finds the other one's claim in the watch, and gives its devices back.
//
// Each write is a patch with the UID and the resourceVersion that were seen: it fails with a
// conflict if anybody changed the claim meanwhile, and is then tried again on the claim as it is.
// No thread waits. Loop only, but for the answers, which go on on the loop.

#include <nlohmann/json.hpp>
#include <plimsoll/plugin.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/dynamicresources/extended/extended_ask.hpp"
#include "plugins/dynamicresources/footprint/footprint.hpp"
#include "plugins/dynamicresources/objects/giving_back.hpp"
#include "plugins/dynamicresources/store/claim_store.hpp"

namespace plimsoll::dra {

struct ClaimToBind : ClaimId {
  bool allocates = false;  // else it has devices already, or gets them by another pod
  std::vector<DeviceResult> devices = {};  // those, which the pod's node was chosen by
  std::string version = {};  // as our write left it: it is reserved for the pod; empty: none has
  // Of the claim for the pod's extended resources, which is made here: name and UID come with it.
  std::shared_ptr<const ExtendedAsk> extended = nullptr;
  // Another pod gets it its devices: of this decision on their group. 0: it has them.
  uint64_t group = 0;
};

class ClaimBinding : public std::enable_shared_from_this<ClaimBinding> {
 public:
  struct Who {
    std::string ns, name, uid;  // of the pod
    std::string node, profile;
  };
  // `done` gets a text; empty: all claims are the pod's.
  using Done = std::function<void(const std::string& problem)>;

  // `claims` is told what was reserved; it and `store` live as long as this. `footprint`: what the
  // pod's status is to say of the node's resources; null: nothing. Conditions of devices are waited
  // for as long after they were allocated.
  ClaimBinding(sdk::Host host, std::shared_ptr<ClaimStore> store, Who pod,
               std::shared_ptr<std::vector<ClaimToBind>> claims,
               std::shared_ptr<const Footprint> footprint, int64_t timeout_ms, Done done);

  void start() { next(); }

 private:
  // A claim as it was seen last.
  struct Live {
    std::string uid, version;
    bool deleting = false;
    bool allocated = false;
    std::vector<DeviceResult> devices;  // where they are, and no more of them
    nlohmann::json finalizers = nlohmann::json::array();
    nlohmann::json users = nlohmann::json::array();  // reservedFor
  };

  [[nodiscard]] ClaimToBind& claim() { return (*claims_)[at_]; }
  [[nodiscard]] std::string text() { return claim().text(); }
  void wait_for(const ClaimToBind& claim, void (ClaimBinding::*then)());
  void next();
  void create();  // the claim for extended resources
  void created(const nlohmann::json& object);
  void wait_for_it();   // until the watch shows what was created
  void tell_the_pod();  // of that claim and of the footprint, if there are any
  void look();          // at the claim as the watch has it
  void look_again();    // as the API server has it
  void write();         // what is still to be written
  void write_finalizer();
  void write_status();
  void finished(const nlohmann::json& object);
  void settle();  // once all is written
  void go_on();
  void look_later();  // whether the pod is still to be bound; again and again
  void give_back(size_t at);
  // An answer that comes after the end.
  void take_back(void (ClaimBinding::*then)(const nlohmann::json&), const nlohmann::json& object);
  [[nodiscard]] bool may_reserve(ClaimStore::Entry& entry);
  [[nodiscard]] bool had_first(const ClaimStore::Entry& entry) const;
  // Empty: the claim is the pod's, and ready.
  struct Standing {
    bool waits = false;
    std::string problem;
  };
  [[nodiscard]] Standing standing(size_t at);
  void end(const std::string& problem);
  void count_created(const char* status) const;
  void count_conditions(const std::string& problem) const;
  void fail(const std::string& problem) { end(problem); }
  [[nodiscard]] static Live live_of(const plimsoll_resource_claim& object);
  [[nodiscard]] static Live live_of(const nlohmann::json& object);
  void send(sdk::Host::ApiRequest request, void (ClaimBinding::*then)(const nlohmann::json&));
  void wrote_finalizer(const nlohmann::json& object);
  void looked_again(const nlohmann::json& object);

  sdk::Host host_;
  std::shared_ptr<ClaimStore> store_;
  Who pod_;
  std::shared_ptr<std::vector<ClaimToBind>> claims_;
  std::shared_ptr<const Footprint> footprint_;
  int64_t timeout_ms_;
  Done done_;
  size_t at_ = 0;
  int tries_ = 0;
  bool told_ = false;  // that conditions are waited for
  int64_t told_ms_ = 0;
  const ClaimToBind* asked_ = nullptr;  // the store was, for its next change
  bool looking_ = false;
  void (ClaimBinding::*waits_for_)() = nullptr;
  bool ended_ = false;
  Live live_;
};

}  // namespace plimsoll::dra
