#include "informer/watch/informer.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/base/log.hpp"
#include "framework/objects/kinds.hpp"

namespace plimsoll::informer {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

std::string name_of(const ObjectKey& key) {
  std::string name(key.ns);
  return name.append(1, '/').append(key.name);
}

// Identifies an object within its kind. Views into the remembered object.
struct ObjectName {
  std::string_view ns;
  std::string_view name;
  bool operator==(const ObjectName&) const = default;
};

struct ObjectNameHash {
  size_t operator()(const ObjectName& of) const {
    const std::hash<std::string_view> hash;
    return hash(of.name) * 31 + hash(of.ns);
  }
};

ObjectName name_in(const PodRef& pod) {
  return {view(pod->meta.ns), view(pod->meta.name)};
}
ObjectName name_in(const NodeRef& node) {
  return {{}, view(node->meta.name)};
}
ObjectName name_in(const RawRef& object) {
  return {object->ns, object->name};
}

// Says in the log that kinds are not followed: what all of them suffer from once, what is one
// kind's own once for each, and both again every minute while they last.
class Troubles {
 public:
  void tell(const std::string& resource, ReflectorState state, std::string_view text) {
    const bool everybody = state == ReflectorState::kUnreachable;
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    lost_ = lost_ || everybody;
    auto& said = said_[everybody ? std::string() : resource];
    if (said && now - *said < kPause) return;
    said = now;
    log_warn(everybody ? "a list or watch fails; trying again"
                       : "the API server refuses a kind; trying again",
             {{"resource", resource}, {"error", text}});
  }
  // A kind is watched.
  void answered(const std::string& resource) {
    const std::lock_guard lock(mutex_);
    said_.erase(resource);
    if (!std::exchange(lost_, false)) return;
    log_info("the API server answers again", {{"resource", resource}});
  }

 private:
  static constexpr std::chrono::minutes kPause{1};
  std::mutex mutex_;  // guards all below
  std::map<std::string, std::optional<std::chrono::steady_clock::time_point>> said_;
  bool lost_ = false;
};

// The common part of all kinds: what is remembered of each posted object, and the kind's status.
// `Object` is a shared handle.
template <typename Object>
class KindSink : public ReflectorSink {
 public:
  KindSink(Inbox& inbox, Troubles& troubles, std::string resource)
      : inbox_(inbox), troubles_(troubles), resource_(std::move(resource)) {
    status_.resource = resource_;
  }

  void on_upsert(const WireObject& wire, const ObjectKey& key, bool) override {
    const auto begun = std::chrono::steady_clock::now();
    Result<Object> object = decode(wire, key);
    if (!object) {
      log_warn(
          "an object cannot be read",
          {{"resource", resource_}, {"object", name_of(key)}, {"error", object.error().message}});
      note([](KindStatus& status) { ++status.malformed; });
      inbox_.post(ObjectMalformed{resource_, std::string(key.ns), std::string(key.name),
                                  object.error().message});
      object = decode_readable(wire, key);
    }
    const double seconds = seconds_since(begun);
    if (object) remember(remembered(*object));
    note([&](KindStatus& status) {
      status.objects = objects_.size();
      status.unreadable = unreadable_;
      status.decode_seconds += seconds;
      status.decode_longest = std::max(status.decode_longest, seconds);
    });
    if (object) inbox_.post(upserted(std::move(*object)));
  }

  void on_delete(const ObjectKey& key, const WireObject&) override {
    const auto last = objects_.extract(ObjectName{key.ns, key.name});
    if (last.empty()) return;  // it was never posted
    if (is_unreadable(last.mapped())) --unreadable_;
    note([this](KindStatus& status) {
      status.objects = objects_.size();
      status.unreadable = unreadable_;
    });
    inbox_.post(deleted(last.mapped(), key));
  }

  void on_synced() override {
    told_missing_ = false;
    note([](KindStatus& status) { status.synced = status.followed = true; });
    log_info("in sync", {{"resource", resource_}, {"objects", objects_.size()}});
    inbox_.post(KindSynced{resource_, true});
  }

