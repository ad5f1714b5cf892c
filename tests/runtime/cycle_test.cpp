// Cycle state, statuses, reasons.

#include "framework/runtime/plugin/cycle_context.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "tests/runtime/support.hpp"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;

struct Counted {
  explicit Counted(int& counter) : alive(counter) { ++alive; }
  Counted(const Counted& other) : alive(other.alive), value(other.value) { ++alive; }
  ~Counted() { --alive; }
  int& alive;
  int value = 0;
};

void* clone_counted(const void* value) {
  return new Counted(*static_cast<const Counted*>(value));
}
void drop_counted(void* value) {
  delete static_cast<Counted*>(value);
}

TEST(CycleContext, OwnsItsState) {
  int alive = 0;
  {
    CycleContext cycle(nullptr);
    cycle.set_state(1, new Counted(alive), clone_counted, drop_counted);
    cycle.set_state(2, new Counted(alive), clone_counted, drop_counted);
    EXPECT_EQ(alive, 2);
    cycle.set_state(1, new Counted(alive), clone_counted, drop_counted);
    EXPECT_EQ(alive, 2) << "the old value is dropped";
    EXPECT_EQ(cycle.get_state(3), nullptr);
  }
  EXPECT_EQ(alive, 0);
}

TEST(CycleContext, ClonesStateForWhatIfs) {
  int alive = 0;
  {
    CycleContext cycle(nullptr);
    cycle.set_state(1, new Counted(alive), clone_counted, drop_counted);
    cycle.set_state(2, new Counted(alive), nullptr, drop_counted);
    cycle.annotate("a", "1");
    cycle.skip_filter.set(3);
    auto copy = cycle.clone();
    EXPECT_EQ(alive, 3) << "what cannot be cloned is shared";
    EXPECT_NE(copy->get_state(1), cycle.get_state(1));
    EXPECT_EQ(copy->get_state(2), cycle.get_state(2));
    static_cast<Counted*>(copy->get_state(1))->value = 5;
    EXPECT_EQ(static_cast<Counted*>(cycle.get_state(1))->value, 0);
    copy->annotate("a", "2");
    EXPECT_THAT(cycle.annotations(), ElementsAre(std::pair("a", "1")));
    EXPECT_TRUE(copy->skip_filter.test(3));
  }
  EXPECT_EQ(alive, 0);
}

TEST(CycleContext, MayBeUsedByThreadsWhileBinding) {
  int alive = 0;
  CycleContext cycle(nullptr);
  cycle.set_state(1, new Counted(alive), clone_counted, drop_counted);
  cycle.begin_binding();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cycle, t] {
      for (uint32_t i = 0; i < 200; ++i) {
        cycle.annotate("key-" + std::to_string(t), std::to_string(i));
        cycle.set_state(10 + static_cast<uint32_t>(t), nullptr, nullptr, nullptr);
        if (cycle.get_state(1) == nullptr) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cycle.annotations().size(), 4U);
}

TEST(Reasons, AreTheSameForTheSameList) {
  ReasonTable table;
  const std::string_view one[] = {"a", "b"};
  const std::string_view two[] = {"a, b"};
  const uint32_t id = table.intern(one);
  EXPECT_NE(id, 0U);
  EXPECT_EQ(table.intern(one), id);
  EXPECT_NE(table.intern(two), id);
  EXPECT_EQ(table.message(id), "a, b");
  EXPECT_THAT(table.texts(id), ElementsAre("a", "b"));
  EXPECT_THAT(table.texts(0), ElementsAre());
  EXPECT_THAT(table.texts(4711), ElementsAre());
  EXPECT_TRUE(table.valid(id));
  EXPECT_FALSE(table.valid(4711));
}

