#include "plugins/builtin/volumes/binding_runs.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "plugins/builtin/volumes/volume_writes.hpp"
#include "plugins/storage/csi_translation.hpp"
#include "plugins/storage/volume_match.hpp"

namespace plimsoll::volumes {
namespace {

constexpr int64_t kTickMs = 1000;

// resourceVersions are compared as numbers; what is not one counts as 0.
uint64_t version_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() ? number : 0;
}

bool is_older(std::string_view seen, std::string_view written) {
  return version_number(seen) < version_number(written);
}

std::string watch_key(std::string_view resource, std::string_view key) {
  return std::string(resource) + " " + std::string(key);
}

}  // namespace

// One pod between its first write and its end.
class BindingRun : public std::enable_shared_from_this<BindingRun> {
 public:
  BindingRun(sdk::Host host, const StorageStore& store, BindingRuns& runs,
             BindingRuns::Request request)
      : host_(std::move(host)), store_(store), runs_(runs), request_(std::move(request)) {}

  [[nodiscard]] const std::string& pod_uid() const { return request_.pod_uid; }
  [[nodiscard]] const Reservation& reservation() const { return *request_.reservation; }
  [[nodiscard]] const sdk::Host& host() const { return host_; }

  void write_next() {
    // The cancellation's own text is what the pod gets.
    if (host_.binding_cancelled(request_.pod_uid)) return end(PLIMSOLL_SUCCESS, "");
    const size_t bindings = reservation().bindings.size();
    if (written_ == bindings + reservation().provisions.size()) return wait();
    const auto request = written_ < bindings
                             ? volume_write(reservation().bindings[written_])
                             : claim_write(reservation().provisions[written_ - bindings]);
    host_.api_request(request, [run = shared_from_this()](int status, std::string_view body) {
      run->host_.run_on_loop(0, [run, status, text = std::string(body)] {
        if (!run->ended_) run->answered(status, text);
      });
    });
  }

  // Looks at everything again. An error, or success, ends the run.
  void check() {
    if (ended_ || !waiting_) return;
    auto bound = all_bound();
    if (!bound) return end(PLIMSOLL_ERROR, "binding volumes: " + bound.error().message);
    if (*bound) end(PLIMSOLL_SUCCESS, "");
  }

  void tick() {
    if (ended_ || !waiting_) return;
    if (host_.binding_cancelled(request_.pod_uid)) return end(PLIMSOLL_SUCCESS, "");
    if (host_.now_ms() >= deadline_ms_) {
      return end(PLIMSOLL_ERROR, "binding volumes: context deadline exceeded");
    }
    check();
  }

  void end(int32_t code, const std::string& message) {
    if (std::exchange(ended_, true)) return;
    const auto self = shared_from_this();
    runs_.abandon(request_.pod_uid);
    if (code == PLIMSOLL_ERROR) request_.stage_errors.add(1, "bind");
    host_.complete(request_.token, code, message);
  }
  void abandon() { ended_ = true; }

 private:
  void answered(int status, const std::string& body) {
    if (status < 200 || status >= 300) return end(PLIMSOLL_ERROR, failure_text(status, body));
    auto& [node_name, bindings, provisions] = *request_.reservation;
    // What is assumed of a written volume stays until the event arrives, whatever becomes of the
    // pod.
    if (written_ < bindings.size()) {
      bindings[written_].volume_version = version_in(body);
      bindings[written_].is_assumed = false;
    } else {
      provisions[written_ - bindings.size()].written_version = version_in(body);
    }
    ++written_;
    write_next();
  }

  void wait() {
    waiting_ = true;
    deadline_ms_ = host_.now_ms() + request_.timeout_ms;
    if (request_.timeout_ms == 0) {
      return end(PLIMSOLL_ERROR, "binding volumes: context deadline exceeded");
    }
    check();
  }

