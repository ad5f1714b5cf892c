#pragma once
// What pods are going to ask of a cluster's GPUs, as far as that can be told: the typical pods, how
// often each comes, and what becomes of a node's free GPUs when such pods come.
//
// Q. Weng, L. Yang, Y. Yu, W. Wang, X. Tang, G. Yang, L. Zhang: "Beware of Fragmentation:
// Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023. From
// there:
//
//   A typical pod m asks for CPU c_m and for n_m GPUs, g_m of each (thousandths of a GPU; n_m = 0:
//   none), perhaps of certain models only; its popularity p_m is its share of all pods. Node n has
//   CPU and, on its GPUs i, left_i free.
//   F_n(m) = the sum of left_i over all i, if n cannot host m: too few GPUs with left_i >= g_m, too
//            little CPU, another model; and for pods without GPU
//          = the sum of left_i over the i with left_i < g_m, if n can host m
//   F_n    = the sum of p_m F_n(m)
//
// F_n says what is of no use to the next pod. It does not see what the pods after that will leave:
// a card with 0.53 free is as good as one with 0.47 to the next pod that asks for 0.47, but the
// first will end with 0.06 that nobody wants. So there is a second measure:
//
//   S_n = what is left of n's GPUs when typical pods with GPUs have come at random, each that still
//         fits has been taken in (on the GPUs that fit it most closely), and none fits any more;
//         the mean over 16 such futures, the same 16 for every node.
//
// Everything is counted in whole numbers, so both are the same on every machine. Immutable once
// made: any thread.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::devices {

inline constexpr int32_t kWholeGpu = 1000;

struct TypicalPod {
  int64_t cpu_milli = 0;
  int32_t gpus = 0;                 // 0: it asks for none
  int32_t gpu_milli = 0;            // of each, 1 to 1000
  std::vector<std::string> models;  // it wants one of these; empty: any
  int64_t weight = 1;               // how many of them there are

  bool operator==(const TypicalPod&) const = default;
};

// What is free on a node. GPUs with nothing free do not matter and are left out; nor do those
// beyond the first kMaxGpus.
class FreeGpus {
 public:
  static constexpr int kMaxGpus = 32;

  int64_t cpu_milli = 0;
  int32_t model = -1;  // see GpuMix::model_number

  void add(int64_t milli);  // a GPU with that much free
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int32_t at(int i) const { return free_[static_cast<size_t>(i)]; }  // ascending
  [[nodiscard]] int64_t total() const;
  // The first GPU with at least that much free; count(): none.
  [[nodiscard]] int first_with(int32_t milli) const;
  // Takes that much from GPU i; the others may change places.
  void take(int i, int32_t milli);
  // The same from each of the `gpus` that fit most closely, and the CPU. False: it does not fit,
  // nothing is taken.
  bool place(int64_t cpu_milli_asked, int32_t gpus, int32_t milli);

  bool operator==(const FreeGpus&) const = default;
  [[nodiscard]] size_t hash() const;

 private:
  int32_t count_ = 0;
  std::array<int16_t, kMaxGpus> free_{};
};

class GpuMix {
 public:
  static constexpr int kFutures = 16;
  static constexpr int kMaxModels = 63;  // that typical pods may name

  explicit GpuMix(std::vector<TypicalPod> pods);

  // The most popular of `pods` that together are at least `percent` of all; equally popular ones in
  // the order of what they ask for.
  [[nodiscard]] static std::vector<TypicalPod> most_popular(std::vector<TypicalPod> pods,
                                                            int percent);

  [[nodiscard]] const std::vector<TypicalPod>& pods() const { return pods_; }
  [[nodiscard]] int64_t weight() const { return weight_; }  // of all pods together
  // For FreeGpus::model; -1: no typical pod names it.
  [[nodiscard]] int32_t model_number(std::string_view model) const;

  // F_n in thousandths of a GPU, times weight().
  [[nodiscard]] int64_t fragmentation(const FreeGpus& node) const;
  // S_n in thousandths of a GPU, times kFutures.
  [[nodiscard]] int64_t stranded(const FreeGpus& node) const;

 private:
  // Typical pods that ask for the same GPUs, and how often at most some amount of CPU goes with it.
  struct Ask {
    int32_t gpus = 0;
    int32_t milli = 0;
    uint64_t models = 0;                              // bits by number; 0: any
    std::vector<std::pair<int64_t, int64_t>> by_cpu;  // CPU, weight of all up to that
  };
  struct Arrival {
    int64_t cpu = 0;
    int32_t gpus = 0;
    int32_t milli = 0;
    uint64_t models = 0;
  };

  [[nodiscard]] uint64_t bits_of(const std::vector<std::string>& models) const;
  void make_asks();
  void make_futures();

  std::vector<TypicalPod> pods_;
  std::vector<std::string> models_;  // sorted
  int64_t weight_ = 0;
  int64_t cpu_only_weight_ = 0;
  int64_t least_cpu_ = 0;  // of all that ask for GPUs
  int32_t least_milli_ = 0;
  std::vector<Ask> asks_;
  std::array<std::vector<Arrival>, kFutures> futures_;
};

}  // namespace plimsoll::devices