  void on_followed(bool followed, std::string_view why, bool wanted) override {
    note([followed](KindStatus& status) { status.followed = followed; });
    inbox_.post(KindFollowed{resource_, followed, std::string(why), wanted});
  }

  void on_malformed(std::string_view error) override {
    log_warn("skipping what is no object", {{"resource", resource_}, {"error", error}});
    note([](KindStatus& status) { ++status.malformed; });
    inbox_.post(ObjectMalformed{resource_, {}, {}, std::string(error)});
  }

  void on_state(ReflectorState state, std::string_view text) override {
    const bool newly_missing =
        state == ReflectorState::kNotServed && !std::exchange(told_missing_, true);
    note([&](KindStatus& status) {
      status.state = state;
      status.text = text;
      if (newly_missing) status.synced = status.followed = true;
    });
    if (state == ReflectorState::kRefused || state == ReflectorState::kUnreachable) {
      troubles_.tell(resource_, state, text);
    } else if (state == ReflectorState::kNotServed) {
      if (newly_missing) tell_missing(text);
    } else {
      if (state == ReflectorState::kWatching) troubles_.answered(resource_);
      log_debug("reflector", {{"resource", resource_}, {"state", to_string(state)}});
    }
    if (newly_missing) inbox_.post(KindSynced{resource_, false});
  }

  [[nodiscard]] KindStatus status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 protected:
  virtual Result<Object> decode(const WireObject& wire, const ObjectKey& key) = 0;
  // The readable part of an object that decode() rejected; by default nothing.
  virtual Result<Object> decode_readable(const WireObject&, const ObjectKey&) {
    return fail(ErrorCode::kInvalid, "skipped");
  }
  virtual bool is_unreadable(const Object&) const { return false; }
  virtual Message upserted(Object object) = 0;
  virtual Message deleted(const Object& last, const ObjectKey& key) = 0;
  // The part that deleted() will need.
  virtual Object remembered(const Object& object) { return object; }

  [[nodiscard]] const std::string& resource() const { return resource_; }

  // On the I/O thread.
  template <typename Take>
  void for_each(const Take& take) const {
    for (const auto& [name, object] : objects_) take(object);
  }

 private:
  // Kubernetes has kinds that are off by default, and works without them. Their groups have one
  // word before .k8s.io: "podgroups.v1beta1.scheduling.k8s.io".
  void tell_missing(std::string_view answer) const {
    const bool own = resource_.ends_with(".k8s.io") && std::ranges::count(resource_, '.') == 4;
    if (own) return log_info("the API server does not serve this kind", {{"resource", resource_}});
    log_warn("the API server does not serve this kind; is its CRD installed?",
             {{"resource", resource_}, {"answer", answer}});
  }

  // The key points into the object, so it is replaced together with it.
  void remember(Object object) {
    if (is_unreadable(object)) ++unreadable_;
    auto known = objects_.extract(name_in(object));
    if (!known.empty() && is_unreadable(known.mapped())) --unreadable_;
    if (known.empty()) {
      objects_.emplace(name_in(object), std::move(object));
      return;
    }
    known.key() = name_in(object);
    known.mapped() = std::move(object);
    objects_.insert(std::move(known));
  }

  template <typename Change>
  void note(const Change& change) {
    const std::lock_guard lock(mutex_);
    change(status_);
  }

  Inbox& inbox_;
  Troubles& troubles_;
  const std::string resource_;
  // I/O thread only: objects_, unreadable_ and told_missing_.
  std::unordered_map<ObjectName, Object, ObjectNameHash> objects_;
  std::uint64_t unreadable_ = 0;
  bool told_missing_ = false;
  mutable std::mutex mutex_;  // guards status_
  KindStatus status_;
};

class PodSink final : public KindSink<PodRef> {
 public:
  PodSink(Inbox& inbox, Troubles& troubles, SymbolTable& symbols)
      : KindSink(inbox, troubles, "pods"), symbols_(symbols) {}