// What a stranger's words fill is not kept beyond the step, and nobody is refused a reason later.
TEST(Reasons, GoWithTheStepUnlessTheyAreHeld) {
  ReasonTable table;
  ReasonQuota quota;
  quota.lists = 1;
  const auto reason = [&](const std::string& text) {
    const std::string_view view = text;
    return table.intern(std::span(&view, 1), &quota);
  };
  const uint32_t usual = reason("Insufficient cpu");
  const size_t bytes = table.bytes();
  HeldReasons held(table);
  const uint32_t kept = reason("Insufficient example.com/kept");
  held.add(kept);
  held.add(usual);
  EXPECT_GT(held.bytes(), 0U);
  const uint32_t passing = reason("Insufficient example.com/passing");
  EXPECT_EQ(table.message(passing), "Insufficient example.com/passing");
  EXPECT_EQ(reason("Insufficient example.com/passing"), passing);
  for (int step = 0; step < 300; ++step) {
    for (int i = 0; i < 100; ++i) {
      const std::string text = std::to_string(step * 100 + i) + std::string(1'000, 'x');
      ASSERT_EQ(table.message(reason(text)), text);
    }
    table.end_step();
    ASSERT_EQ(table.bytes(), bytes + held.bytes());
  }
  EXPECT_EQ(table.message(usual), "Insufficient cpu");
  EXPECT_EQ(table.message(kept), "Insufficient example.com/kept");
  EXPECT_EQ(reason("Insufficient example.com/kept"), kept);
  EXPECT_TRUE(table.valid(passing)) << "it was given once";
  EXPECT_THAT(table.message(passing), ::testing::HasSubstr("no longer known"));
  EXPECT_NE(reason("Insufficient example.com/passing"), passing);
  held.clear();
  EXPECT_EQ(held.bytes(), 0U);
  table.end_step();
  EXPECT_EQ(table.bytes(), bytes);
  EXPECT_EQ(table.message(usual), "Insufficient cpu");
}

// One step alone cannot fill the memory either, and the next one begins anew.
TEST(Reasons, OfOneStepAreBounded) {
  ReasonTable table;
  ReasonQuota none{0, 0};
  std::string last;
  const auto fill = [&] {
    for (int i = 0; i < 12'000; ++i) {
      const std::string text = std::to_string(i) + std::string(1'900, 'x');
      const std::string_view view = text;
      last = table.message(table.intern(std::span(&view, 1), &none));
    }
  };
  fill();
  EXPECT_EQ(last, "too many different reasons");
  table.end_step();
  const std::string_view text = "Insufficient cpu";
  EXPECT_EQ(table.message(table.intern(std::span(&text, 1), &none)), text);
}

TEST(Reasons, MayBeInternedByThreads) {
  ReasonTable table;
  std::vector<std::thread> threads;
  std::vector<std::vector<uint32_t>> ids(4);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        ids[t].push_back(table.intern("reason " + std::to_string(i)));
        if (!table.valid(ids[t].back())) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 1; t < 4; ++t) EXPECT_EQ(ids[t], ids[0]);
  EXPECT_EQ(table.message(ids[0][299]), "reason 299");
}

TEST(Statuses, MessageIsErrorThenReasons) {
  ReasonTable table;
  Status status;
  EXPECT_EQ(status.message(table), "");
  status.reason = table.intern("full");
  EXPECT_EQ(status.message(table), "full");
  status.error = "broken";
  EXPECT_EQ(status.message(table), "broken, full");
}

TEST(Statuses, CodesHaveKubernetesNumbersAndNames) {
  const char* names[] = {"Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable",
                         "Wait",    "Skip",  "Pending"};
  for (int32_t code = 0; code < 7; ++code) EXPECT_EQ(code_name(code), names[code]);
  EXPECT_EQ(code_name(7), "code 7");
  EXPECT_TRUE(is_rejected(Code::kUnschedulable));
  EXPECT_TRUE(is_rejected(Code::kUnschedulableAndUnresolvable));
  EXPECT_TRUE(is_rejected(Code::kPending));
  EXPECT_FALSE(is_rejected(Code::kSuccess));
  EXPECT_FALSE(is_rejected(Code::kError));
  EXPECT_FALSE(is_rejected(Code::kWait));
  EXPECT_FALSE(is_rejected(Code::kSkip));
}

}  // namespace
}  // namespace plimsoll
