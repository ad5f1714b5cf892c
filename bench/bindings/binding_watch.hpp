#pragma once
// Sees pods being bound, as cheaply for the API server as can be: one watch that only tells of pods
// with a node, in the encoding that schedulers read, which the server then writes once for all.

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>

#include "tests/kube/kube_fixture.hpp"

namespace plimsoll::bench {

class BindingWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Begins now, with the pods of namespace default that are bound from here on.
  [[nodiscard]] static Result<std::unique_ptr<BindingWatch>> start(test::KubeCluster& cluster);
  ~BindingWatch();
  BindingWatch(const BindingWatch&) = delete;
  BindingWatch& operator=(const BindingWatch&) = delete;

  // Blocks until so many pods are bound; false if none was for as long as `patience`, or the watch
  // has ended.
  [[nodiscard]] bool wait(std::size_t bound, std::chrono::milliseconds patience);

  // When each pod was first seen bound, by its name; and why the watch ended, if it did.
  [[nodiscard]] std::unordered_map<std::string, Clock::time_point> bound() const;
  [[nodiscard]] std::string failure() const;

 private:
  struct Impl;
  explicit BindingWatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::bench
