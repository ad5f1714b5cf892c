#include "tests/plugins/topology/node_life.hpp"

#include <algorithm>

#include "plugins/topology/possible/room.hpp"
#include "plugins/topology/record/zones_annotation.hpp"

namespace plimsoll::topology {
namespace {

constexpr uint32_t kSlot = 0;
constexpr int64_t kGi = int64_t{1} << 30;
constexpr const char* kGpu = "example.com/gpu";

std::string time_text(int64_t ms) {
  const int64_t s = (ms - 1'767'225'600'000) / 1000;
  char text[40];
  std::snprintf(text, sizeof text, "2026-01-01T%02d:%02d:%02dZ", static_cast<int>(s / 3600 % 24),
                static_cast<int>(s / 60 % 60), static_cast<int>(s % 60));
  return text;
}

}  // namespace

NodeLife::NodeLife(uint32_t seed, LifeOptions options) : random_(seed), options_(options) {
  gpu_ = symbols_.resource_index(kGpu);
  make_machine();
  make_ledger();
  report_now();
  deliver_report();
}

void NodeLife::make_machine() {
  model_ = std::make_shared<kubelet::NodeModel>();
  kubelet::NodeModel& m = *model_;
  const uint32_t zones = 1 + pick(4);
  const uint32_t cores = 2 + pick(5);
  const uint32_t threads = options_.plain ? 1 : 1 + pick(2);
  zone_cpus_ = cores * threads;
  std::vector<kubelet::CpuPlace> places;
  for (uint32_t zone = 0; zone < zones; ++zone) {
    m.zone_ids.push_back(zone);
    for (uint32_t core = 0; core < cores; ++core) {
      for (uint32_t thread = 0; thread < threads; ++thread) {
        const uint32_t global = zone * cores + core;
        places.push_back({global + thread * zones * cores, zone, zone, global, zone});
      }
    }
  }
  m.layout = std::make_shared<const kubelet::CpuLayout>(places);
  m.reserved.emplace();
  m.reserved->add(0);
  m.managers.policy = static_cast<Policy>(pick(4));
  m.managers.scope = static_cast<Scope>(pick(2));
  m.managers.cpu = kubelet::ManagerPolicy::kStatic;
  if (options_.plain) {
    m.managers.memory = kubelet::ManagerPolicy::kNone;
  } else {
    m.managers.memory =
        pick(3) == 0 ? kubelet::ManagerPolicy::kNone : kubelet::ManagerPolicy::kStatic;
    m.managers.cpu_options.full_pcpus_only = pick(4) == 0;
    m.managers.cpu_options.distribute_cpus_across_numa = pick(6) == 0;
  }
  m.memory.push_back({kubelet::kMemoryResource, std::vector<int64_t>(zones, 16 * kGi)});
  kubelet::DeviceType gpus;
  gpus.resource = gpu_;
  for (uint32_t zone = 0; zone < zones; ++zone) {
    for (uint32_t i = 0; i < 2; ++i) {
      const kubelet::ZoneMask far =
          !options_.plain && pick(5) == 0 ? kubelet::ZoneMask{1} << pick(zones) : 0;
      const bool nowhere = !options_.plain && pick(12) == 0;
      gpus.devices.push_back({"gpu-" + std::to_string(zone * 2 + i),
                              nowhere ? 0 : (kubelet::ZoneMask{1} << zone) | far,
                              options_.plain || pick(8) != 0});
    }
  }
  m.devices.push_back(std::move(gpus));
  m.prepare();
  state_ = kubelet::NodeState(m);
  state_.set_cpu_ids(m, m.layout->all() - *m.reserved);
  for (uint32_t zone = 0; zone < zones; ++zone) {
    state_.memory(m, 0)[zone] = 16 * kGi;
    state_.set_group(m, zone, 0, kubelet::ZoneMask{1} << zone);
  }
  state_.set_device_ids(m, 0, m.device_facts[0].healthy);
}

void NodeLife::make_ledger() {
  ledger_ = std::make_unique<TwoLedgers>(
      [this](std::string_view name) { return symbols_.resource_index(name); });
  ledger_->node_added("n1", kSlot);
}

std::string NodeLife::random_containers() {
  const bool guaranteed = pick(8) != 0;
  const auto container = [&](const std::string& name, bool sidecar) {
    const uint32_t cpus = 1 + pick(zone_cpus_ + 2);
    std::string amounts =
        pick(8) == 0 ? R"("cpu":"500m")" : R"("cpu":")" + std::to_string(cpus) + "\"";
    amounts += R"(,"memory":")" + std::to_string(1 + pick(12)) + "Gi\"";
    std::string gpus;
    if (pick(4) == 0)
      gpus = "\"" + std::string(kGpu) + "\":\"" + std::to_string(1 + pick(2)) + "\"";
    const std::string both = gpus.empty() ? amounts : amounts + "," + gpus;
    return R"({"name":")" + name + R"(","image":"i","resources":{"requests":{)" + both +
           R"(},"limits":{)" + (guaranteed ? both : gpus) + "}}" +
           (sidecar ? R"(,"restartPolicy":"Always"})" : "}");
  };
  std::string init;
  if (!options_.plain && pick(6) == 0) init = container("i0", false);
  if (pick(8) == 0) init += (init.empty() ? "" : ",") + container("s0", true);
  std::string apps = container("c0", false);
  if (pick(3) == 0) apps += "," + container("c1", false);
  return R"("initContainers":[)" + init + R"(],"containers":[)" + apps + "]";
}

