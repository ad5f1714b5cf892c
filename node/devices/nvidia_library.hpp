#pragma once
// NVIDIA's library, asked on a thread of its own: with a driver that is stuck its calls never
// return.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "node/devices/nvml.hpp"

namespace plimsoll::node {

class NvidiaLibrary {
 public:
  struct Answer {
    std::vector<NvmlCard> cards;
    std::string driver;                 // version
    std::string why;                    // the library is not there, or does not answer
    std::vector<std::string> problems;  // for people
  };

  // `on_fault`: see Nvml::open; not called after the end of this.
  NvidiaLibrary(std::string library, std::chrono::milliseconds patience, Nvml::OnFault on_fault);
  // Leaves a call alone that does not return.
  ~NvidiaLibrary();
  NvidiaLibrary(const NvidiaLibrary&) = delete;
  NvidiaLibrary& operator=(const NvidiaLibrary&) = delete;

  // Waits as long as its patience. While the call that it waited for in vain has not returned,
  // further answers are at once that it has not. `afresh`: opens the library again, which counts
  // the cards when it starts.
  [[nodiscard]] Answer ask(bool afresh);

 private:
  struct State;
  [[nodiscard]] bool waits_for_idle(std::chrono::milliseconds patience);
  void start(std::function<void()> job);

  const std::chrono::milliseconds patience_;
  const std::string library_;
  std::shared_ptr<State> state_;  // of the thread, too
  bool is_late_ = false;
  bool afresh_ = true;  // with the next call
};

}  // namespace plimsoll::node
