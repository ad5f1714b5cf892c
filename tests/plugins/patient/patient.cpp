// Lets every pod wait on Permit for 1.5 s, the first time that it gets there.

#include <plimsoll/plugin.hpp>

#include <set>
#include <string>

namespace {

using namespace plimsoll::sdk;

class Patient {
 public:
  explicit Patient(Host host) : host_(std::move(host)) {}

  std::vector<plimsoll_event_interest> events() const {
    return {{str("Node"), PLIMSOLL_ACTION_ADD, 0}};
  }
  Status permit(plimsoll_cycle&, Pod pod, Node, int64_t& timeout_ms) {
    timeout_ms = 1500;
    return seen_.insert(std::string(pod.uid())).second ? Status::wait() : Status::success();
  }

 private:
  Host host_;
  std::set<std::string> seen_;
};

}  // namespace

PLIMSOLL_PLUGIN(Patient, "Patient", "1.0.0", "Apache-2.0")
