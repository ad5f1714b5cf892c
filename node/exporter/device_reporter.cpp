#include "node/exporter/device_reporter.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include <plimsoll/time_text.hpp>
#include "framework/base/json_path.hpp"
#include "framework/base/log.hpp"
#include "node/exporter/report_kind.hpp"

namespace plimsoll::node {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kBoot = "plimsoll.io/boot-id";  // also says that the object is ours
// The policy (deploy/node-hook.yaml), and how long the API server's instances may take to see it,
// in milliseconds.
constexpr const char* kGuard = "plimsoll-device-allocated";
constexpr std::int64_t kGuardBegins = 60'000;
// Between two writes of the same amounts into the Node: somebody else writes others.
constexpr milliseconds kFirstPause{1'000}, kLongestPause{300'000};
constexpr int kEventsAtOnce = 20;
constexpr milliseconds kEventTimeout{5'000};
constexpr std::size_t kEventName = 200;  // the API server adds some
constexpr const char* kCheckpoints = "node.koordinator.sh/devices-checkpoints";

const informer::ResourceType& device_kind() {
  static const informer::ResourceType kKind{kDeviceGroup, kDeviceVersion, kDevicePlural};
  return kKind;
}

// Texts of a metadata's labels or annotations; an empty one is taken away.
void put_texts(json& metadata, const char* key, const std::map<std::string, std::string>& texts) {
  for (const auto& [name, text] : texts) {
    if (!text.empty()) {
      metadata[key][name] = text;
    } else if (metadata.contains(key)) {
      metadata[key].erase(name);
    }
  }
}

void put_report(json& object, const std::string& node, const std::string& node_uid,
                const DeviceReport& report) {
  object["apiVersion"] = std::string(kDeviceGroup) + "/" + kDeviceVersion;
  object["kind"] = "Device";
  object["metadata"]["name"] = node;
  set_owner(object, node, node_uid);
  put_texts(object["metadata"], "labels", report.labels);
  put_texts(object["metadata"], "annotations", report.annotations);
  object["spec"]["devices"] = report.devices;
}

}  // namespace

DeviceReporter::DeviceReporter(DeviceReporterOptions options, const std::string& node,
                               informer::HttpClient& client, metrics::Registry* registry,
                               std::function<void()> changed)
    : options_(std::move(options)),
      node_(node),
      client_(client),
      writer_(client, device_kind(), node, "Device", options_.period, options_.settle),
      cdi_(options_.hook ? options_.hook->files.root : "/"),
      finder_(options_.finder, [this, changed = std::move(changed)] {
        faulty_ = true;
        changed();
      }) {
  if (options_.hook) hook_ = std::make_unique<DeviceHook>(*options_.hook, registry);
  if (registry == nullptr) return;
  devices_ = registry->gauges({"plimsoll_node_devices",
                               "Devices that are reported, by type and health.",
                               {"type", "health"}});
}

DeviceReporter::Outcome DeviceReporter::pass(
    const ClusterView& cluster, const Hardware* hardware,
    const std::optional<std::vector<DeviceState::Entry>>& held, const std::stop_token& stop) {
  if (!cluster.complete || cluster.node_uid.empty()) return {"", options_.period};
  if (!cluster.devices_served) {
    return {
        "the API server does not know Device objects; install the custom resource definition "
        "deploy/crds/devices.yaml",
        options_.period};
  }
  if (!cluster.devices_listed) return {cluster.devices_trouble, options_.period};
  if (writer_.not_echoed(cluster.devices)) return {"", ObjectWriter::kEcho};
  json published = json::parse(cluster.devices.text, nullptr, false);
  if (!published.is_object()) published = json::object();
  if (options_.remove) return take_back(cluster, published, stop);
  if (!std::exchange(restored_, true)) restore_faults(published);
  // Who deletes the object says that the cards were looked after.
  if (std::exchange(was_there_, !published.empty()) && !was_there_) finder_.forget_faults();
  look(hardware, stop);
  if (found_.devices.empty() && published.empty()) {
    tell_hook(json::array());
    tell_missed(stop);
    return {"", options_.period};
  }

  DevicesInUse in_use;
  for (const auto& [uid, has] : cluster.allocated)
    in_use.minors.insert(has->minors.begin(), has->minors.end());
  for (const DeviceState::Entry& entry : held.value_or(std::vector<DeviceState::Entry>())) {
    for (const std::string& id : entry.ids) in_use.ids.insert(id.substr(0, id.find("::")));
  }
  DeviceReport report = report_devices(found_, published, in_use,
                                       sdk::time_text(std::chrono::system_clock::now(), false));
  report.annotations[kBoot] = options_.boot;
  report.annotations[kHookAnnotation] = hook_ ? DeviceHook::kName : "";
  if (held) {
    report.annotations[kCheckpoints] =
        checkpoint_text(*held, cluster.allocated, found_, report.devices);
  }
  count(report.devices);
  tell(report.problems);
  tell_hook(report.devices);
  const Outcome outcome = write(cluster, published, report, stop);
  tell_missed(stop);
  return outcome;
}

DeviceReporter::Outcome DeviceReporter::write(const ClusterView& cluster, const json& published,
                                              const DeviceReport& report,
                                              const std::stop_token& stop) {
  const Amounts now = node_resources(report.devices);
  // What the object names no more nobody would take out of the Node later.
  Amounts leaving = node_resources(value_at(published, {"spec", "devices"}));
  std::erase_if(leaving, [&now](const auto& amount) { return now.contains(amount.first); });
  if (std::string trouble = patch_node({}, leaving, cluster, stop); !trouble.empty())
    return {std::move(trouble), options_.period};
  Outcome outcome{"", options_.period};
  bool is_published = !published.empty();
  json object = published;
  put_report(object, node_, cluster.node_uid, report);
  if (object != published) {
    json content = json::object();
    put_report(content, node_, cluster.node_uid, report);
    const auto done =
        writer_.write(object, content.dump(-1, ' ', false, json::error_handler_t::replace),
                      cluster.devices, stop);
    outcome = {done.trouble, done.again};
    is_published = is_published || done.end == ObjectWriter::End::kDone;
  }
  // Pods that find amounts, and no object that says which devices these are, get none by number.
  if (!is_published) return outcome;
  std::string trouble = patch_node(now, {}, cluster, stop);
  if (outcome.trouble.empty()) outcome.trouble = std::move(trouble);
  return outcome;
}

void DeviceReporter::look(const Hardware* hardware, const std::stop_token& stop) {
  const auto now = Clock::now();
  if (!faulty_.exchange(false) && now < next_look_) return;
  if (hook_) look_at_policy(stop);
  found_ = finder_.find(hardware);
  next_look_ = now + options_.period;
}

// Whoever may create or change a pod could say in its annotation that it has a device. The API
// server can be made to let the scheduler's binding alone write it (deploy/node-hook.yaml), and
// then shows when that began. Nothing in a pod shows who wrote an annotation so that its owner
// could not forge it: managedFields do not tell of bindings, and can be emptied.
void DeviceReporter::look_at_policy(const std::stop_token& stop) {
  std::optional<std::int64_t> since;
  for (const char* kind : {"validatingadmissionpolicies", "validatingadmissionpolicybindings"}) {
    informer::HttpRequest request;
    request.path = std::string("/apis/admissionregistration.k8s.io/v1/") + kind + "/" + kGuard;
    const auto answer = informer::call(client_, std::move(request), stop);
    const bool is_absent = answer && (answer->status == 404 || answer->status == 403);
    if (!answer || (!answer->ok() && !is_absent)) return;  // what was known stays
    const json object = answer->ok() ? json::parse(answer->body, nullptr, false) : json::object();
    const json& spec = value_at(object, {"spec"});
    const auto made = sdk::parse_time(text_in(object, {"metadata", "creationTimestamp"}));
    const json& actions = value_at(spec, {"validationActions"});
    const bool counts =
        spec.contains("validations")
            ? text_in(spec, {"failurePolicy"}) == "Fail"
            : text_in(spec, {"policyName"}) == kGuard && !spec.contains("matchResources") &&
                  std::find(actions.begin(), actions.end(), "Deny") != actions.end();
    if (!made || !counts) {
      guarded_since_.reset();
      return;
    }
    since = std::max(since.value_or(*made), *made);
  }
  guarded_since_ = since;
}

void DeviceReporter::tell_hook(const json& reported) {
  if (!hook_) return;
  hook_->judge_by([devices = std::make_shared<const json>(reported), names = cdi_.read(),
                   since = guarded_since_,
                   files = options_.hook->files](const AllocatedPod& pod, bool by_name) {
    const auto made = sdk::parse_time(pod.created);
    if (since && made && *made >= *since + kGuardBegins) {
      return devices_of_pod(pod, *devices, files, by_name ? *names : std::set<std::string>());
    }
    PodDevices refused;
    refused.refusal = since ? "it is older than the admission policy by which its annotation can "
                              "be believed: make it anew"
                            : "nothing keeps others than the scheduler from writing its "
                              "annotation: apply deploy/node-hook.yaml";
    return refused;
  });
}

void DeviceReporter::tell_missed(const std::stop_token& stop) {
  if (!hook_) return;
  std::set<std::string> told;
  int left = kEventsAtOnce;
  const std::vector<MissedContainer> missed = hook_->missed();
  for (const MissedContainer& each : missed) {
    if (told_missed_.contains(each.id)) continue;
    if (left-- <= 0) continue;
    const std::string now = sdk::time_text(std::chrono::system_clock::now(), false);
    const json event = {
        {"apiVersion", "v1"},
        {"kind", "Event"},
        {"metadata",
         {{"generateName", each.pod.name.substr(0, kEventName) + "-"}, {"namespace", each.pod.ns}}},
        {"involvedObject",
         {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"namespace", each.pod.ns},
          {"name", each.pod.name},
          {"uid", each.pod.uid}}},
        {"type", "Warning"},
        {"reason", "DevicesMissed"},
        {"message", "container " + each.name +
                        " was made without its devices while plimsoll-node was "
                        "away: make the pod anew"},
        {"source", {{"component", "plimsoll-node"}, {"host", node_}}},
        {"firstTimestamp", now},
        {"lastTimestamp", now},
        {"count", 1}};
    informer::HttpRequest request;
    request.method = "POST";
    request.path = "/api/v1/namespaces/" + informer::url_encode(each.pod.ns) + "/events";
    request.content_type = "application/json";
    request.timeout = kEventTimeout;
    request.body = event.dump(-1, ' ', false, json::error_handler_t::replace);
    const auto answer = informer::call(client_, std::move(request), stop);
    if (!answer) break;  // the next pass tells the others
    told.insert(each.id);
    if (!answer->ok()) {
      log_warn("an event was not written",
               {{"reason", informer::response_error("events", *answer).message}});
    }
  }
  told_missed_.merge(told);
  std::erase_if(told_missed_, [&missed](const std::string& id) {
    return std::ranges::find(missed, id, &MissedContainer::id) == missed.end();
  });
}

