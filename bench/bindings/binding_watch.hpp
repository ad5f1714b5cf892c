#pragma once
// Observes bindings at the least cost for the API server: one watch of pods that have a node. It
// uses the encoding that the schedulers read too, so the server encodes each object only once.

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>

#include "tests/kube/kube_fixture.hpp"

namespace plimsoll::bench {

class BindingWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Starts to observe pods of namespace default that are bound after this call.
  [[nodiscard]] static Result<std::unique_ptr<BindingWatch>> start(test::KubeCluster& cluster);
  ~BindingWatch();
  BindingWatch(const BindingWatch&) = delete;
  BindingWatch& operator=(const BindingWatch&) = delete;

  // Blocks until `bound` pods are bound. False if no pod was bound for `patience`, or if the watch
  // ended.
  [[nodiscard]] bool wait(std::size_t bound, std::chrono::milliseconds patience);

  // bound(): when each pod was first seen bound, by its name. The error says why the watch ended.
  [[nodiscard]] std::unordered_map<std::string, Clock::time_point> bound() const;
  [[nodiscard]] std::string failure() const;

 private:
  struct Impl;
  explicit BindingWatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::bench