  // The pods that might be bound. On the I/O thread.
  [[nodiscard]] std::vector<PodRef> unbound() const {
    std::vector<PodRef> pods;
    for_each([&pods](const PodRef& pod) {
      if (pod->node_name.len == 0 && pod->meta.deletion_ms == 0 && pod->scheduling_gates.count == 0)
        pods.push_back(pod);
    });
    return pods;
  }

 private:
  Result<PodRef> decode(const WireObject& wire, const ObjectKey&) override {
    return decode_pod(wire.bytes, symbols_, wire.encoding);
  }
  Result<PodRef> decode_readable(const WireObject& wire, const ObjectKey& key) override {
    return plimsoll::decode_readable(wire.bytes, {key.ns, key.name, key.uid}, symbols_,
                                     wire.encoding);
  }
  bool is_unreadable(const PodRef& pod) const override { return pod->unreadable.len != 0; }
  Message upserted(PodRef pod) override { return PodUpserted{std::move(pod)}; }
  Message deleted(const PodRef& last, const ObjectKey&) override { return PodDeleted{last}; }

  SymbolTable& symbols_;
};

class NodeSink final : public KindSink<NodeRef> {
 public:
  NodeSink(Inbox& inbox, Troubles& troubles, SymbolTable& symbols)
      : KindSink(inbox, troubles, "nodes"), symbols_(symbols) {}

 private:
  Result<NodeRef> decode(const WireObject& wire, const ObjectKey&) override {
    return decode_node(wire.bytes, symbols_, wire.encoding);
  }
  Message upserted(NodeRef node) override { return NodeUpserted{std::move(node)}; }
  Message deleted(const NodeRef&, const ObjectKey& key) override {
    return NodeDeleted{std::string(key.name)};
  }

  SymbolTable& symbols_;
};

// Other kinds: passed on as text, and decoded if the framework knows the kind. The plugins keep
// what they need of the text; only the names are remembered here.
class RawSink final : public KindSink<RawRef> {
 public:
  using KindSink::KindSink;

 private:
  Result<RawRef> decode(const WireObject& wire, const ObjectKey& key) override {
    return decoded(RawObject{resource(), std::string(key.ns), std::string(key.name),
                             std::string(key.uid), std::string(key.resource_version),
                             std::string(wire.bytes)});
  }
  bool is_unreadable(const RawRef& object) const override {
    return object->decoded != nullptr && object->decoded->unreadable.len != 0;
  }
  // What cannot be read has nothing decoded but the reason.
  RawRef remembered(const RawRef& object) override {
    return std::make_shared<const RawObject>(
        RawObject{object->resource,
                  object->ns,
                  object->name,
                  object->uid,
                  object->resource_version,
                  {},
                  is_unreadable(object) ? object->decoded : nullptr});
  }
  Message upserted(RawRef object) override { return ObjectUpserted{std::move(object)}; }
  Message deleted(const RawRef& last, const ObjectKey&) override { return ObjectDeleted{last}; }
};

// A kind that is watched. The sink outlives the reflector that calls it.
struct Watched {
  std::string resource;
  std::unique_ptr<ReflectorSink> sink;
  std::function<KindStatus()> status;
  std::unique_ptr<Reflector> reflector;
};

}  // namespace

struct ApiServerInformer::Impl {
  Impl(HttpClient& http, Inbox& receiver, SymbolTable& table, InformerOptions chosen)
      : client(http), inbox(receiver), symbols(table), options(std::move(chosen)) {
    options.reflector.peers = std::make_shared<ReflectorPeers>();
  }

  HttpClient& client;
  Inbox& inbox;
  SymbolTable& symbols;
  InformerOptions options;
  Troubles troubles;
  mutable std::mutex mutex;  // guards all members from here on
  std::vector<Watched> kinds;
  const PodSink* pods = nullptr;  // the sink of pods, owned by `kinds`
  bool started = false;
  bool stopped = false;

