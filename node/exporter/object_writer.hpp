#pragma once
// Writes one published object of this node, and notices if another program writes it too. One
// thread at a time.

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>

#include "informer/http/http_client.hpp"
#include "informer/watch/backoff.hpp"
#include "informer/watch/resource_type.hpp"

namespace plimsoll::node {

// An object as the watch shows it; empty texts: there is none.
struct PublishedObject {
  std::string text;
  std::string version;  // its resourceVersion
};

class ObjectWriter {
 public:
  // `kind`: for people. `period` and `settle` bound how long it waits after a failure, and before
  // it restores what another program has changed.
  ObjectWriter(informer::HttpClient& client, informer::ResourceType type, std::string node,
               std::string kind, std::chrono::milliseconds period,
               std::chrono::milliseconds settle);

  // The watch has not brought what was written last: wait, at most for kEcho.
  [[nodiscard]] bool not_echoed(const PublishedObject& published) const;
  static constexpr std::chrono::milliseconds kEcho{1'000};

  enum class End {
    kDone,
    kConflict,  // a newer object is on its way here
    kFailed,
    kHeldBack,  // another program writes it too
  };
  struct Outcome {
    End end;
    std::string trouble;  // for people; empty if it is done, or on a conflict
    std::chrono::milliseconds again;
  };
  // `content`: what of the object is ours.
  [[nodiscard]] Outcome write(const nlohmann::json& object, std::string content,
                              const PublishedObject& published, const std::stop_token& stop);

 private:
  using Clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;

  informer::HttpClient& client_;
  const informer::ResourceType type_;
  const std::string node_;
  const std::string kind_;
  const milliseconds period_;
  const milliseconds settle_;
  std::string written_;  // our content of the object, as written last
  // The version of the object that the last write replaced (empty: there was none), and until when
  // the watch may still show it.
  std::string replaced_;
  Clock::time_point echo_until_{};
  Clock::time_point restore_at_{};
  informer::Backoff unwritten_{{milliseconds(50), milliseconds(10'000)}};
  informer::Backoff restoring_{
      {milliseconds(1'000), milliseconds(60'000), 2.0, 0.5, milliseconds(120'000)}};
};

// The Node becomes the object's owner, so it goes with the node. An owner that is gone would take
// the object with it: a Node of this name with another UID is no owner any more.
void set_owner(nlohmann::json& object, const std::string& node, const std::string& node_uid);

}  // namespace plimsoll::node
