#pragma once
// A container runtime whose side of NRI is containerd's own code: the program of
// tests/node/runtime, a process that can be killed and started again while its containers live on.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::node::test {

class RealRuntime {
 public:
  ~RealRuntime();

  [[nodiscard]] std::filesystem::path socket() const { return folder_ / "nri.sock"; }
  // Where it takes requests.
  [[nodiscard]] std::filesystem::path control() const { return folder_ / "control.sock"; }
  // Skips the test if the program is not there, or fails it with CI=true.
  void start();
  void kill();

  // Until so many plugins are connected.
  void wait_for(int plugins) { ask({{"do", "wait"}, {"plugins", plugins}}); }
  // Containers ({uid, name, annotations, variables, padding}) that are made at once, and what each
  // would be run with ({error, devices, rules, variables, mounts, cdi, annotations}).
  nlohmann::json create(const nlohmann::json& containers) {
    return ask({{"do", "create"}, {"containers", containers}})["answers"];
  }
  nlohmann::json create(const std::string& uid, const nlohmann::json& annotations) {
    return create(
        nlohmann::json::array({{{"uid", uid}, {"name", "main"}, {"annotations", annotations}}}))[0];
  }
  void remove(const std::string& uid) { ask({{"do", "remove"}, {"uid", uid}}); }
  // By method, how many calls plugins have answered, and how fast.
  nlohmann::json calls() { return ask({{"do", "calls"}})["calls"]; }

 private:
  nlohmann::json ask(const nlohmann::json& request);

  plimsoll::test::TempDir folder_{"plimsoll-runtime"};
  std::optional<plimsoll::test::ChildProcess> process_;
  int control_ = -1;
};

}  // namespace plimsoll::node::test