PodRef NodeLife::object_of(const Pod& pod, std::string_view failed) {
  std::string json = R"({"metadata":{"name":")" + pod.name + R"(","namespace":"ns","uid":"uid-)" +
                     pod.id + R"(","resourceVersion":")" + std::to_string(pod.version) +
                     R"(","creationTimestamp":")" + time_text(pod.created_ms) + "\"";
  if (pod.terminating != Pod::kNo) json += R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
  if (pod.mirror) json += R"(,"annotations":{"kubernetes.io/config.mirror":"hash"})";
  if (!pod.annotation.empty()) {
    std::string escaped;
    for (char c : pod.annotation) escaped += c == '"' ? "\\\"" : std::string(1, c);
    json += R"(,"annotations":{"topology.plimsoll.io/zones":")" + escaped + "\"}";
  }
  json += R"(},"spec":{"nodeName":"n1",)" + (pod.resized.empty() ? pod.json : pod.resized) +
          R"(},"status":{)";
  if (!failed.empty()) json += R"("phase":"Failed","reason":")" + std::string(failed) + "\",";
  if (pod.started) json += R"("phase":"Running",)";
  if (pod.start_ms != 0) json += R"("startTime":")" + time_text(pod.start_ms) + "\",";
  json += R"("message":""}})";
  return decode_pod(json, symbols_).value();
}

