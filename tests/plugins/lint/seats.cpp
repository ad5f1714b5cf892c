// The plugin of docs/plugins.md, with a signature and an arg: which label has the seats.
#include <nlohmann/json.hpp>
#include <plimsoll/plugin.hpp>

namespace {
using namespace plimsoll::sdk;

class Seats {
 public:
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;

  Seats(Host host, std::string_view args_json)
      : label_(nlohmann::json::parse(args_json).value("label", "example.com/seats")),
        none_(host.reason("node(s) had no seats")) {}

  Status sign(Pod pod, Sink& sink) {
    sink.put_value(uint8_t{pod.label("wants-seat").has_value()});
    return {};
  }
  Status filter_node(const plimsoll_cycle&, Pod pod, Node node) const {
    if (!pod.label("wants-seat") || node.label(label_)) return {};
    return Status::unschedulable(none_);
  }

 private:
  std::string label_;
  uint32_t none_;
};
}  // namespace

PLIMSOLL_PLUGIN(Seats, "Seats", "1.0.0", "Apache-2.0")
