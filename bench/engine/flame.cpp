// Reads perf's samples of the engine's benchmark, draws a flame graph of the loop's time, and
// prints the functions that took most of it.
//   perf script ... | engine_flame FILE.svg "title"

#include <cstdio>
#include <fstream>
#include <iostream>

#include "bench/support/flame_graph.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr,
                 "usage: perf script -F comm,ip,sym --no-inline | engine_flame FILE.svg TITLE\n");
    return 2;
  }
  const plimsoll::bench::Frame all =
      plimsoll::bench::read_samples(std::cin, "plimsoll::Scheduler::schedule_one");
  if (all.samples == 0) {
    std::fprintf(
        stderr,
        "engine_flame: no sample of the scheduler's loop in the input; what perf says is above\n");
    return 1;
  }
  std::ofstream file(argv[1]);
  file << svg_of(all, argv[2]);
  if (!file.flush()) {
    std::fprintf(stderr, "engine_flame: %s: cannot be written\n", argv[1]);
    return 1;
  }
  int lines = 0;
  for (const auto& [name, share] : self_shares(all)) {
    std::printf("%5.1f %%  %s\n", share * 100, name.c_str());
    if (++lines == 25) break;
  }
}
