#include "tests/support/prometheus_text.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <sstream>

namespace plimsoll::test {
namespace {

bool is_name(const std::string& text, bool colons) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
  return std::all_of(text.begin(), text.end(), [colons](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (colons && c == ':');
  });
}

std::optional<double> number(const std::string& text) {
  if (text == "+Inf" || text == "Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0) return {};
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0') return {};
  return value;
}

class Reader {
 public:
  Metrics read(const std::string& text) {
    if (!text.empty() && text.back() != '\n') error("the last line has no end");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read_line(line);
    for (const auto& [name, family] : out_.families) check(name, family);
    return std::move(out_);
  }

 private:
  void error(const std::string& what) { out_.errors.push_back(what); }

  void read_line(const std::string& line) {
    if (line.empty()) return;
    if (line.starts_with("# HELP ")) return read_meta(line.substr(7), true);
    if (line.starts_with("# TYPE ")) return read_meta(line.substr(7), false);
    if (line.front() == '#') return;
    read_sample(line);
  }

  void read_meta(const std::string& rest, bool help) {
    const size_t space = rest.find(' ');
    const std::string name = rest.substr(0, space);
    const std::string value = space == std::string::npos ? "" : rest.substr(space + 1);
    if (!is_name(name, true)) return error("bad metric name: " + rest);
    if (name != current_) {
      if (!seen_.insert(name).second) error(name + " comes in two pieces");
      current_ = name;
    }
    MetricText& family = out_.families[name];
    std::string& slot = help ? family.help : family.type;
    if (!slot.empty()) error(name + (help ? ": two HELP lines" : ": two TYPE lines"));
    if (!family.samples.empty()) error(name + ": HELP or TYPE after a sample");
    slot = value;
    static const std::set<std::string> kTypes{"counter", "gauge", "histogram", "summary",
                                              "untyped"};
    if (!help && !kTypes.contains(value)) error(name + ": unknown type " + value);
  }

  void read_sample(const std::string& line) {
    Sample sample;
    size_t at = line.find_first_of("{ ");
    if (at == std::string::npos) return error("no value: " + line);
    sample.name = line.substr(0, at);
    if (!is_name(sample.name, true)) error("bad sample name: " + line);
    if (line[at] == '{' && !read_labels(line, at, sample.labels))
      return error("bad labels: " + line);
    if (at >= line.size() || line[at] != ' ') return error("no space before the value: " + line);
    const auto value = number(line.substr(at + 1));
    if (!value) return error("bad value: " + line);
    sample.value = *value;
    MetricText& family = out_.families[current_];
    if (!belongs(sample.name, family.type)) return error("a sample outside of its family: " + line);
    for (const Sample& other : family.samples) {
      if (other.name == sample.name && other.labels == sample.labels) error("twice: " + line);
    }
    family.samples.push_back(std::move(sample));
  }

  bool belongs(const std::string& sample, const std::string& type) const {
    if (type != "histogram") return sample == current_;
    return sample == current_ + "_bucket" || sample == current_ + "_sum" ||
           sample == current_ + "_count";
  }

  static bool read_labels(const std::string& line, size_t& at, Labels& out) {
    ++at;  // {
    while (at < line.size() && line[at] != '}') {
      const size_t equals = line.find('=', at);
      if (equals == std::string::npos || equals + 1 >= line.size() || line[equals + 1] != '"') {
        return false;
      }
      const std::string name = line.substr(at, equals - at);
      if (!is_name(name, false)) return false;
      std::string value;
      for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
        if (line[at] != '\\') {
          value += line[at];
          continue;
        }
        if (++at >= line.size()) return false;
        const char c = line[at];
        if (c != 'n' && c != '\\' && c != '"') return false;
        value += c == 'n' ? '\n' : c;
      }
      if (at >= line.size() || !out.emplace(name, value).second) return false;
      ++at;  // "
      if (at < line.size() && line[at] == ',') ++at;
    }
    if (at >= line.size()) return false;
    ++at;  // }
    return true;
  }

  void check(const std::string& name, const MetricText& family) {
    if (family.help.empty()) error(name + ": no HELP");
    if (family.type.empty()) error(name + ": no TYPE");
    if (family.type == "counter") {
      for (const Sample& sample : family.samples) {
        if (!(sample.value >= 0)) error(name + ": a counter below 0");
      }
    }
    if (family.type == "histogram") check_histogram(name, family);
  }

  void check_histogram(const std::string& name, const MetricText& family) {
    struct Series {
      double last_bound = -std::numeric_limits<double>::infinity();
      double last_count = 0;
      std::optional<double> infinite, count, sum;
    };
    std::map<Labels, Series> all;
    for (const Sample& sample : family.samples) {
      Labels labels = sample.labels;
      labels.erase("le");
      Series& series = all[labels];
      if (sample.name == name + "_count") series.count = sample.value;
      if (sample.name == name + "_sum") series.sum = sample.value;
      if (sample.name != name + "_bucket") continue;
      const auto le = sample.labels.find("le");
      const auto bound = le == sample.labels.end() ? std::nullopt : number(le->second);
      if (!bound) {
        error(name + ": a bucket without le");
        continue;
      }
      if (*bound <= series.last_bound) error(name + ": the bounds do not rise");
      if (sample.value < series.last_count) error(name + ": the counts of the buckets fall");
      series.last_bound = *bound;
      series.last_count = sample.value;
      if (std::isinf(*bound)) series.infinite = sample.value;
    }
    for (const auto& [labels, series] : all) {
      if (!series.infinite || !series.count || !series.sum) {
        error(name + ": +Inf, _count or _sum is missing");
      } else if (*series.infinite != *series.count) {
        error(name + ": +Inf is not the count");
      }
    }
  }

  Metrics out_;
  std::string current_;
  std::set<std::string> seen_;
};

}  // namespace

std::optional<double> Metrics::value(const std::string& sample, const Labels& labels) const {
  for (const auto& [name, family] : families) {
    for (const Sample& candidate : family.samples) {
      if (candidate.name == sample && candidate.labels == labels) return candidate.value;
    }
  }
  return {};
}

double Metrics::sum(const std::string& sample, const Labels& labels) const {
  double total = 0;
  for (const auto& [name, family] : families) {
    for (const Sample& candidate : family.samples) {
      const bool has_all =
          std::all_of(labels.begin(), labels.end(), [&candidate](const auto& wanted) {
            const auto found = candidate.labels.find(wanted.first);
            return found != candidate.labels.end() && found->second == wanted.second;
          });
      if (candidate.name == sample && has_all) total += candidate.value;
    }
  }
  return total;
}

Metrics parse_metrics(const std::string& text) {
  return Reader().read(text);
}

}  // namespace plimsoll::test