  // Kubernetes: checkBindings.
  [[nodiscard]] Result<bool> all_bound() const {
    const std::string& node_name = reservation().node_name;
    const sdk::Node node = host_.node(node_name);
    if (!node) {
      return fail(ErrorCode::kNotFound,
                  "failed to get node \"" + node_name + "\": node \"" + node_name + "\" not found");
    }
    if (!host_.pod_by_uid(request_.pod_uid)) {
      return fail(ErrorCode::kNotFound,
                  "pod does not exist any more: pod \"" + request_.pod_name + "\" not found");
    }
    for (const Reservation::Binding& binding : reservation().bindings) {
      auto bound = is_bound(binding, node);
      if (!bound || !*bound) return bound;
    }
    for (const Reservation::Provision& provision : reservation().provisions) {
      auto bound = is_provisioned(provision, node);
      if (!bound || !*bound) return bound;
    }
    return true;
  }

  [[nodiscard]] Result<bool> is_bound(const Reservation::Binding& binding, sdk::Node node) const {
    const VolumeRef volume = store_.volume(binding.volume);
    if (volume == nullptr) {
      return fail(ErrorCode::kNotFound, "failed to check binding: persistentvolumes \"" +
                                            binding.volume + "\" not found");
    }
    const std::string claim_key = binding.claim->key();
    const ClaimRef claim = store_.claims().find(claim_key);
    if (claim == nullptr) {
      return fail(ErrorCode::kNotFound, "failed to check binding: persistentvolumeclaims \"" +
                                            claim_key + "\" not found");
    }
    if (auto same = is_same(*claim, binding.claim->uid); !same)
      return fail(std::move(same.error()));
    if (claim->is_fully_bound() && claim->volume_name() != binding.volume) {
      return fail(ErrorCode::kInvalid, "persistentvolumeclaim \"" + claim_key +
                                           "\" got persistentvolume \"" +
                                           std::string(claim->volume_name()) + "\" instead of \"" +
                                           binding.volume + "\"");
    }
    if (is_older(volume->version(), binding.volume_version)) return false;
    if (auto usable = can_use(*volume, node); !usable) return fail(std::move(usable.error()));
    if (volume->object->claim == nullptr || volume->object->claim->uid.len == 0) {
      return fail(ErrorCode::kInvalid, "ClaimRef got reset for pv \"" + binding.volume + "\"");
    }
    return claim->is_fully_bound();
  }

  [[nodiscard]] Result<bool> is_provisioned(const Reservation::Provision& provision,
                                            sdk::Node node) const {
    const ClaimRef claim = store_.claims().find(provision.claim.key());
    if (claim == nullptr) {
      return fail(ErrorCode::kNotFound,
                  "failed to check provisioning pvc: persistentvolumeclaims \"" +
                      provision.claim.key() + "\" not found");
    }
    if (auto same = is_same(*claim, provision.claim.uid); !same)
      return fail(std::move(same.error()));
    if (is_older(claim->version(), provision.written_version)) return false;
    if (claim->base().meta.annotations.count == 0) {
      return fail(ErrorCode::kInvalid,
                  "selectedNode annotation reset for PVC \"" + provision.claim.name + "\"");
    }
    if (claim->selected_node().value_or("") != reservation().node_name) {
      return fail(ErrorCode::kInvalid,
                  "provisioning failed for PVC \"" + provision.claim.name + "\"");
    }
    if (claim->volume_name().empty()) return false;
    const VolumeRef volume = store_.volume(claim->volume_name());
    if (volume == nullptr) return false;
    if (auto usable = can_use(*volume, node); !usable) return fail(std::move(usable.error()));
    return claim->is_fully_bound();
  }

  // Not another of the same name. Kubernetes does not ask.
  static Result<void> is_same(const PersistentVolumeClaim& now, const std::string& uid) {
    if (now.uid() == uid) return {};
    return fail(ErrorCode::kInvalid,
                "persistentvolumeclaim \"" + now.key() + "\" was deleted and created again");
  }

