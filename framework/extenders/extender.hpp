#pragma once
// An HTTP extender as a profile file describes it (KubeSchedulerConfiguration, `extenders`), and
// what extenders said about the nodes of one pod.

#include <plimsoll/objects.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/string_map.hpp"

namespace plimsoll {

struct ExtenderTls {
  bool given = false;  // there is a tlsConfig
  bool insecure = false;
  std::string server_name;
  std::string cert_file, key_file, ca_file;
  std::string cert_pem, key_pem, ca_pem;  // the three Data fields, decoded
};

struct ExtenderSpec {
  std::string url_prefix;
  // Empty: it takes no part in that step.
  std::string filter_verb, prioritize_verb, preempt_verb, bind_verb;
  int64_t weight = 0;  // of its scores
  bool enable_https = false;
  ExtenderTls tls;
  std::chrono::milliseconds timeout{5'000};
  bool node_cache_capable = false;  // it is sent names of nodes, not nodes
  bool ignorable = false;           // a pod goes on without it if it fails
  struct ManagedResource {
    std::string name;
    bool ignored_by_scheduler = false;
  };
  std::vector<ManagedResource> managed_resources;  // only pods with one of these; empty: all
};

// HTTPExtender.IsInterested.
[[nodiscard]] bool is_interested(const ExtenderSpec& extender, const plimsoll_pod& pod);
// Whether it says on which nodes the pod fits, or how well.
[[nodiscard]] bool judges(const ExtenderSpec& extender, const plimsoll_pod& pod);

struct ExtenderVerdict {
  bool refused = false;
  bool unresolvable = false;  // evicting pods there does not help
  std::string reason;         // may be empty
  int64_t score = 0;          // times the weight, of all extenders
  std::string node_uid;       // the verdict is on no other node of that name
};

struct ExtenderAnswers {
  // Null: nobody was asked about this node.
  [[nodiscard]] const ExtenderVerdict* find(const plimsoll_node& node) const;

  StringMap<ExtenderVerdict> nodes;  // by name
};

}  // namespace plimsoll
