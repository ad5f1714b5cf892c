#include <gtest/gtest.h>
#include <plimsoll/fake_host.hpp>

namespace {

using namespace plimsoll::sdk;

TEST(Metrics, AreSeenByTestsOfPlugins) {
  FakeHost fake;
  const Host host = fake.handle("seats");
  const CounterMetric refused = host.counter("refused_total", "Refused.", {"zone", "why"});
  const GaugeMetric free_seats = host.gauge("free", "Free seats.");
  const HistogramMetric size =
      host.histogram("party_size", "Pods of a party.", {1, 2, 4}, {"zone"});
  refused.add(1, "west", "full");
  refused.add(2, std::string("west"), std::string_view("full"));
  refused.add(1, "east", "full");
  free_seats.set(4);
  free_seats.set(3);
  size.observe_value(2, "west");
  size.observe_value(7, "west");
  using Values = std::vector<double>;
  EXPECT_EQ(fake.metrics["refused_total{west,full}"], Values{3});
  EXPECT_EQ(fake.metrics["refused_total{east,full}"], Values{1});
  EXPECT_EQ(fake.metrics["free"], Values{3});
  EXPECT_EQ(fake.metrics["party_size{west}"], (Values{2, 7}));
}

TEST(Metrics, OfTheSameSpecAreOne) {
  FakeHost fake;
  const Host host = fake.handle();
  host.counter("a", "A.", {"x"}).add(1, "1");
  host.counter("a", "A.", {"x"}).add(1, "1");
  EXPECT_EQ(fake.metrics["a{1}"], std::vector<double>{2});
  EXPECT_THROW((void)host.gauge("a", "A.", {"x"}), std::invalid_argument);
  EXPECT_THROW(host.counter("a", "A.", {"x"}).add(1), std::invalid_argument);
}

TEST(Metrics, ThatWereNotMadeDoNothing) {
  CounterMetric().add(1, "x");
  GaugeMetric().set(1);
  HistogramMetric().observe_value(1);
}

}  // namespace
