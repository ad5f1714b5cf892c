#pragma once
// DynamicResources with a fake scheduler and a fake API server that keeps claims: patches with
// preconditions, and a watch that shows what was written when the test says so.

#include <plimsoll/fake_host.hpp>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"
#include "plugins/dynamicresources/dynamicresources.hpp"

namespace plimsoll::dra::test {

using Json = nlohmann::json;
using Plugin = sdk::FakePlugin<DynamicResources>;

class PluginWorld {
 public:
  explicit PluginWorld(const std::string& args = "{}");

  void add_node(const Json& object);
  // Of the kind with this resource name, new or changed, as the watch shows it.
  void show(const std::string& resource, const Json& object);
  // A claim at the API server, and in the watch.
  void add_claim(Json object);
  // The watch shows what was written.
  void catch_up();
  // Runs what waits for the loop, and shows what is written, until nothing waits but for a time.
  void settle();
  // The next task that waits for the loop alone or, where none does, what the watch has to show;
  // false: neither.
  bool step();
  // What waits for a time now runs once; returns how many did.
  int pass_time();

  [[nodiscard]] const plimsoll_pod& pod(const Json& object);
  [[nodiscard]] Json& claim(const std::string& key) { return claims_.at(key); }
  [[nodiscard]] const std::map<std::string, Json>& claims() const { return claims_; }

  sdk::FakeHost host;
  std::unique_ptr<Plugin> plugin;
  Json pod_patch;  // the last patch of a pod's status
  std::vector<std::unique_ptr<sdk::FakeNode>> nodes;

 private:
  void know_resources(const Json& amounts);
  std::pair<int32_t, std::string> answer(const plimsoll_api_request& request);

  SymbolTable symbols_;
  std::vector<PodRef> pods_;
  std::vector<ObjectRef> kept_;
  std::map<std::string, Json> claims_;  // "namespace/name"
  std::vector<std::string> changed_, gone_;
  int made_ = 0;
  int version_ = 100;
};

}  // namespace plimsoll::dra::test