  [[nodiscard]] Result<void> can_use(const PersistentVolume& volume, sdk::Node node) const {
    auto affinity = affinity_on(volume, node.name(), store_);
    if (!affinity) return fail(affinity.error().within("failed to translate pv to csi"));
    if (*affinity == nullptr || (*affinity)->matches(node)) return {};
    return fail(ErrorCode::kInvalid,
                "pv \"" + std::string(volume.name()) + "\" node affinity doesn't match node \"" +
                    std::string(node.name()) + "\": no matching NodeSelectorTerms");
  }

  sdk::Host host_;
  const StorageStore& store_;
  BindingRuns& runs_;
  BindingRuns::Request request_;
  size_t written_ = 0;  // bindings, then provisions
  int64_t deadline_ms_ = 0;
  bool waiting_ = false;
  bool ended_ = false;
};

BindingRuns::BindingRuns(const StorageStore& store) : store_(store) {}
BindingRuns::~BindingRuns() = default;

void BindingRuns::begin(const sdk::Host& host, Request request) {
  auto run = std::make_shared<BindingRun>(host, store_, *this, std::move(request));
  host.run_on_loop(0, [this, run] { start(run); });
}

void BindingRuns::start(RunRef run) {
  const sdk::Host host = run->host();
  abandon(run->pod_uid());
  runs_[run->pod_uid()] = run;
  look_at(*run, true);
  if (!std::exchange(has_timer_, true)) host.run_on_loop(kTickMs, [this, host] { tick(host); });
  run->write_next();
}

// One timer for all runs, while there are any.
void BindingRuns::tick(const sdk::Host& host) {
  std::vector<RunRef> all;
  for (const auto& [uid, run] : runs_) all.push_back(run);
  for (const RunRef& run : all) run->tick();
  has_timer_ = !runs_.empty();
  if (has_timer_) host.run_on_loop(kTickMs, [this, host] { tick(host); });
}

void BindingRuns::look_at(const BindingRun& run, bool look) {
  const auto change = [&](std::string_view resource, const std::string& key) {
    std::string name = watch_key(resource, key);
    if (look) {
      looking_.emplace(std::move(name), const_cast<BindingRun*>(&run));
      return;
    }
    const auto [first, last] = looking_.equal_range(name);
    for (auto at = first; at != last;) at = at->second == &run ? looking_.erase(at) : std::next(at);
  };
  for (const Reservation::Binding& binding : run.reservation().bindings) {
    change(sdk::kPersistentVolumes.resource, binding.volume);
    change(sdk::kPersistentVolumeClaims.resource, binding.claim->key());
  }
  for (const Reservation::Provision& provision : run.reservation().provisions) {
    change(sdk::kPersistentVolumeClaims.resource, provision.claim.key());
  }
}

void BindingRuns::changed(const sdk::ObjectEvent& event) {
  if (looking_.empty()) return;
  check(event.resource, key_of(event.ns, event.name));
  if (event.resource != sdk::kPersistentVolumes.resource) return;
  // Whoever waits for a claim does not know the name of the volume that is made for it.
  const VolumeRef volume = store_.volume(event.name);
  const auto claim = volume == nullptr ? std::nullopt : volume->claim();
  if (claim) check(sdk::kPersistentVolumeClaims.resource, key_of(claim->ns, claim->name));
}

void BindingRuns::check(std::string_view resource, const std::string& key) {
  std::vector<RunRef> all;
  const auto [first, last] = looking_.equal_range(watch_key(resource, key));
  for (auto at = first; at != last; ++at) all.push_back(at->second->shared_from_this());
  for (const RunRef& run : all) run->check();
}

void BindingRuns::abandon(std::string_view pod_uid) {
  const auto found = runs_.find(std::string(pod_uid));
  if (found == runs_.end()) return;
  const RunRef run = std::move(found->second);
  runs_.erase(found);
  look_at(*run, false);
  run->abandon();
}

}  // namespace plimsoll::volumes
