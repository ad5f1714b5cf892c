#pragma once
// What is in a trial cluster, and what may happen to it: one thing at a time, each of which the
// change log and the plugins are told of as in a real cluster.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/lint/answer.hpp"
#include "lab/lint/world.hpp"

namespace plimsoll::lint {

struct Change {
  enum class Kind { kNodeField, kNode, kPod, kObject, kTime };
  Kind kind;
  std::string node;           // that it is about; empty: none, or (kObject) not known
  std::string text;           // for examples: "node n1: spec.taints from none to [...]"
  std::string resource = {};  // kObject
  // kNodeField:
  const Field* field = nullptr;
  Json before = {};
  Json after = {};
};

class Changes {
 public:
  // None: it cannot happen now.
  using Happens = std::function<std::optional<Change>()>;

  // All of them outlive it. `world` gets the names and labels of the nodes.
  Changes(TrialCluster& cluster, World& world, const Options& options, CallNote& note)
      : cluster_(cluster), world_(world), options_(options), note_(note) {}

  // Nodes, objects and pods to begin with, in the order in which a scheduler hears of them. Fails
  // if an object given cannot be decoded.
  [[nodiscard]] Result<void> fill();

  // What there is, and the same in another cluster. No object of it was made by other changes than
  // fill() and put_pod().
  struct Content {
    std::map<std::string, Json> nodes;  // by name
    std::map<std::string, Json> pods;   // by UID
    std::vector<Object> objects;
  };
  [[nodiscard]] Content content() const;
  void fill_with(const Content& content);

  // A pod that is on a node. False: it cannot be decoded.
  bool put_pod(const Json& pod);
  void remove_pod(const std::string& uid);

  // The things that can happen, in a new order each time.
  [[nodiscard]] std::vector<Happens> all();

  // Puts a node's object into the cluster, for smaller changes of it. False: it cannot be decoded.
  bool put_node(const Json& node);

  // Takes a place for a pod on a node that fits it, or gives back one taken before.
  [[nodiscard]] std::optional<Change> reserve_or_give_back(Answer& answer, const PodRef& pod);

 private:
  struct Reserved {
    std::shared_ptr<CycleContext> cycle;
    PodRef assumed;
  };
  struct Watched {
    Object object;
    Object given;
    bool present;
  };

  [[nodiscard]] auto any(auto& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(world_.dice.below(map.size())));
  }
  void relabel();
  void tell(const Watched& watched);
  void draw_objects(const std::string& resource);
  std::optional<Change> change_node(const Field& field);
  std::optional<Change> add_node();
  std::optional<Change> remove_node();
  std::optional<Change> add_pod(const Field* with);
  std::optional<Change> change_pod();
  std::optional<Change> remove_some_pod();
  std::optional<Change> nominate();
  std::optional<Change> change_object();
  std::optional<Change> remove_or_restore_object();
  std::optional<Change> pass_time();

  TrialCluster& cluster_;
  World& world_;
  const Options& options_;
  CallNote& note_;
  std::map<std::string, Json> nodes_;  // by name
  std::map<std::string, Json> pods_;   // placed, by UID
  std::vector<Watched> objects_;
  std::optional<Reserved> reserved_;
  PodRef nominated_;
  size_t next_pod_ = 0;
  size_t next_node_ = 0;
  size_t next_version_ = 1000;
};

}  // namespace plimsoll::lint