  // Called with `mutex` held.
  template <typename Sink>
  void add(const ResourceType& kind, std::string field_selector, std::unique_ptr<Sink> sink) {
    ReflectorOptions chosen = options.reflector;
    chosen.resource = kind;
    chosen.field_selector = std::move(field_selector);
    // A watch cache that lags could show a pod as waiting although it was bound before a restart,
    // and its resources as free.
    if (kind.text() == "pods") chosen.consistent_first_list = true;
    // Only pods and nodes have a protobuf decoder.
    chosen.protobuf = options.protobuf && (kind.text() == "pods" || kind.text() == "nodes");
    Watched watched;
    watched.resource = kind.text();
    watched.status = [raw = sink.get()] { return raw->status(); };
    watched.sink = std::move(sink);
    watched.reflector = std::make_unique<Reflector>(client, *watched.sink, std::move(chosen));
    kinds.push_back(std::move(watched));
    if (started) kinds.back().reflector->start();
  }

  void watch(const ResourceType& kind) {
    const std::lock_guard lock(mutex);
    if (stopped) return;
    const std::string resource = kind.text();
    for (const Watched& watched : kinds) {
      if (watched.resource == resource) return;
    }
    if (resource == "pods") {
      auto sink = std::make_unique<PodSink>(inbox, troubles, symbols);
      pods = sink.get();
      add(kind, std::string(kUnfinishedPods), std::move(sink));
    } else if (resource == "nodes") {
      add(kind, {}, std::make_unique<NodeSink>(inbox, troubles, symbols));
    } else {
      add(kind, {}, std::make_unique<RawSink>(inbox, troubles, resource));
    }
  }
};

ApiServerInformer::ApiServerInformer(HttpClient& client, Inbox& inbox, SymbolTable& symbols,
                                     InformerOptions options)
    : impl_(std::make_unique<Impl>(client, inbox, symbols, std::move(options))) {
  // Nodes before pods, so that an assigned pod usually finds its node.
  impl_->watch(ResourceType{"", "v1", "nodes"});
  for (const ResourceType& kind : impl_->options.kinds) impl_->watch(kind);
  impl_->watch(ResourceType{"", "v1", "pods"});
}

ApiServerInformer::~ApiServerInformer() {
  stop();
}

void ApiServerInformer::start() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->started || impl_->stopped) return;
  impl_->started = true;
  for (Watched& watched : impl_->kinds) watched.reflector->start();
}

void ApiServerInformer::watch(const ResourceType& kind) {
  impl_->watch(kind);
}

void ApiServerInformer::relist(Relisted done) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->stopped) return;
  const auto left = std::make_shared<int>(2);  // I/O thread only
  const auto one_of_two = [left, pods = impl_->pods, done = std::move(done)] {
    if (--*left == 0) done(pods->unbound());
  };
  for (const Watched& watched : impl_->kinds) {
    const bool always_needed = watched.resource == "pods" || watched.resource == "nodes";
    watched.reflector->relist(always_needed ? std::function<void()>(one_of_two) : [] {});
  }
}

void ApiServerInformer::relist_pods(Relisted done) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->stopped) return;
  for (const Watched& watched : impl_->kinds) {
    if (watched.resource != "pods") continue;
    watched.reflector->relist(
        [pods = impl_->pods, done = std::move(done)] { done(pods->unbound()); });
    return;
  }
}

void ApiServerInformer::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->stopped) return;
    impl_->stopped = true;  // no kind is added after this
  }
  for (Watched& watched : impl_->kinds) watched.reflector->stop();
}

std::vector<KindStatus> ApiServerInformer::status() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<KindStatus> all;
  for (const Watched& watched : impl_->kinds) {
    KindStatus status = watched.status();
    status.lists = watched.reflector->stats().lists.load();
    status.delivered = watched.reflector->stats().delivered.load();
    status.watches = watched.reflector->stats().watches.load();
    status.failures = watched.reflector->stats().failures.load();
    status.position = watched.reflector->stats().position.load();
    all.push_back(std::move(status));
  }
  return all;
}

bool ApiServerInformer::synced() const {
  const std::lock_guard lock(impl_->mutex);
  return std::all_of(impl_->kinds.begin(), impl_->kinds.end(),
                     [](const Watched& watched) { return watched.status().synced; });
}

}  // namespace plimsoll::informer
