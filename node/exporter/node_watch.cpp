#include "node/exporter/node_watch.hpp"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "framework/base/json_path.hpp"
#include "framework/base/log.hpp"
#include "informer/watch/reflector.hpp"
#include "node/exporter/report_kind.hpp"

namespace plimsoll::node {
namespace {

using informer::ObjectKey;
using informer::ReflectorState;
using informer::WireObject;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

// A pod that was deleted by force and created again with its name may still run in the kubelet: its
// old UID counts for this long.
constexpr std::chrono::seconds kForcedDeletion{60};
constexpr std::size_t kWithoutDevices = 3;  // kinds; that of devices is the last

}  // namespace

struct NodeWatch::Impl {
  // One kind: what it does with an object, and whether it was listed.
  struct Kind final : informer::ReflectorSink {
    using Upsert = std::function<void(const json&, std::string_view, const ObjectKey&)>;
    using Delete = std::function<void(const ObjectKey&)>;
    Kind(Impl& impl, informer::ReflectorOptions options, Upsert upsert, Delete gone)
        : impl(impl),
          name(options.resource.text()),
          upsert(std::move(upsert)),
          gone(std::move(gone)),
          reflector(impl.client, *this, std::move(options)) {}

    void on_upsert(const WireObject& object, const ObjectKey& key, bool) override {
      const json parsed = json::parse(object.bytes, nullptr, false);
      impl.change([&] { upsert(parsed, object.bytes, key); });
    }
    void on_delete(const ObjectKey& key, const WireObject&) override {
      impl.change([&] { gone(key); });
    }
    void on_synced() override {
      impl.change([&] { listed = true; });
    }
    void on_followed(bool, std::string_view, bool) override {}
    void on_malformed(std::string_view error) override {
      log_warn("an object cannot be read", {{"kind", name}, {"error", error}});
    }
    void on_state(ReflectorState state, std::string_view text) override {
      log_debug("watching", {{"kind", name}, {"state", to_string(state)}, {"text", text}});
      impl.change([&] {
        served = state != ReflectorState::kNotServed;
        const bool well = state == ReflectorState::kWatching || state == ReflectorState::kListing;
        trouble = well ? "" : name + ": " + std::string(text);
      });
    }

    Impl& impl;
    std::string name;
    Upsert upsert;
    Delete gone;
    bool listed = false;
    bool served = true;
    std::string trouble;
    informer::Reflector reflector;
  };

  struct Gone {
    std::pair<std::string, std::string> name;
    std::string uid;
    Clock::time_point until;
  };

  Impl(informer::HttpClient& client, const std::string& node, bool devices,
       std::function<void()> changed, OnAllocated allocated)
      : client(client), changed(std::move(changed)), allocated(std::move(allocated)) {
    const auto options = [&](informer::ResourceType type, const std::string& field) {
      informer::ReflectorOptions made;
      made.resource = std::move(type);
      made.field_selector = field + "=" + node;
      return made;
    };
    kinds.push_back(std::make_unique<Kind>(
        *this, options({"", "v1", "nodes"}, "metadata.name"),
        [this](const json& object, std::string_view, const ObjectKey& key) {
          state.node_uid = key.uid;
          state.kubelet_version = text_in(object, {"status", "nodeInfo", "kubeletVersion"});
          state.capacity = amounts_in(object, "capacity");
          state.allocatable = amounts_in(object, "allocatable");
        },
        [this](const ObjectKey&) { state.node_uid.clear(); }));
    kinds.push_back(std::make_unique<Kind>(
        *this, options({"", "v1", "pods"}, "spec.nodeName"),
        [this](const json& object, std::string_view, const ObjectKey& key) { pod(object, key); },
        [this](const ObjectKey& key) { pod_gone(key); }));
    follow(options({kReportGroup, kReportVersion, kReportPlural}, "metadata.name"), state.report);
    if (!devices) return;
    follow(options({kDeviceGroup, kDeviceVersion, kDevicePlural}, "metadata.name"), state.devices);
  }

  // Of a kind of which the node has one object.
  void follow(informer::ReflectorOptions options, PublishedObject& into) {
    kinds.push_back(std::make_unique<Kind>(
        *this, std::move(options),
        [&into](const json&, std::string_view text, const ObjectKey& key) {
          into = {std::string(text), std::string(key.resource_version)};
        },
        [&into](const ObjectKey&) { into = {}; }));
  }