// No call shows that a card had a fault, and a new start of this program mends none.
void DeviceReporter::restore_faults(const json& published) {
  if (text_in(published, {"metadata", "annotations", kBoot}) != options_.boot) return;
  for (const json& entry : value_at(published, {"spec", "devices"})) {
    for (const json& condition : value_at(entry, {"conditions"})) {
      DeviceFault fault{text_in(condition, {"reason"}), text_in(condition, {"message"})};
      if (!fault.reason.starts_with("Xid")) continue;
      finder_.remember_fault(text_in(entry, {"topology", "busID"}), std::move(fault));
    }
  }
}

void DeviceReporter::count(const json& devices) {
  if (!devices_) return;
  std::map<std::string, std::pair<int, int>> counts;
  for (const std::string& type : types_) counts[type];
  for (const json& device : devices) {
    auto& [healthy, unhealthy] = counts[text_in(device, {"type"})];
    ++(value_at(device, {"health"}) == true ? healthy : unhealthy);
  }
  for (const auto& [type, count] : counts) {
    types_.insert(type);
    devices_.with({type, "healthy"}).set(count.first);
    devices_.with({type, "unhealthy"}).set(count.second);
  }
}

void DeviceReporter::tell(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    if (!told_.contains(problem)) log_warn("a device cannot be read", {{"problem", problem}});
  }
  told_ = {problems.begin(), problems.end()};
}

