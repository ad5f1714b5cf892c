#pragma once
// The census that all instances of all plugins share. One instance passes the events on; of watched
// kinds, one that watches them.

#include <plimsoll/plugin.hpp>
#include <plimsoll/shared.hpp>

#include <memory>
#include <string_view>

#include "plugins/builtin/census/census.hpp"
#include "plugins/builtin/census/controllers.hpp"

namespace plimsoll::builtin {

struct SharedCensus {
  // What is fed (sdk::Shared::feeds).
  static constexpr std::string_view kNodesAndPods = "nodes and pods";
  static constexpr std::string_view kNamespaces = "namespaces";
  static constexpr std::string_view kControllers = "controllers";

  explicit SharedCensus(const sdk::Host& host) : census(host) {}
  [[nodiscard]] static sdk::Shared<SharedCensus> of(const sdk::Host& host) {
    return {host, "plimsoll.io/census", [&] { return std::make_unique<SharedCensus>(host); }};
  }

  Census census;
  Controllers controllers;
};

}  // namespace plimsoll::builtin
