#include "plugins/nodedevice/fragmentation/gpu_mix.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

namespace plimsoll::devices {
namespace {

// More than any node takes in of what is commonly asked for.
constexpr int kArrivals = 48;

auto asked_by(const TypicalPod& pod) {
  return std::tie(pod.cpu_milli, pod.gpus, pod.gpu_milli, pod.models);
}

}  // namespace

void FreeGpus::add(int64_t milli) {
  if (milli <= 0 || count_ == kMaxGpus) return;
  const auto amount = static_cast<int16_t>(std::min<int64_t>(milli, kWholeGpu));
  int i = count_++;
  for (; i > 0 && free_[static_cast<size_t>(i - 1)] > amount; --i)
    free_[static_cast<size_t>(i)] = free_[static_cast<size_t>(i - 1)];
  free_[static_cast<size_t>(i)] = amount;
}

int64_t FreeGpus::total() const {
  return std::accumulate(free_.begin(), free_.begin() + count_, int64_t{0});
}

int FreeGpus::first_with(int32_t milli) const {
  return static_cast<int>(std::lower_bound(free_.begin(), free_.begin() + count_, milli) -
                          free_.begin());
}

void FreeGpus::take(int i, int32_t milli) {
  const int32_t left = at(i) - milli;
  int hole = i;
  if (left > 0) {
    for (; hole > 0 && at(hole - 1) > left; --hole)
      free_[static_cast<size_t>(hole)] = free_[static_cast<size_t>(hole - 1)];
    free_[static_cast<size_t>(hole)] = static_cast<int16_t>(left);
    return;
  }
  for (; hole + 1 < count_; ++hole)
    free_[static_cast<size_t>(hole)] = free_[static_cast<size_t>(hole + 1)];
  free_[static_cast<size_t>(--count_)] = 0;
}

bool FreeGpus::place(int64_t cpu_milli_asked, int32_t gpus, int32_t milli) {
  if (cpu_milli < cpu_milli_asked) return false;
  if (gpus > 0) {
    const int first = first_with(milli);
    if (count_ - first < gpus) return false;
    // What is left of each is less than it was: the GPU that is next to give stands one further on,
    // unless the one before it was used up.
    for (int32_t k = 0, i = first; k < gpus; ++k) {
      const int before = count_;
      take(i, milli);
      i += before == count_ ? 1 : 0;
    }
  }
  cpu_milli -= cpu_milli_asked;
  return true;
}

size_t FreeGpus::hash() const {
  uint64_t h =
      static_cast<uint64_t>(cpu_milli) * 0x9E3779B97F4A7C15U + static_cast<uint32_t>(model);
  for (int i = 0; i < count_; ++i) {
    h = (h ^ static_cast<uint64_t>(at(i))) * 0xD6E8FEB86659FD93U;
    h ^= h >> 32;
  }
  return h;
}

GpuMix::GpuMix(std::vector<TypicalPod> pods) : pods_(std::move(pods)) {
  for (const TypicalPod& pod : pods_) {
    weight_ += pod.weight;
    models_.insert(models_.end(), pod.models.begin(), pod.models.end());
  }
  std::sort(models_.begin(), models_.end());
  models_.erase(std::unique(models_.begin(), models_.end()), models_.end());
  if (models_.size() > kMaxModels) models_.resize(kMaxModels);
  make_asks();
  make_futures();
}

std::vector<TypicalPod> GpuMix::most_popular(std::vector<TypicalPod> pods, int percent) {
  std::sort(pods.begin(), pods.end(), [](const TypicalPod& a, const TypicalPod& b) {
    return a.weight != b.weight ? a.weight > b.weight : asked_by(a) < asked_by(b);
  });
  int64_t all = 0;
  for (const TypicalPod& pod : pods) all += pod.weight;
  int64_t covered = 0;
  size_t kept = 0;
  while (kept < pods.size() && covered * 100 < all * percent) covered += pods[kept++].weight;
  pods.resize(kept);
  return pods;
}

int32_t GpuMix::model_number(std::string_view model) const {
  const auto it = std::lower_bound(models_.begin(), models_.end(), model);
  return it == models_.end() || *it != model ? -1 : static_cast<int32_t>(it - models_.begin());
}

uint64_t GpuMix::bits_of(const std::vector<std::string>& models) const {
  uint64_t bits = 0;
  for (const std::string& model : models) {
    const int32_t number = model_number(model);
    bits |= uint64_t{1} << (number < 0 ? kMaxModels : number);  // the last bit: on no node
  }
  return bits;
}

void GpuMix::make_asks() {
  std::map<std::tuple<int32_t, int32_t, uint64_t>, std::map<int64_t, int64_t>> weights;
  for (const TypicalPod& pod : pods_) {
    if (pod.gpus == 0) {
      cpu_only_weight_ += pod.weight;
      continue;
    }
    const bool first = weights.empty();
    least_cpu_ = first ? pod.cpu_milli : std::min(least_cpu_, pod.cpu_milli);
    least_milli_ = first ? pod.gpu_milli : std::min(least_milli_, pod.gpu_milli);
    weights[{pod.gpus, pod.gpu_milli, bits_of(pod.models)}][pod.cpu_milli] += pod.weight;
  }
  for (const auto& [asked, by_cpu] : weights) {
    Ask ask{std::get<0>(asked), std::get<1>(asked), std::get<2>(asked), {}};
    int64_t sum = 0;
    for (const auto& [cpu, weight] : by_cpu) ask.by_cpu.emplace_back(cpu, sum += weight);
    asks_.push_back(std::move(ask));
  }
}

// The arrivals at one place of all futures are drawn from 16 equal parts of the pods, one from each
// part, in random order: so even few futures have the right mix.
void GpuMix::make_futures() {
  std::vector<const TypicalPod*> with_gpu;
  int64_t weight = 0;
  for (const TypicalPod& pod : pods_) {
    if (pod.gpus == 0) continue;
    with_gpu.push_back(&pod);
    weight += pod.weight;
  }
  if (with_gpu.empty()) return;
  std::mt19937_64 random(20230712);  // any number will do, as long as it is always the same
  std::array<uint64_t, kFutures> part{};
  for (int place = 0; place < kArrivals; ++place) {
    std::iota(part.begin(), part.end(), uint64_t{0});
    for (size_t i = part.size(); i > 1; --i) std::swap(part[i - 1], part[random() % i]);
    const uint64_t within = random() >> 32;
    for (size_t future = 0; future < part.size(); ++future) {
      const auto point = static_cast<unsigned __int128>((part[future] << 32) + within);
      auto rest = static_cast<int64_t>(point * static_cast<uint64_t>(weight) / kFutures >> 32);
      size_t which = 0;
      while (rest >= with_gpu[which]->weight) rest -= with_gpu[which++]->weight;
      const TypicalPod& pod = *with_gpu[which];
      futures_[future].push_back({pod.cpu_milli, pod.gpus, pod.gpu_milli, bits_of(pod.models)});
    }
  }
}

int64_t GpuMix::fragmentation(const FreeGpus& node) const {
  const int64_t total = node.total();
  if (total == 0) return 0;
  std::array<int64_t, FreeGpus::kMaxGpus + 1> below{};  // what the first i GPUs have
  for (int i = 0; i < node.count(); ++i)
    below[static_cast<size_t>(i + 1)] = below[static_cast<size_t>(i)] + node.at(i);
  int64_t sum = cpu_only_weight_ * total;
  for (const Ask& ask : asks_) {
    const int first = node.first_with(ask.milli);
    const bool right_model =
        ask.models == 0 || (node.model >= 0 && (ask.models >> node.model & 1U) != 0);
    int64_t hosted = 0;
    if (right_model && node.count() - first >= ask.gpus) {
      const auto it =
          std::partition_point(ask.by_cpu.begin(), ask.by_cpu.end(),
                               [&](const auto& entry) { return entry.first <= node.cpu_milli; });
      if (it != ask.by_cpu.begin()) hosted = std::prev(it)->second;
    }
    sum += hosted * below[static_cast<size_t>(first)];
    sum += (ask.by_cpu.back().second - hosted) * total;
  }
  return sum;
}

int64_t GpuMix::stranded(const FreeGpus& node) const {
  int64_t sum = 0;
  for (const std::vector<Arrival>& future : futures_) {
    FreeGpus left = node;
    for (const Arrival& pod : future) {
      if (left.count() == 0 || left.cpu_milli < least_cpu_ ||
          left.at(left.count() - 1) < least_milli_)
        break;
      if (pod.models != 0 && (node.model < 0 || (pod.models >> node.model & 1U) == 0)) continue;
      left.place(pod.cpu, pod.gpus, pod.milli);
    }
    sum += left.total();
  }
  return sum;
}

}  // namespace plimsoll::devices
