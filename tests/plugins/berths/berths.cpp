// Needs an argument, {"journal": FILE}, and writes into that file when it is made and when it first
// filters. With {"hangs": true} besides, making it never ends.

#include <plimsoll/plugin.hpp>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace plimsoll::sdk;

class Berths {
 public:
  Berths(Host host, std::string_view args)
      : none_(host.reason("node(s) had no berths")),
        calls_(host.counter("berths_asked_total", "How often a node was asked for a berth.")) {
    constexpr std::string_view kField = "\"journal\":\"";
    const auto at = args.find(kField);
    if (at == std::string_view::npos) throw std::invalid_argument("journal: Required value");
    const auto begin = at + kField.size();
    journal_ = args.substr(begin, args.find('"', begin) - begin);
    note("made");
    while (args.find("\"hangs\":true") != std::string_view::npos) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }

  void start() { note("started"); }

  Status filter_node(const plimsoll_cycle&, Pod pod, Node node) const {
    calls_.add(1);
    if (!pod.label("wants-berth") || node.label("berths")) return {};
    return Status::unschedulable(none_);
  }

 private:
  void note(const char* what) const { std::ofstream(journal_, std::ios::app) << what << "\n"; }

  uint32_t none_;
  CounterMetric calls_;
  std::string journal_;
};

}  // namespace

PLIMSOLL_PLUGIN(Berths, "Berths", "1.0.0", "Apache-2.0")
