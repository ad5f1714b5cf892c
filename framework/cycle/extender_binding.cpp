#include "framework/cycle/extender_binding.hpp"

#include <algorithm>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/base/log.hpp"
#include "framework/extenders/wire.hpp"
#include "framework/port/extender_client.hpp"

namespace plimsoll {
namespace {

constexpr size_t kMostAnswer = 1u << 20;

// The end of a binding that failed as far as the extender says.
void settle(const ExtenderSpec& extender, std::string why, const std::string& node, int status,
            std::string_view pod, const std::function<void(Status)>& done) {
  if (status == 200 && extender_wire::node_of(pod) == node) return done({});
  why = "extender " + extender.url_prefix + ": " + extender.bind_verb + ": " + why;
  if (!extender.ignorable) return done(error_status(why));
  log_warn("an ignorable extender is left out", {{"why", why}});
  Status skip;
  skip.code = Code::kSkip;
  done(std::move(skip));
}

}  // namespace

bool bind_by_extender(const LoopState& state, const BindTarget& target,
                      std::function<void(Status)> done) {
  const auto& extenders = state.options.extenders;
  const plimsoll_pod& pod = *target.pod;
  const auto binder = std::find_if(extenders.begin(), extenders.end(), [&](const auto& extender) {
    return !extender.bind_verb.empty() && is_interested(extender, pod);
  });
  if (binder == extenders.end()) return false;
  if (!target.cycle->annotations().empty()) {
    done(error_status("extender " + binder->url_prefix +
                      " cannot bind the pod: plugins gave it annotations, which only this "
                      "scheduler's own Binding carries"));
    return true;
  }
  const auto path = "/api/v1/namespaces/" + std::string(view(pod.meta.ns)) + "/pods/" +
                    std::string(view(pod.meta.name));
  state.options.extender_client->call(
      static_cast<size_t>(binder - extenders.begin()), binder->bind_verb,
      extender_wire::binding_arguments(pod, target.node_name), kMostAnswer,
      [&extender = *binder, &writer = state.writer, node = target.node_name, path,
       done = std::move(done)](Result<std::string> answer) {
        const Result<void> bound = answer.and_then(
            [](const std::string& body) { return extender_wire::read_bound(body); });
        if (bound) return done({});
        writer.request({"GET", path, {}, {}}, [&extender, why = bound.error().message, node, done](
                                                  int status, std::string_view body) {
          settle(extender, why, node, status, body, done);
        });
      });
  return true;
}

}  // namespace plimsoll
