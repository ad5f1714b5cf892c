#include "bench/openb/trace.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <tuple>

namespace plimsoll::openb {
namespace {

constexpr const char* kPods = "openb_pod_list_";
constexpr int kTypicalPercent = 95;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else if (c != '\r')
      parts.back() += c;
  }
  return parts;
}

// Rows of a CSV file by the names of its first line; cells are plain (the trace quotes nothing).
class Table {
 public:
  static Result<Table> read(const std::string& path) {
    Table table;
    table.path_ = path;
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) {
      return fail(ErrorCode::kInvalid,
                  path + ": cannot be read; see bench/openb/run for the files");
    }
    const std::vector<std::string> names = split(line, ',');
    for (size_t i = 0; i < names.size(); ++i) table.columns_[names[i]] = i;
    while (std::getline(file, line)) {
      if (line.empty() || line == "\r") continue;
      table.rows_.push_back(split(line, ','));
      table.rows_.back().resize(names.size());
    }
    return table;
  }

  [[nodiscard]] size_t size() const { return rows_.size(); }
  // Empty if there is no such column.
  [[nodiscard]] std::string text(size_t row, const std::string& column) const {
    const auto it = columns_.find(column);
    return it == columns_.end() ? std::string() : rows_[row][it->second];
  }
  Result<int64_t> number(size_t row, const std::string& column) const {
    const std::string cell = text(row, column);
    int64_t value = 0;
    const auto end = cell.data() + cell.size();
    const auto [at, error] = std::from_chars(cell.data(), end, value);
    if (error == std::errc() && at == end && value >= 0) return value;
    return fail(ErrorCode::kInvalid, path_ + ":" + std::to_string(row + 2) + ": " + column + " \"" +
                                         cell + "\" is not a number");
  }

 private:
  std::string path_;
  std::map<std::string, size_t> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

Class class_of(const Job& job) {
  if (job.gpus == 0) return kNoGpu;
  if (job.gpus == 1) return job.gpu_milli < devices::kWholeGpu ? kShare : kOne;
  return job.gpus <= 2 ? kTwo : job.gpus <= 4 ? kFour : kEight;
}

int64_t Trace::capacity() const {
  int64_t sum = 0;
  for (const Machine& machine : machines) sum += int64_t{machine.gpus} * devices::kWholeGpu;
  return sum;
}

Result<Trace> read_trace(const std::string& folder, const std::string& workload) {
  Trace trace;
  const auto nodes = Table::read(folder + "/openb_node_list_gpu_node.csv");
  if (!nodes) return fail(nodes.error());
  for (size_t i = 0; i < nodes->size(); ++i) {
    const auto cpu = nodes->number(i, "cpu_milli");
    const auto memory = nodes->number(i, "memory_mib");
    const auto gpus = nodes->number(i, "gpu");
    for (const auto* value : {&cpu, &memory, &gpus})
      if (!*value) return fail(value->error());
    trace.machines.push_back(
        {nodes->text(i, "sn"), *cpu, *memory, static_cast<int>(*gpus), nodes->text(i, "model")});
  }
  const auto pods = Table::read(folder + "/" + kPods + workload + ".csv");
  if (!pods) return fail(pods.error());
  for (size_t i = 0; i < pods->size(); ++i) {
    const auto cpu = pods->number(i, "cpu_milli");
    const auto memory = pods->number(i, "memory_mib");
    const auto gpus = pods->number(i, "num_gpu");
    const auto milli = pods->number(i, "gpu_milli");
    for (const auto* value : {&cpu, &memory, &gpus, &milli})
      if (!*value) return fail(value->error());
    Job job{*cpu, *memory, static_cast<int>(*gpus), *gpus == 0 ? 0 : static_cast<int>(*milli), {}};
    if (const std::string spec = pods->text(i, "gpu_spec"); !spec.empty())
      job.models = split(spec, '|');
    std::sort(job.models.begin(), job.models.end());
    job.models.erase(std::unique(job.models.begin(), job.models.end()), job.models.end());
    trace.jobs.push_back(std::move(job));
  }
  if (trace.capacity() == 0 || trace.jobs.empty())
    return fail(ErrorCode::kInvalid, folder + ": workload " + workload + " has no GPU or no pod");
  return trace;
}

std::vector<std::string> workloads_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(kPods, 0) == 0 && entry.path().extension() == ".csv")
      found.push_back(entry.path().stem().string().substr(std::string(kPods).size()));
  }
  std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    return std::make_tuple(a != "default", a) < std::make_tuple(b != "default", b);
  });
  return found;
}

std::vector<Job> make_load(const Trace& trace, uint64_t seed, int percent) {
  std::mt19937_64 random(seed);
  const auto any = [&](size_t count) { return static_cast<size_t>(random() % count); };
  const auto shuffle = [&](std::vector<Job>& jobs) {
    for (size_t i = jobs.size(); i > 1; --i) std::swap(jobs[i - 1], jobs[any(i)]);
  };
  std::vector<Job> load = trace.jobs;
  const int64_t wanted = trace.capacity() * percent / 100;
  int64_t asked = 0;
  for (const Job& job : load) asked += job.gpu_total();
  shuffle(load);
  for (; asked > wanted; load.pop_back()) asked -= load.back().gpu_total();
  while (asked < wanted) {
    load.push_back(trace.jobs[any(trace.jobs.size())]);
    asked += load.back().gpu_total();
  }
  if (asked > wanted) load.pop_back();
  shuffle(load);
  return load;
}

std::vector<devices::TypicalPod> typical_pods(const Trace& trace) {
  std::vector<devices::TypicalPod> kinds;
  std::map<std::tuple<int64_t, int, int, std::vector<std::string>>, int64_t> counts;
  for (const Job& job : trace.jobs) ++counts[{job.cpu_milli, job.gpus, job.gpu_milli, job.models}];
  for (const auto& [asked, count] : counts) {
    const auto& [cpu, gpus, milli, models] = asked;
    kinds.push_back({cpu, gpus, milli, models, count});
  }
  return devices::GpuMix::most_popular(std::move(kinds), kTypicalPercent);
}

}  // namespace plimsoll::openb
