#pragma once
// A strict reader of the Prometheus text format, so that tests see what a server would scrape.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::test {

using Labels = std::map<std::string, std::string>;

struct Sample {
  std::string name;  // with _bucket, _sum, _count of histograms
  Labels labels;
  double value = 0;
};

struct MetricText {
  std::string help;
  std::string type;
  std::vector<Sample> samples;
};

// What was read, and what is wrong with it: HELP or TYPE missing or twice, a family in two pieces,
// two samples with the same labels, names or escapes that the format does not know, buckets that do
// not rise or whose "+Inf" is not the count.
struct Metrics {
  std::map<std::string, MetricText> families;
  std::vector<std::string> errors;

  // The value of the sample with exactly these labels.
  [[nodiscard]] std::optional<double> value(const std::string& sample,
                                            const Labels& labels = {}) const;
  // The sum over all samples of that name which have at least these labels; 0 if there are none.
  [[nodiscard]] double sum(const std::string& sample, const Labels& labels = {}) const;
};

[[nodiscard]] Metrics parse_metrics(const std::string& text);

}  // namespace plimsoll::test
