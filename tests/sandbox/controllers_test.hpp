#pragma once
// A store for simulated controllers.

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "lab/sandbox/controllers/controllers.hpp"

namespace plimsoll::sandbox {

using nlohmann::json;

class ControllersTest : public testing::Test {
 protected:
  void add(const ResourceName& resource, json object) {
    ASSERT_TRUE(store_.create(resource, std::move(object), /*keep_identity=*/true));
  }
  json get(const ResourceName& resource, const ObjectKey& key) {
    const auto found = store_.get(resource, key);
    return found ? (*found)->parse() : json();
  }
  template <typename Change>
  void change(const ResourceName& resource, const ObjectKey& key, const Change& how) {
    ASSERT_TRUE(store_.modify(resource, key, {}, [&](json& now) -> ApiResult<void> {
      how(now);
      return {};
    }));
  }
  template <typename Condition>
  bool eventually(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  ObjectStore store_;
};

}  // namespace plimsoll::sandbox
