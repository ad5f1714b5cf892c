#include "framework/extenders/round.hpp"

#include <plimsoll/views.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/extenders/wire.hpp"

namespace plimsoll {
namespace {

using sdk::view;

constexpr int64_t kScale = 10;  // MaxNodeScore / MaxExtenderPriority
// An answer repeats at most what it was asked, besides reasons.
constexpr size_t kRoomForReasons = 1u << 20;

// What an extender's scores may add up to; beyond any that means something.
constexpr int64_t kMostScore = std::numeric_limits<int64_t>::max() / 1'000'000;

int64_t weighted(int64_t score, int64_t weight) {
  const __int128 exact = static_cast<__int128>(score) * weight;
  constexpr int64_t kMost = kMostScore / kScale;
  return static_cast<int64_t>(std::clamp<__int128>(exact, -kMost, kMost)) * kScale;
}

class Round : public std::enable_shared_from_this<Round> {
 public:
  Round(const std::vector<ExtenderSpec>& extenders, ExtenderClient& client,
        ExtenderQuestion question, std::function<void(Result<ExtenderAnswers>)> done)
      : extenders_(extenders),
        client_(client),
        question_(std::move(question)),
        left_(question_.nodes),
        done_(std::move(done)) {
    for (const NodeRef& node : question_.nodes) {
      answers_.nodes[std::string(view(node->meta.name))].node_uid = view(node->meta.uid);
    }
  }

  void filter() {
    while (next_ < extenders_.size() && !left_.empty()) {
      const size_t at = next_++;
      const ExtenderSpec& extender = extenders_[at];
      if (extender.filter_verb.empty() || !is_interested(extender, *question_.pod)) continue;
      std::string body = arguments(extender);
      const size_t most = 2 * body.size() + kRoomForReasons;
      return client_.call(at, extender.filter_verb, std::move(body), most,
                          [self = shared_from_this(), at](Result<std::string> answer) {
                            self->filtered(self->extenders_[at], std::move(answer));
                          });
    }
    prioritize();
  }

 private:
  [[nodiscard]] std::string arguments(const ExtenderSpec& extender) const {
    return extender_wire::arguments(question_.pod_json, left_, extender.node_cache_capable);
  }

  void filtered(const ExtenderSpec& extender, Result<std::string> answer) {
    Result<void> taken = answer.and_then([&](const std::string& body) {
      return extender_wire::read_filtered(body, extender.node_cache_capable)
          .and_then([&](const extender_wire::Filtered& said) { return take(extender, said); });
    });
    if (taken) return filter();
    const std::string why = "extender " + extender.url_prefix + ": " + extender.filter_verb + ": " +
                            taken.error().message;
    if (!extender.ignorable) return done_(fail(taken.error().code, why));
    log_warn("an ignorable extender is left out", {{"why", why}});
    filter();
  }

  Result<void> take(const ExtenderSpec& extender, const extender_wire::Filtered& said) {
    StringMap<bool> passed;
    for (const std::string& name : said.nodes) passed[name] = true;
    std::vector<NodeRef> left;
    for (const NodeRef& node : left_) {
      if (passed.erase(std::string(view(node->meta.name))) != 0) left.push_back(node);
    }
    if (!passed.empty()) {
      return fail(ErrorCode::kInvalid, "it claims a filtered node \"" + passed.begin()->first +
                                           "\" which is not found in the input node list");
    }
    for (const NodeRef& node : left_) {
      const std::string_view name = view(node->meta.name);
      ExtenderVerdict& verdict = answers_.nodes.find(name)->second;
      const auto never = said.unresolvable.find(name);
      const auto failed = said.failed.find(name);
      verdict.refused = true;  // unless it is left
      verdict.unresolvable = never != said.unresolvable.end() || failed == said.failed.end();
      if (never != said.unresolvable.end()) {
        verdict.reason = never->second;
      } else if (failed != said.failed.end()) {
        verdict.reason = failed->second;
      } else {
        verdict.reason = "node(s) were left out by extender " + extender.url_prefix;
      }
    }
    for (const NodeRef& node : left) {
      ExtenderVerdict& verdict = answers_.nodes.find(view(node->meta.name))->second;
      verdict.refused = verdict.unresolvable = false;
      verdict.reason.clear();
    }
    left_ = std::move(left);
    return {};
  }

  // Of a single node nobody needs to know how good it is.
  void prioritize() {
    std::vector<size_t> asked;
    for (size_t at = 0; at < extenders_.size() && left_.size() > 1; ++at) {
      const ExtenderSpec& extender = extenders_[at];
      if (!extender.prioritize_verb.empty() && is_interested(extender, *question_.pod)) {
        asked.push_back(at);
      }
    }
    if (asked.empty()) return done_(std::move(answers_));
    outstanding_ = asked.size();
    for (const size_t at : asked) {
      std::string body = arguments(extenders_[at]);
      const size_t most = 2 * body.size() + kRoomForReasons;
      client_.call(at, extenders_[at].prioritize_verb, std::move(body), most,
                   [self = shared_from_this(), at](Result<std::string> answer) {
                     self->prioritized(self->extenders_[at], std::move(answer));
                   });
    }
  }

  void prioritized(const ExtenderSpec& extender, Result<std::string> answer) {
    const auto scores =
        answer.and_then([](const std::string& body) { return extender_wire::read_scores(body); });
    if (!scores) {
      log_warn("an extender gives no scores",
               {{"extender", extender.url_prefix}, {"why", scores.error().message}});
    }
    {
      const std::lock_guard lock(mutex_);
      for (size_t i = 0; scores && i < scores->size(); ++i) {
        const auto& [name, score] = (*scores)[i];
        const auto node = answers_.nodes.find(name);
        if (node == answers_.nodes.end()) continue;
        int64_t& sum = node->second.score;
        sum = std::clamp(sum + weighted(score, extender.weight), -kMostScore, kMostScore);
      }
      if (--outstanding_ != 0) return;
    }
    done_(std::move(answers_));
  }

  const std::vector<ExtenderSpec>& extenders_;
  ExtenderClient& client_;
  const ExtenderQuestion question_;
  std::vector<NodeRef> left_;  // no extender has refused them
  std::function<void(Result<ExtenderAnswers>)> done_;
  ExtenderAnswers answers_;
  size_t next_ = 0;  // extender that filters
  std::mutex mutex_;
  size_t outstanding_ = 0;  // guarded by mutex_, as the scores
};

}  // namespace

void ask_extenders(const std::vector<ExtenderSpec>& extenders, ExtenderClient& client,
                   ExtenderQuestion question, std::function<void(Result<ExtenderAnswers>)> done) {
  std::make_shared<Round>(extenders, client, std::move(question), std::move(done))->filter();
}

}  // namespace plimsoll
