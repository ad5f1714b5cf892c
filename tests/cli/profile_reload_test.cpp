// What is said of schedulers that a changed profile file leaves out.

#include "cli/run/profile_reload.hpp"

#include <gtest/gtest.h>

#include "config/print.hpp"

namespace plimsoll::cli {
namespace {

using config::Value;

// As the effective configuration is printed.
std::string configuration(const std::vector<std::string>& names) {
  Value profiles = Value::sequence();
  for (const std::string& name : names) {
    Value inner = Value::mapping();
    inner.set("schedulerName", Value::string("of-a-plugins-arguments"));
    Value list = Value::sequence();
    list.add(std::move(inner));
    Value profile = Value::mapping();
    profile.set("schedulerName", Value::string(name));
    profile.set("pluginConfig", std::move(list));
    profiles.add(std::move(profile));
  }
  Value all = Value::mapping();
  all.set("kind", Value::string("KubeSchedulerConfiguration"));
  all.set("profiles", std::move(profiles));
  return config::to_yaml(all);
}

TEST(ProfileReload, NamesTheSchedulersThatAreLeftOut) {
  EXPECT_EQ(schedulers_left_out(configuration({"a", "b", "c"}), configuration({"b", "d"})), "a, c");
  EXPECT_EQ(schedulers_left_out(configuration({"a"}), configuration({"b", "a"})), "");
  EXPECT_EQ(schedulers_left_out("", configuration({"a"})), "");
}

}  // namespace
}  // namespace plimsoll::cli