DeviceReporter::Outcome DeviceReporter::take_back(const ClusterView& cluster, const json& published,
                                                  const std::stop_token& stop) {
  if (published.empty()) return {"", options_.period};
  if (text_in(published, {"metadata", "annotations", kBoot}).empty()) {
    return {"the Device object is another program's, and stays", options_.period};
  }
  const Amounts before = node_resources(value_at(published, {"spec", "devices"}));
  if (std::string trouble = patch_node({}, before, cluster, stop); !trouble.empty()) {
    return {std::move(trouble), options_.period};
  }
  informer::HttpRequest request;
  request.method = "DELETE";
  request.path = device_kind().path() + "/" + informer::url_encode(node_);
  const auto answer = informer::call(client_, std::move(request), stop);
  const std::string what = "deleting this node's Device object";
  if (!answer) return {answer.error().within(what).message, options_.period};
  if (!answer->ok() && answer->status != 404) {
    return {informer::response_error(what, *answer).message, options_.period};
  }
  return {"", options_.period};
}

std::string DeviceReporter::patch_node(const Amounts& wanted, const Amounts& before,
                                       const ClusterView& cluster, const std::stop_token& stop) {
  json status = json::object();
  for (const auto& [list, now] :
       {std::pair("capacity", &cluster.capacity), std::pair("allocatable", &cluster.allocatable)}) {
    for (const auto& [name, amount] : wanted) {
      if (!now->contains(name) || now->at(name) != amount) {
        status[list][name] = std::to_string(amount);
      }
    }
    for (const auto& [name, amount] : before) {
      if (!wanted.contains(name) && now->contains(name)) status[list][name] = nullptr;
    }
  }
  if (status.empty()) return {};
  if (!wanted.empty()) {
    const auto moment = Clock::now();
    if (wanted != last_amounts_) patch_pause_ = milliseconds(0);
    if (moment < last_patch_ + patch_pause_) {
      return "another program writes other amounts of the devices' resources into the Node; one "
             "of the two has to go";
    }
    // As long as nobody changes them again, the next time is soon.
    patch_pause_ = wanted != last_amounts_ || moment - last_patch_ > 2 * kLongestPause
                       ? milliseconds(0)
                       : std::min(std::max(2 * patch_pause_, kFirstPause), kLongestPause);
    last_patch_ = moment;
    last_amounts_ = wanted;
  }
  informer::HttpRequest request;
  request.method = "PATCH";
  request.path = "/api/v1/nodes/" + informer::url_encode(node_) + "/status";
  request.content_type = "application/merge-patch+json";
  request.body = json{{"status", std::move(status)}}.dump();
  const auto answer = informer::call(client_, std::move(request), stop);
  const std::string what = "writing the devices' resources into the Node";
  if (!answer) return answer.error().within(what).message;
  return answer->ok() ? "" : informer::response_error(what, *answer).message;
}

}  // namespace plimsoll::node