void NodeLife::step() {
  now_ += 200;
  ledger_->pass_time(now_);
  if (options_.strange && pick(6) == 0) return strange();
  if (options_.finishes && pick(8) == 0) return finish();
  switch (pick(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return place();
    case 4:
    case 5:
      return write_binding();
    case 6:
    case 7:
      return admit();
    case 8:
      return start_containers();
    case 9:
      if (!options_.deletions) return;
      if (pick(2) == 0) return terminate();
      end();
      return;
    case 10:
    case 11:
    case 12:
      return deliver_event();
    case 13:
      return report_now();
    case 14:
      return deliver_report();
    default:
      if (options_.crashes && pick(6) == 0) return crash();
      if (options_.gaps && pick(4) == 0) return miss_events();
  }
}

void NodeLife::quiesce() {
  while (!reserved_.empty()) write_binding();
  away_until_ = std::min(away_until_, now_);
  listed_.clear();
  do admit();
  while (!to_admit_.empty());
  while (!watch_.empty()) deliver_event();
  while (end()) deliver_event();
  reports_.clear();
  report_now();
  deliver_report();
  if (options_.fingerprints && (options_.facts || !options_.strange)) {
    EXPECT_EQ(ledger_->stats().promises, 0u);
  }
}

// What NodeResourcesFit keeps off: devices may have no zone, so zone counts do not limit them.
bool NodeLife::gpus_left(const kubelet::PodDemand& pod) const {
  const auto gpus_of = [](const kubelet::PodDemand& demand) {
    return demand.totals.devices.empty() ? 0 : demand.totals.devices.front().amount;
  };
  int64_t gpus = gpus_of(pod);
  for (const auto* pods : {&reserved_, &api_}) {
    for (const auto& [name, other] : *pods) gpus += gpus_of(kubelet::PodDemand(*other.object));
  }
  const auto& devices = model_->devices[0].devices;
  return gpus <= std::count_if(devices.begin(), devices.end(),
                               [](const kubelet::Device& device) { return device.healthy; });
}

NodeLife::Pod NodeLife::new_pod() {
  Pod pod;
  pod.id = pod.name = "p" + std::to_string(++names_);
  if (options_.strange && !old_names_.empty() && pick(3) == 0) {
    pod.name = old_names_.back();
    old_names_.pop_back();
  }
  pod.json = random_containers();
  pod.created_ms = now_;
  pod.object = object_of(pod);
  return pod;
}

void NodeLife::place() {
  Pod pod = new_pod();
  ++totals_.asked;
  Inquiry inquiry(*pod.object);
  if (!gpus_left(*inquiry.demand)) return;
  const Judgement judgement = ledger_->judge(*pod.object);
  Inquiry thorough(*pod.object);
  thorough.scratch.use_full_lists(true);
  const Judgement same = ledger_->ask().judge(kSlot, thorough);
  // Short ways say the same, but also where there are too many orders to play; whether that is
  // right the kubelet shows.
  const bool surer = judgement.fits() && same.verdict == Verdict::kUncertain;
  EXPECT_TRUE(surer || judgement.verdict == same.verdict)
      << static_cast<int>(judgement.verdict) << " the short way, else "
      << static_cast<int>(same.verdict);
  EXPECT_EQ(judgement.resource, same.resource);
  const Placement placement = ledger_->reserve(*pod.object, kSlot, now_);
  EXPECT_EQ(placement.complete, judgement.fits()) << "what passes Filter, Reserve can place";
  if (!placement.complete) {
    const bool next = reserved_.empty() && to_admit_.empty();
    if (next && kubelet::admits(*model_, state_, *inquiry.demand, scratch_)) ++totals_.held_back;
    return;
  }
  ++totals_.placed;
  if (pick(8) == 0) {  // the binding failed
    ledger_->unreserve(*pod.object);
    return;
  }
  pod.annotation = zones_annotation(PodRequest(*pod.object), placement.where);
  pod.ends_before = ends_ - static_cast<int>(untold_.size());
  pod.strangers_before = strangers_told_;
  pod.alone = reserved_.empty() && to_admit_.empty();
  // Those on their way are not alone any more either: it may overtake them.
  for (auto& [name, other] : reserved_) other.alone = false;
  for (const std::string& name : to_admit_) {
    if (const auto at = api_.find(name); at != api_.end()) at->second.alone = false;
  }
  reserved_[pod.id] = std::move(pod);
}

// Bindings overtake one another on their way.
void NodeLife::write_binding() {
  if (reserved_.empty()) return;
  auto node = reserved_.extract(
      std::next(reserved_.begin(), pick(static_cast<uint32_t>(reserved_.size()))));
  Pod& pod = node.mapped();
  pod.version = ++versions_;
  pod.object = object_of(pod);
  watch_.push_back({Event::Kind::kBound, pod.object});
  told_[pod.id] = pod.object;  // a list without a pod that was bound says that it is gone
  to_admit_.push_back(pod.id);
  api_.insert(std::move(node));
}

void NodeLife::admit() {
  if (now_ < away_until_) return;
  if (std::exchange(away_until_, 0) != 0) {  // it is back
    at_first_ = to_admit_.size();
    std::stable_sort(to_admit_.begin(), to_admit_.end(), [&](const auto& a, const auto& b) {
      const auto second = [&](const std::string& id) {
        const auto pod = api_.find(id);
        return pod == api_.end() ? 0 : pod->second.created_ms / 1000;
      };
      return second(a) < second(b);
    });
    for (auto* pods : {&reserved_, &api_}) {
      for (auto& [id, pod] : *pods) pod.reordered = true;
    }
  }
  if (!to_admit_.empty()) admit_next();
  if (at_first_ > 0) --at_first_;
  if (at_first_ > 0) return;
  for (const kubelet::Allocation& held : std::exchange(stale_, {})) {
    kubelet::release(*model_, state_, held);
  }
  if (std::exchange(said_away_, false)) report_now();
}

void NodeLife::admit_next() {
  const auto at = api_.find(to_admit_.front());
  to_admit_.pop_front();
  if (at == api_.end()) return;
  Pod& pod = at->second;
  if (pod.terminating != Pod::kNo && pick(2) == 0) {
    ++ends_;
    if (pod.terminating == Pod::kAsked) untold_.insert(pod.id);
    return;
  }
  const kubelet::PodDemand demand(*pod.object);
  pod.given = kubelet::admit(*model_, state_, demand, scratch_);
  pod.version = ++versions_;
  pod.start_ms = now_ / 1000 * 1000;
  if (pod.given.admitted()) {
    ++(pod.foreign ? totals_.foreign : totals_.admitted);
    pod.held = pod.given.allocation;
    pod.running = true;
    pod.object = object_of(pod);
    watch_.push_back({Event::Kind::kStarted, pod.object});
    return;
  }
  const bool strange = pod.reordered || strangers_ > pod.strangers_before;
  const bool made_room = (options_.facts || options_.plain) && ends_ > pod.ends_before;
  const bool overtaken = strange || (made_room && !(pod.alone && fits_with_more(*model_, demand)));
  if (!pod.foreign) {
    ++(overtaken ? totals_.overtaken : totals_.refused);
    ++totals_.reasons[kubelet::message_of(pod.given, kGpu)];
  }
  watch_.push_back({Event::Kind::kGone, object_of(pod, kubelet::to_string(pod.given.reason))});
  api_.erase(at);
}

void NodeLife::start_containers() {
  for (auto& [name, pod] : api_) {
    if (!pod.running || pick(2) == 0) continue;
    kubelet::started(*model_, state_, pod.held);
    if (pod.started) continue;
    pod.started = true;
    pod.version = ++versions_;
    watch_.push_back({Event::Kind::kRunning, object_of(pod)});
  }
}

// A pod is asked to end; that is seen before its grace period is over.
void NodeLife::terminate() {
  if (api_.empty()) return;
  Pod& pod = std::next(api_.begin(), pick(static_cast<uint32_t>(api_.size())))->second;
  if (pod.terminating != Pod::kNo) return;
  pod.terminating = Pod::kAsked;
  pod.version = ++versions_;
  watch_.push_back({Event::Kind::kTerminating, object_of(pod)});
}

// And ends: the kubelet lets go of it, then it is gone. A kubelet does not admit a pod that is to
// end when it sees it first.
bool NodeLife::end() {
  const auto seen = [](const auto& entry) { return entry.second.terminating == Pod::kSeen; };
  const auto at = std::find_if(api_.begin(), api_.end(), seen);
  if (at == api_.end()) return false;
  Pod& pod = at->second;
  if (pod.running && said_away_) stale_.push_back(pod.held);
  if (pod.running && !said_away_) kubelet::release(*model_, state_, pod.held);
  ++ends_;
  pod.version = ++versions_;
  watch_.push_back({Event::Kind::kGone, object_of(pod)});
  old_names_.push_back(pod.name);
  api_.erase(at);
  return true;
}

void NodeLife::deliver_event() {
  if (watch_.empty()) return;
  const Event event = std::move(watch_.front());
  watch_.pop_front();
  if (event.kind == Event::Kind::kGone) {
    ledger_->pod_removed(*event.pod, now_);
    told_.erase(id_of(*event.pod));
  } else {
    ledger_->pod_assigned(*event.pod, "n1", now_);
    told_[id_of(*event.pod)] = event.pod;
    const auto at = api_.find(id_of(*event.pod));
    if (at != api_.end() && at->second.foreign && event.kind == Event::Kind::kBound) {
      ++strangers_told_;
    }
    if (event.kind == Event::Kind::kTerminating && at != api_.end()) {
      at->second.terminating = Pod::kSeen;
      untold_.erase(at->first);
    }
  }
}

// With facts what is free is told as it is. Without, as exporters have it: what running containers
// hold, a block of several zones in full in each of them.
NrtObject NodeLife::report_object() {
  const kubelet::NodeModel& m = *model_;
  NrtObject nrt;
  nrt.name = "n1";
  nrt.resource_version = std::to_string(++versions_);
  nrt.manager.policy = m.managers.policy;
  nrt.manager.scope = m.managers.scope;
  std::vector<int64_t> cpu(m.zones());
  std::vector<int64_t> memory(m.zones(), 16 * kGi);
  std::vector<int64_t> gpus(m.zones());
  std::vector<int64_t> allocatable(m.zones());
  (m.layout->all() - *m.reserved).for_each([&](uint32_t id) {
    ++allocatable[m.layout->at(id).zone];
  });
  std::vector<int64_t> healthy(m.zones());
  for (const kubelet::Device& device : m.devices[0].devices) {
    for (uint32_t zone = 0; zone < m.zones(); ++zone) {
      if (device.healthy && (device.zones >> zone & 1) != 0) ++healthy[zone];
    }
  }
  cpu = allocatable;
  gpus = healthy;
  std::vector<std::string> names;
  std::vector<uint64_t> hashes;
  for (const std::string& name : listed_) hashes.push_back(pod_hash("ns", name));
  for (const auto& [id, pod] : api_) {
    if (!pod.running) continue;
    if (!options_.exclusive || PodRequest(*pod.object).has_pinned) {
      hashes.push_back(pod_hash("ns", pod.name));
    }
    const kubelet::PodDemand demand(*pod.object);
    for (size_t i = 0; i < pod.given.containers.size(); ++i) {
      if (demand.containers[i].kind == kubelet::ContainerKind::kInit) continue;
      const kubelet::ContainerGrant& grant = pod.given.containers[i];
      for (uint32_t zone = 0; zone < m.zones(); ++zone) {
        if (!grant.cpus.empty()) cpu[zone] -= grant.cpus[zone];
        for (const kubelet::MemoryBlock& block : grant.memory) {
          if ((block.zones >> zone & 1) != 0)
            memory[zone] = std::max<int64_t>(0, memory[zone] - block.bytes);
        }
        for (const kubelet::DeviceGrant& device : grant.devices) gpus[zone] -= device.by_zone[zone];
      }
    }
  }
  for (uint32_t zone = 0; zone < m.zones(); ++zone) {
    if (options_.facts) {
      cpu[zone] = state_.cpu(m)[zone];
      memory[zone] = state_.memory(m, 0)[zone];
      gpus[zone] = state_.devices(m, 0)[zone];
    }
    NrtZone made;
    made.id = zone;
    made.resources.push_back(
        {"cpu", 1000 * int64_t{zone_cpus_}, 1000 * allocatable[zone], 1000 * cpu[zone]});
    if (m.memory_static) made.resources.push_back({"memory", 17 * kGi, 16 * kGi, memory[zone]});
    made.resources.push_back({kGpu, healthy[zone], healthy[zone], gpus[zone]});
    nrt.zones.push_back(std::move(made));
  }
  if (options_.exclusive) nrt.method = FingerprintMethod::kExclusiveResources;
  if (options_.fingerprints) nrt.fingerprint = fingerprint_text(fingerprint_sum(hashes));
  if (!options_.facts) return nrt;
  const auto name_of = [this](uint32_t index) -> std::string_view {
    return index == gpu_ ? kGpu : index == kubelet::kCpuResource ? "cpu" : "memory";
  };
  nrt.attributes = kubelet::encode_settings(m);
  nrt.machine_facts = kubelet::encode_machine(m, name_of);
  std::vector<kubelet::PodHolding> pods;
  for (const auto& [id, pod] : api_) {
    if (pod.running) pods.push_back({"uid-" + id, pod.held});
  }
  nrt.free_facts = kubelet::encode_free(m, state_, name_of, nrt.machine_facts, nrt.zones,
                                        options_.holdings ? &pods : nullptr);
  return nrt;
}

void NodeLife::report_now() {
  if (said_away_) return;
  reports_.push_back(report_object());
}

void NodeLife::deliver_report() {
  if (reports_.empty()) return;
  latest_ = std::move(reports_.front());
  reports_.pop_front();
  ledger_->report(latest_, now_);
}

// kill -9 and a new start: the report and the pods of the API server, nothing else. What was on its
// way to be bound is scheduled anew.
void NodeLife::crash() {
  make_ledger();
  if (pick(2) == 0) ledger_->report(latest_, now_);
  told_.clear();
  miss_events();
  ledger_->report(latest_, now_);
  reserved_.clear();
  ++ends_;
}

// The watch begins anew with a list: of pods that came and went meanwhile nothing is told.
void NodeLife::miss_events() {
  watch_.clear();
  untold_.clear();
  strangers_told_ = strangers_;
  std::erase_if(told_, [&](const auto& entry) {
    if (api_.count(entry.first) != 0) return false;
    ledger_->pod_removed(*entry.second, now_);
    return true;
  });
  for (auto& [id, pod] : api_) {
    told_[id] = object_of(pod);
    ledger_->pod_assigned(*told_[id], "n1", now_);
    if (pod.terminating != Pod::kNo) pod.terminating = Pod::kSeen;
  }
}

// ---- what else may happen

void NodeLife::strange() {
  switch (pick(10)) {
    case 0:
    case 1:
    case 2:
      return come_unasked();
    case 3:
      return run_static_pod();
    case 4:
    case 5:
      return finish();
    case 6:
      return resize();
    case 7:
      return lose_report();
    case 8:
      return change_policy();
    default:
      return stop_kubelet();
  }
}

NodeLife::Pod* NodeLife::running_pod() {
  if (api_.empty()) return nullptr;
  Pod& pod = std::next(api_.begin(), pick(static_cast<uint32_t>(api_.size())))->second;
  return pod.running && pod.terminating == Pod::kNo ? &pod : nullptr;
}

// Another scheduler binds a pod, and does not care for zones.
void NodeLife::come_unasked() {
  Pod pod = new_pod();
  if (!gpus_left(kubelet::PodDemand(*pod.object))) return;
  pod.foreign = true;
  ++strangers_;
  pod.version = ++versions_;
  pod.object = object_of(pod);
  watch_.push_back({Event::Kind::kBound, pod.object});
  to_admit_.push_back(pod.id);
  for (auto& [id, other] : reserved_) other.alone = false;
  api_[pod.id] = std::move(pod);
}

// The kubelet has it before the API server hears of it.
void NodeLife::run_static_pod() {
  Pod pod = new_pod();
  const kubelet::PodDemand demand(*pod.object);
  if (!gpus_left(demand)) return;
  pod.given = kubelet::admit(*model_, state_, demand, scratch_);
  if (!pod.given.admitted()) return;
  ++strangers_;
  pod.held = pod.given.allocation;
  pod.running = pod.foreign = pod.mirror = true;
  pod.version = ++versions_;
  pod.object = object_of(pod);
  watch_.push_back({Event::Kind::kBound, pod.object});
  api_[pod.id] = std::move(pod);
}

// It ends by itself; exporters may list it for a while.
void NodeLife::finish() {
  Pod* pod = running_pod();
  if (pod == nullptr || pod->mirror) return;
  kubelet::release(*model_, state_, pod->held);
  ++ends_;
  pod->version = ++versions_;
  watch_.push_back({Event::Kind::kGone, object_of(*pod)});
  if (pick(2) == 0) listed_.push_back(pod->name);
  if (listed_.size() > 6) listed_.clear();
  api_.erase(std::string(pod->id));
}

void NodeLife::resize() {
  Pod* pod = running_pod();
  if (pod == nullptr || pod->mirror) return;
  Pod other = *pod;
  other.resized = pick(3) != 0 ? random_containers() : std::string();
  // A resize leaves the pod its QoS class, and this one asks for zones or not as before.
  const auto holds = [&](const Pod& one) {
    return may_hold(*model_, kubelet::PodDemand(*object_of(one)));
  };
  if (holds(other) != holds(*pod)) return;
  pod->resized = other.resized;
  pod->version = ++versions_;
  watch_.push_back({Event::Kind::kRunning, object_of(*pod)});
}

void NodeLife::lose_report() {
  if (said_away_) return;
  ledger_->report_deleted("n1");
  reports_.clear();
  report_now();
  deliver_report();
}

// Its kubelet is configured anew while nothing is on its way.
void NodeLife::change_policy() {
  if (!reserved_.empty() || !to_admit_.empty() || !watch_.empty() || said_away_) return;
  auto other = std::make_shared<kubelet::NodeModel>(*model_);
  other->managers.policy = static_cast<Policy>(pick(4));
  other->managers.scope = static_cast<Scope>(pick(2));
  other->prepare();
  model_ = std::move(other);
  reports_.clear();
  report_now();
  deliver_report();
}

// Some exporters say so. What pods held that end meanwhile is free only when the next kubelet has
// admitted what it finds.
void NodeLife::stop_kubelet() {
  if (away_until_ != 0) return;
  away_until_ = now_ + 1'000 + 1'000 * pick(8);
  if (pick(2) == 0) return;
  while (!reports_.empty()) deliver_report();
  latest_.kubelet_away = said_away_ = true;
  latest_.resource_version = std::to_string(++versions_);
  ledger_->report(latest_, now_);
}

}  // namespace plimsoll::topology
