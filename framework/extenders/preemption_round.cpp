#include "framework/extenders/preemption_round.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/extenders/wire.hpp"

namespace plimsoll {
namespace {

constexpr size_t kRoomBesides = 1u << 20;

class PreemptionRound : public std::enable_shared_from_this<PreemptionRound> {
 public:
  PreemptionRound(const std::vector<ExtenderSpec>& extenders, ExtenderClient& client,
                  PreemptionQuestion question,
                  std::function<void(Result<std::vector<ExtenderVictims>>)> done)
      : extenders_(extenders),
        client_(client),
        question_(std::move(question)),
        done_(std::move(done)) {}

  void next() {
    while (next_ < extenders_.size() && !question_.victims.empty()) {
      const size_t at = next_++;
      const ExtenderSpec& extender = extenders_[at];
      if (extender.preempt_verb.empty() || !is_interested(extender, *question_.pod)) continue;
      std::string body = arguments(extender.node_cache_capable);
      const size_t most = 2 * body.size() + kRoomBesides;
      return client_.call(at, extender.preempt_verb, std::move(body), most,
                          [self = shared_from_this(), at](Result<std::string> answer) {
                            self->answered(self->extenders_[at], std::move(answer));
                          });
    }
    done_(std::move(question_.victims));
  }

 private:
  [[nodiscard]] std::string arguments(bool names_only) const {
    std::vector<extender_wire::Victims> all;
    for (const ExtenderVictims& each : question_.victims) {
      extender_wire::Victims victims{each.node, each.uids, {}, each.violations};
      const auto& pods = question_.pods.find(each.node)->second;
      for (const std::string& uid : each.uids) victims.pods.push_back(pods.find(uid)->second.get());
      all.push_back(std::move(victims));
    }
    return extender_wire::preemption_arguments(question_.pod_json, all, names_only);
  }

  void answered(const ExtenderSpec& extender, Result<std::string> answer) {
    const Result<void> taken = answer.and_then([&](const std::string& body) {
      return extender_wire::read_victims(body).and_then(
          [&](const auto& said) { return take(extender, said); });
    });
    if (taken) return next();
    const std::string why = "extender " + extender.url_prefix + ": " + extender.preempt_verb +
                            ": " + taken.error().message;
    if (!extender.ignorable) return done_(fail(taken.error().code, why));
    log_warn("an ignorable extender is left out", {{"why", why}});
    next();
  }

  Result<void> take(const ExtenderSpec& extender, const std::vector<extender_wire::Victims>& said) {
    std::vector<ExtenderVictims> left;
    for (const extender_wire::Victims& each : said) {
      const auto asked =
          std::any_of(question_.victims.begin(), question_.victims.end(),
                      [&](const ExtenderVictims& victims) { return victims.node == each.node; });
      if (!asked) {
        return fail(ErrorCode::kInvalid,
                    "it names node \"" + each.node + "\", about which it was not asked");
      }
      const auto& pods = question_.pods.find(each.node)->second;
      for (const std::string& uid : each.uids) {
        if (pods.contains(uid)) continue;
        return fail(ErrorCode::kInvalid, "it claims to preempt pod (UID: " + uid + ") on node " +
                                             each.node +
                                             ", but there is no such pod of a lower priority");
      }
      if (each.uids.empty()) {
        if (extender.ignorable) continue;
        return fail(ErrorCode::kInvalid,
                    "expected at least one victim pod on node \"" + each.node + "\"");
      }
      left.push_back({each.node, each.uids, each.violations});
    }
    question_.victims = std::move(left);
    return {};
  }

  const std::vector<ExtenderSpec>& extenders_;
  ExtenderClient& client_;
  PreemptionQuestion question_;
  std::function<void(Result<std::vector<ExtenderVictims>>)> done_;
  size_t next_ = 0;
};

}  // namespace

void ask_about_victims(const std::vector<ExtenderSpec>& extenders, ExtenderClient& client,
                       PreemptionQuestion question,
                       std::function<void(Result<std::vector<ExtenderVictims>>)> done) {
  std::make_shared<PreemptionRound>(extenders, client, std::move(question), std::move(done))
      ->next();
}

}  // namespace plimsoll
