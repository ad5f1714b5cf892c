#pragma once
// The accounts as JSON, for people and for tests that recount them: `plimsoll debug dump` shows it.
// docs/operations.md describes the fields.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nodedevice/accounts/accounts.hpp"

namespace plimsoll::devices {

// {"nodes":{NAME:{"devices":{TYPE:{...}},"pods":{UID:{...}}}}}; equal accounts give equal texts.
// On the loop.
[[nodiscard]] std::string accounts_json(const Accounts& accounts);

// A copy of what it says, so that another thread writes it.
class KeptAccounts {
 public:
  // On the loop. Of every node of which anything is known, or of those in these slots.
  explicit KeptAccounts(const Accounts& accounts);
  KeptAccounts(const Accounts& accounts, std::span<const uint32_t> slots);
  [[nodiscard]] std::string text() const;

 private:
  struct Type {
    int index = 0;
    std::vector<DeviceState> devices;
    int64_t unknown_whole = 0;
    int blocked = 0;
  };
  struct Node {
    std::string name;
    std::string problem;
    bool malformed = false;
    bool gone = false;
    std::shared_ptr<const NodeDevices> object;
    std::vector<Type> types;
    std::vector<std::pair<std::string, PodRecord>> pods;  // by uid
  };
  void keep(const NodeState& state, const Accounts::PodsOfNode& pods);
  void append(std::string& out, const Type& type) const;
  void append(std::string& out, const Node& node) const;

  const DeviceTypes types_;
  std::vector<Node> nodes_;
};

// Who keeps devices of these types (bits) from being given without anybody knowing which, and what
// of the node's Device object is ignored; a line each, empty if there is nothing to say:
//   pod team/a holds 2 gpu without saying which: as many are set aside
std::string explain_doubts(const Accounts& accounts, const NodeState& node, uint32_t types);

}  // namespace plimsoll::devices
