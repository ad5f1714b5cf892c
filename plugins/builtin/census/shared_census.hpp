#pragma once
// The one census of the process: the first plugin instance that asks makes it, later ones share it.
// One instance passes the events on; of watched kinds, one that watches them.

#include <plimsoll/plugin.hpp>

#include <array>
#include <memory>

#include "plugins/builtin/census/census.hpp"
#include "plugins/builtin/census/controllers.hpp"

namespace plimsoll::builtin {

class SharedCensus {
 public:
  enum Feed : size_t { kNodesAndPods, kNamespaces, kControllers, kFeeds };

  explicit SharedCensus(const sdk::Host& host) : census(host) {}
  [[nodiscard]] static std::shared_ptr<SharedCensus> get(const sdk::Host& host);

  // Whether this instance is the one that passes on such events.
  [[nodiscard]] bool feeds(Feed what, const void* instance) {
    if (feeders_[what] == nullptr) feeders_[what] = instance;
    return feeders_[what] == instance;
  }
  void leave(const void* instance) {
    for (const void*& feeder : feeders_) feeder = feeder == instance ? nullptr : feeder;
  }

  Census census;
  Controllers controllers;

 private:
  std::array<const void*, kFeeds> feeders_{};
};

}  // namespace plimsoll::builtin