  static Amounts amounts_in(const json& node, const char* list) {
    auto amounts = parse_amounts(value_at(node, {"status", list}));
    return amounts ? std::move(*amounts) : Amounts();
  }

  template <typename Change>
  void change(const Change& how) {
    {
      const std::lock_guard lock(mutex);
      how();
    }
    changed();
  }

  static void put(const std::pair<std::string, std::string>& name, bool in, PodNames& names) {
    if (in) {
      names.insert(name);
    } else {
      names.erase(name);
    }
  }

  // A static pod's kubelet knows it by a hash, which its mirror object names.
  void pod(const json& object, const ObjectKey& key) {
    const std::pair name{std::string(key.ns), std::string(key.name)};
    state.uids[name] = {std::string(key.uid),
                        text_in(object, {"metadata", "annotations", "kubernetes.io/config.hash"}),
                        {}};
    const std::string phase = text_in(object, {"status", "phase"});
    const bool starting = text_in(object, {"status", "startTime"}).empty();
    put(name, !starting && (phase == "Pending" || phase == "Running"), state.running);
    put(name, starting, state.starting);
    const std::string uid(key.uid);
    AllocatedPod known = {text_in(object, {"metadata", "annotations", kAllocatedAnnotation}),
                          text_in(object, {"metadata", "creationTimestamp"}),
                          text_in(object, {"metadata", "labels", kIsolationLabel})};
    if (known.annotation.size() > kLongestAnnotation) known.annotation.clear();
    auto has = std::make_shared<DevicesInUse>();
    if (has->add_annotation(known.annotation)) {
      state.allocated[uid] = std::move(has);
    } else {
      state.allocated.erase(uid);
    }
    allocated(uid, &known);
  }

  void pod_gone(const ObjectKey& key) {
    const std::pair name{std::string(key.ns), std::string(key.name)};
    const auto known = state.uids.find(name);
    const std::string hash = known == state.uids.end() ? "" : known->second.hash;
    state.uids.erase(name);
    state.running.erase(name);
    state.starting.erase(name);
    state.allocated.erase(std::string(key.uid));
    allocated(std::string(key.uid), nullptr);
    std::erase_if(gone, [now = Clock::now()](const Gone& each) { return each.until < now; });
    gone.push_back({name, std::string(key.uid), Clock::now() + kForcedDeletion});
    // A mirror that goes says nothing of its static pod.
    if (!hash.empty()) gone.push_back({name, hash, Clock::now() + kForcedDeletion});
  }

  informer::HttpClient& client;
  std::function<void()> changed;
  OnAllocated allocated;
  mutable std::mutex mutex;
  ClusterView state;
  std::vector<Gone> gone;
  std::vector<std::unique_ptr<Kind>> kinds;
};

NodeWatch::NodeWatch(informer::HttpClient& client, const std::string& node, bool devices,
                     std::function<void()> changed, OnAllocated allocated)
    : impl_(
          std::make_unique<Impl>(client, node, devices, std::move(changed), std::move(allocated))) {
  for (auto& kind : impl_->kinds) kind->reflector.start();
}

NodeWatch::~NodeWatch() {
  for (auto& kind : impl_->kinds) kind->reflector.stop();
}

ClusterView NodeWatch::view() const {
  const std::lock_guard lock(impl_->mutex);
  ClusterView view = impl_->state;
  view.complete = std::all_of(impl_->kinds.begin(), impl_->kinds.begin() + kWithoutDevices,
                              [](const auto& kind) { return kind->listed || !kind->served; });
  view.report_served = impl_->kinds[kWithoutDevices - 1]->served;
  if (impl_->kinds.size() > kWithoutDevices) {
    view.devices_served = impl_->kinds.back()->served;
    view.devices_listed = impl_->kinds.back()->listed;
    view.devices_trouble = impl_->kinds.back()->trouble;
  }
  // The name alone says that the pod is there again; then the old one may be there too.
  const auto now = Clock::now();
  for (const Impl::Gone& each : impl_->gone) {
    if (each.until < now) continue;
    view.uids[each.name].gone.push_back(each.uid);
    if (view.starting.contains(each.name)) view.replaced.insert(each.name);
  }
  return view;
}

std::string NodeWatch::trouble() const {
  const std::lock_guard lock(impl_->mutex);
  std::string all;
  for (std::size_t i = 0; i < kWithoutDevices; ++i) {
    const std::string& trouble = impl_->kinds[i]->trouble;
    if (!trouble.empty()) all += (all.empty() ? "" : "; ") + trouble;
  }
  return all;
}

}  // namespace plimsoll::node
