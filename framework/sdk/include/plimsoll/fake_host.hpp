// Plimsoll plugin SDK, for unit tests: a fake scheduler that only records the calls of a plugin,
// and a plugin that is called through the same C functions that the scheduler uses.
//
//   FakeHost host;
//   FakePlugin<ZoneBalance> plugin(host, R"({"key": "zone"})");
//   FakeCycle cycle;
//   EXPECT_EQ(plugin.filter(cycle, pod, node).reasons, "node(s) had no zone");
//
// Not thread-safe. Tests of a plugin need only this header and the SDK.
#pragma once

#include <plimsoll/fake/cycle.hpp>      // FakeCycle, FakeWhatIf
#include <plimsoll/fake/lives.hpp>      // FakeScheduler
#include <plimsoll/fake/plugin.hpp>     // FakePlugin
#include <plimsoll/fake/records.hpp>    // what a FakeHost remembers and answers
#include <plimsoll/fake/scheduler.hpp>  // FakeHost
#include <plimsoll/fake_objects.hpp>    // FakePod, FakeNode
