#pragma once
// What a plugin takes it gives back: pods get a place and give it back, are bound and removed, come
// in what-ifs and go, and the scheduler restarts. Each time the plugin must answer afterwards as it
// did before.

#include <functional>
#include <memory>

#include "lab/lint/examiner.hpp"

namespace plimsoll::lint {

struct Lives {
  // Makes and starts the plugins anew.
  std::function<Result<std::unique_ptr<TrialCluster>>()> make;
  const std::string& plugin;
  const Options& options;
  bool reserves;  // it takes part in Reserve
  // It has a say in PreBind or PostBind, and what it does there nobody does here: no pod is bound.
  bool binds;
};

// In clusters of its own, which `world` decides. Fails if an object given cannot be read.
[[nodiscard]] Result<void> check_lives(const Lives& lives, World world, CallNote& note,
                                       Notes& notes);

}  // namespace plimsoll::lint
