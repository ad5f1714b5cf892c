#pragma once
// Turns one API request into its answer: routes, verbs, subresources. No sockets.
//
// Any thread may call; nothing blocks. The answer to a watch is a plan that the server carries out.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lab/sandbox/admission/pod_admission.hpp"
#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

struct ApiRequest {
  std::string method;  // "GET", "POST", ...
  std::string target;  // path and query as received
  std::string content_type;
  std::string body;
};

struct ApiResponse {
  int code = 200;
  std::string body;
  std::string content_type = "application/json";
  int retry_after_seconds = 0;
};

// The parsed method and target of a request.
struct Route {
  enum class Area { kResource, kHealth, kVersion, kDiscovery, kUnknown };
  Area area = Area::kUnknown;
  std::string verb;  // get, list, watch, create, update, patch, delete, deletecollection
  std::string group;
  std::string version;
  std::string plural;
  std::string ns;
  std::string name;
  std::string subresource;
  std::string path;
  std::map<std::string, std::string> query;

  // "pods", "pods/binding": the name for counters and fault rules.
  [[nodiscard]] std::string resource_and_subresource() const;
  // A parameter of the query; empty, false or 0 if it is missing.
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] bool flag(const char* key) const;
  [[nodiscard]] ApiResult<std::uint64_t> number(const char* key) const;
};

// Percent-decodes and splits. Anything outside /api and /apis is kHealth, kVersion or kUnknown.
[[nodiscard]] Route parse_route(std::string_view method, std::string_view target);

// The objects that a list or watch selects.
struct Selection {
  std::string ns;  // "" for all
  LabelSelector labels;
  FieldSelector fields;
  [[nodiscard]] bool matches(const StoredObject& object) const;
};

// A kind as one request addresses it.
struct Endpoint {
  KindInfo kind;            // as stored
  std::string api_version;  // as requested
  // The object's text in the requested version; `version` replaces the resourceVersion when not 0.
  [[nodiscard]] std::string render(const StoredObject& object, std::uint64_t version = 0) const;
};

// A watch to be carried out.
struct WatchPlan {
  Endpoint endpoint;
  Selection selection;
  std::uint64_t from = 0;           // events after this version
  std::vector<ObjectPtr> initial;   // sent first, as ADDED
  bool initial_events_end = false;  // then the bookmark that ends a streaming list
  bool bookmarks = false;
  std::chrono::seconds timeout{0};
};

struct HandlerOptions {
  // Streaming lists (WatchList). Off: sendInitialEvents is refused, as by an older server.
  bool watch_list = true;
  // Deleting a bound pod with a grace period only marks it. The kubelet removes it, or the server
  // after the grace period. Off: the pod is removed at once.
  bool graceful_pod_deletion = false;
};

class ApiHandler {
 public:
  // The store must outlive the handler.
  ApiHandler(ObjectStore& store, HandlerOptions options);
  ~ApiHandler();

  [[nodiscard]] std::variant<ApiResponse, WatchPlan> handle(const Route& route,
                                                            const ApiRequest& request);

  // A failure as a response: the Status object, or the plain 404 of an unknown path.
  [[nodiscard]] static ApiResponse failure(const ApiStatus& status);

  // The pods whose grace period began with this request; the server removes them after it.
  struct PendingRemoval {
    ObjectKey pod;
    std::string uid;
    std::chrono::seconds grace{0};
  };
  [[nodiscard]] std::vector<PendingRemoval> take_pending_removals();

 private:
  struct ListPages;

  [[nodiscard]] ApiResult<Endpoint> resolve(const Route& route, bool may_create);
  [[nodiscard]] ApiResult<ApiResponse> dispatch(const Endpoint& endpoint, const Route& route,
                                                const ApiRequest& request);
  // The objects that are selected now, at `version` or later.
  struct Snapshot {
    std::vector<ObjectPtr> objects;
    std::uint64_t version = 0;
  };
  [[nodiscard]] ApiResult<Snapshot> snapshot(const Endpoint& endpoint, const Selection& selection,
                                             std::uint64_t version) const;
  [[nodiscard]] ApiResult<WatchPlan> plan_watch(const Endpoint& endpoint, const Route& route) const;
  [[nodiscard]] ApiResult<Selection> selection_of(const Endpoint& endpoint,
                                                  const Route& route) const;
  [[nodiscard]] ApiResult<ApiResponse> list(const Endpoint& endpoint, const Route& route);
  [[nodiscard]] ApiResult<ApiResponse> create(const Endpoint& endpoint, const Route& route,
                                              nlohmann::json object);
  [[nodiscard]] ApiResult<ApiResponse> bind(const Route& route, const nlohmann::json& binding);
  [[nodiscard]] ApiResult<ApiResponse> update(const Endpoint& endpoint, const Route& route,
                                              const nlohmann::json& object);
  [[nodiscard]] ApiResult<ApiResponse> patch(const Endpoint& endpoint, const Route& route,
                                             const ApiRequest& request,
                                             const nlohmann::json& patch);
  // Replaces an object by what `next` makes of the stored one, if that still has the UID and the
  // resource version in `metadata`.
  using Next = std::function<ApiResult<nlohmann::json>(const nlohmann::json& stored)>;
  [[nodiscard]] ApiResult<ApiResponse> replace(const Endpoint& endpoint, const Route& route,
                                               const nlohmann::json& metadata, const Next& next);
  [[nodiscard]] ApiResult<ApiResponse> remove(const Endpoint& endpoint, const Route& route,
                                              const nlohmann::json& options);
  [[nodiscard]] ApiResult<ApiResponse> remove_pod_gracefully(const Endpoint& endpoint,
                                                             const Route& route,
                                                             const Preconditions& preconditions,
                                                             const nlohmann::json& options);
  [[nodiscard]] ApiResult<ApiResponse> remove_collection(const Endpoint& endpoint,
                                                         const Route& route);
  [[nodiscard]] ApiResponse discovery(const Route& route) const;

  ObjectStore& store_;
  PodAdmission admission_;
  HandlerOptions options_;
  std::unique_ptr<ListPages> pages_;
  std::mutex removals_mutex_;
  std::vector<PendingRemoval> removals_;
};

}  // namespace plimsoll::sandbox
