#pragma once
// Who may ask the server for what, decided as Kubernetes components decide it: a TokenReview says
// whose a bearer token is, a SubjectAccessReview whether that user may use this verb on this path.
// As in kube-scheduler, answers are kept for 10 s, and what cannot be asked is not allowed.
//
// Unlike kube-scheduler, a request without a token or certificate is answered 401 and not treated
// as user system:anonymous, and paths that are always allowed are answered whatever token comes
// with them, without asking anybody.

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"
#include "serving/expiring_cache.hpp"
#include "serving/http_server.hpp"
#include "serving/limits/serving_metrics.hpp"

namespace plimsoll::serving {

// Asks the API server. Returns at once; `done` is called once, on any thread, at the latest by the
// destructor. An error: the question was not answered.
class Reviewer {
 public:
  using TokenDone = std::function<void(Result<std::optional<User>>)>;  // no user: nobody's token
  using AccessDone = std::function<void(Result<bool>)>;

  virtual ~Reviewer() = default;
  virtual void review_token(const std::string& token, TokenDone done) = 0;
  virtual void review_access(const User& user, const std::string& verb, const std::string& path,
                             AccessDone done) = 0;
};

struct AccessOptions {
  // --authorization-always-allow-paths: whole paths, or beginnings of paths before a trailing '*'.
  std::vector<std::string> always_allow_paths{"/healthz", "/readyz", "/livez"};
  // kube-scheduler: --authentication-token-webhook-cache-ttl,
  // --authorization-webhook-cache-authorized-ttl and -unauthorized-ttl, which are 10 s all three.
  std::chrono::milliseconds keep_answers{10'000};
  std::size_t most_answers = 1024;     // of each kind
  std::size_t most_bytes = 1U << 20U;  // of users, by what the API server said about tokens
  std::size_t most_under_way = 8;      // requests about which the API server is being asked
  std::size_t most_waiting = 64;       // further ones; all others are refused as busy
  std::chrono::milliseconds longest_wait{5'000};  // for their turn
  std::function<std::chrono::steady_clock::time_point()> clock = std::chrono::steady_clock::now;
};

// Any thread.
class AccessControl {
 public:
  // kInvalid: a path does not begin with '/', or has a '*' that is not at its end.
  [[nodiscard]] static Result<std::unique_ptr<AccessControl>> create(
      AccessOptions options, std::unique_ptr<Reviewer> reviewer, ServingMetrics metrics = {});
  ~AccessControl();
  AccessControl(const AccessControl&) = delete;
  AccessControl& operator=(const AccessControl&) = delete;

  // As a Gate; what the destructor finds waiting gets no verdict. The refusals, as in
  // kube-scheduler: 401 (nobody's token, or whose it is could not be asked), 403, 500 (what the
  // user may do could not be asked). Besides, 503: too many wait, or it waited too long; 404: the
  // path is not UTF-8, so nobody can be asked about it.
  void check(const Request& request, Reply done);

 private:
  struct Question;  // one request under way
  using QuestionRef = std::shared_ptr<Question>;

  AccessControl(AccessOptions options, std::unique_ptr<Reviewer> reviewer, ServingMetrics metrics);
  [[nodiscard]] bool is_always_allowed(std::string_view path) const;
  template <typename Value>
  [[nodiscard]] std::optional<Value> kept(const ExpiringCache<Value>& answers,
                                          const std::string& key);
  void proceed(const QuestionRef& question);
  void identified(const QuestionRef& question, std::optional<User> user);  // null: nobody's token
  void decided(const QuestionRef& question, bool allowed);
  void ask_whose_token(const QuestionRef& question);
  void ask_may(const QuestionRef& question);
  [[nodiscard]] bool has_turn(const QuestionRef& question);
  void end(const QuestionRef& question, std::string_view result, std::optional<Response> refusal);
  void give_turn();
  void warn(std::string_view what, const Error& error);  // every 10 s at most

  const AccessOptions options_;
  const ServingMetrics metrics_;
  std::mutex mutex_;                          // guards what follows, up to reviewer_
  ExpiringCache<std::optional<User>> users_;  // by token
  ExpiringCache<bool> verdicts_;              // by user, verb and path
  std::deque<QuestionRef> waiting_;
  std::size_t under_way_ = 0;
  std::chrono::steady_clock::time_point warned_{};
  bool ending_ = false;
  std::unique_ptr<Reviewer> reviewer_;  // last: what it still calls uses the rest
};

}  // namespace plimsoll::serving
