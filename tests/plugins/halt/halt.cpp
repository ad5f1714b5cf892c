// Stops the scheduler dead at one named step of a pod's way, so that a test can kill it just there:
// says "halted at STEP" in the log, and never returns. Args: {"at": "Reserve"}. Only pods with the
// label "halt" are stopped.

#include <plimsoll/plugin.hpp>

#include <unistd.h>

#include <string>

namespace {

using namespace plimsoll::sdk;

class Halt {
 public:
  Halt(Host host, std::string_view args) : host_(std::move(host)), args_(args) {}

  Status reserve(plimsoll_cycle&, Pod pod, Node) {
    stop(pod, "Reserve");
    return {};
  }
  void unreserve(plimsoll_cycle&, Pod pod, std::string_view) { stop(pod, "Unreserve"); }
  // "Wait": on Permit, as a pod does that waits for its group; the loop goes on. "Unreserve": the
  // pod is refused, so that it comes to that.
  Status permit(plimsoll_cycle&, Pod pod, Node, int64_t& timeout_ms) {
    stop(pod, "Permit");
    if (is_for(pod, "Unreserve")) return host_.unschedulable("refused, to be unreserved");
    if (!is_for(pod, "Wait")) return {};
    host_.warn("halted at Wait");
    timeout_ms = 10 * 60 * 1000;
    return Status::wait();
  }
  Status pre_bind(plimsoll_cycle&, Pod pod, std::string_view, Token) {
    stop(pod, "PreBind");
    return {};
  }
  Status bind(plimsoll_cycle&, Pod pod, std::string_view, Token) {
    stop(pod, "Bind");
    return Status::skip();
  }
  void post_bind(plimsoll_cycle&, Pod pod, std::string_view) { stop(pod, "PostBind"); }

 private:
  [[nodiscard]] bool is_for(Pod pod, std::string_view step) const {
    return pod.label("halt") && args_.find("\"" + std::string(step) + "\"") != args_.npos;
  }
  void stop(Pod pod, std::string_view step) const {
    if (!is_for(pod, step)) return;
    host_.warn("halted at " + std::string(step));
    for (;;) ::pause();
  }

  Host host_;
  std::string args_;
};

}  // namespace

PLIMSOLL_PLUGIN(Halt, "Halt", "1.0.0", "Apache-2.0")
