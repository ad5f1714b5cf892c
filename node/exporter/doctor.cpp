#include "node/exporter/doctor.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "framework/base/json_path.hpp"
#include "informer/watch/resource_type.hpp"
#include "node/exporter/report_kind.hpp"

namespace plimsoll::node {
namespace {

using nlohmann::json;

class Doctor {
 public:
  Doctor(const ExporterOptions& options, const FinderOptions& finder, informer::HttpClient& client,
         const std::stop_token& stop)
      : options_(options), finder_(finder), client_(client), stop_(stop) {}

  Diagnosis diagnose() {
    say("Node " + options_.node);
    look_at_machine();
    look_at_kubelet();
    look_at_server();
    look_at_devices();
    say_what_happens();
    return std::move(told_);
  }

 private:
  void say(const std::string& line) { told_.text += line + "\n"; }
  void ok(const std::string& line) { say("  ok     " + line); }
  void note(const std::string& line) { say("  note   " + line); }
  void lacks(const std::string& line) {
    say("  LACKS  " + line);
    told_.lacks = true;
  }

  void look_at_machine() {
    auto read = options_.hardware();
    if (!read) return lacks("the machine: " + read.error().message);
    hardware_ = std::move(*read);
    ok("the machine: " + std::to_string(hardware_->cpus.size()) + " CPUs in " +
       std::to_string(hardware_->zones.size()) + " zones");
  }

  void look_at_kubelet() {
    const auto settings = options_.settings(stop_);
    if (settings) {
      policy_ = settings->topology_manager_policy;
      ok("the kubelet's settings: topology manager " + policy_ + ", CPU manager " +
         settings->cpu_manager_policy + ", memory manager " + settings->memory_manager_policy);
    } else {
      lacks("the kubelet's settings: " + settings.error().message);
    }
    auto view = read_kubelet(options_.kubelet);
    if (!view) return lacks("the kubelet: " + view.error().message);
    ok("the kubelet: " + std::to_string(view->pods.size()) + " pods");
    for (const auto& [resource, devices] : view->allocatable.devices) {
      plugins_[resource] = devices.size();
    }
  }

  // An object of this node; null: there is none, and what was said of it.
  json get(const std::string& path, const std::string& what, const std::string& remedy) {
    informer::HttpRequest request;
    request.path = path + "/" + informer::url_encode(options_.node);
    const auto answer = informer::call(client_, std::move(request), stop_);
    if (!answer) {
      lacks(what + ": " + answer.error().message);
      return nullptr;
    }
    json object = json::parse(answer->body, nullptr, false);
    if (answer->ok()) return object;
    // The answer is no Status if the kind is not served.
    if (text_in(object, {"reason"}) == "NotFound") {
      note(what + ": there is none");
    } else {
      lacks(what + ": " + informer::response_error(remedy, *answer).message);
    }
    return nullptr;
  }

  void may(const char* group, const char* resource, const char* subresource, const char* verb,
           const char* file) {
    informer::HttpRequest request;
    request.method = "POST";
    request.path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    request.body = json{{"apiVersion", "authorization.k8s.io/v1"},
                        {"kind", "SelfSubjectAccessReview"},
                        {"spec",
                         {{"resourceAttributes",
                           {{"group", group},
                            {"resource", resource},
                            {"subresource", subresource},
                            {"verb", verb}}}}}}
                       .dump();
    const auto answer = informer::call(client_, std::move(request), stop_);
    if (!answer || !answer->ok()) return;  // it does not say; the report will
    if (value_at(json::parse(answer->body, nullptr, false), {"status", "allowed"}) == true) return;
    const std::string all =
        *subresource == '\0' ? resource : std::string(resource) + "/" + subresource;
    lacks(std::string("the right to ") + verb + " " + all + ": apply " + file);
  }

  void look_at_server() {
    const json node = get("/api/v1/nodes", "the Node object", "apply deploy/node.yaml");
    if (node.is_null()) return;
    ok("the Node object, of a kubelet " + text_in(node, {"status", "nodeInfo", "kubeletVersion"}));
    may("", "pods", "", "list", "deploy/node.yaml");
    may(kReportGroup, kReportPlural, "", "update", "deploy/node.yaml");
    const informer::ResourceType report{kReportGroup, kReportVersion, kReportPlural};
    if (!get(report.path(), "its NodeResourceTopology",
             "apply deploy/crds/noderesourcetopologies.yaml")
             .is_null()) {
      ok("its NodeResourceTopology");
    }
    if (!options_.devices) return note("devices are not reported: --devices=off");
    may(kDeviceGroup, kDevicePlural, "", "update", "deploy/node-devices.yaml");
    may("", "nodes", "status", "patch", "deploy/node-devices.yaml");
    const informer::ResourceType device{kDeviceGroup, kDeviceVersion, kDevicePlural};
    published_ = get(device.path(), "its Device object", "apply deploy/crds/devices.yaml");
    if (!published_.is_null()) ok("its Device object");
  }

  void look_at_devices() {
    const FoundDevices found = DeviceFinder(finder_, [] {}).find(hardware_ ? &*hardware_ : nullptr);
    const DeviceReport report = report_devices(found, published_, {}, "");
    say("Devices");
    if (report.devices.empty()) note("none that is known: see --device-types");
    for (const std::string& problem : report.problems) note(problem);
    for (const json& each : report.devices) {
      const std::string type = text_in(each, {"type"});
      const bool healthy = value_at(each, {"health"}) == true;
      auto& [good, all] = counts_[type];
      ++all;
      good += healthy ? 1 : 0;
      std::string line = "  " + type + " " + value_at(each, {"minor"}).dump() + "  " +
                         text_in(each, {"id"}) + "  " + text_in(each, {"topology", "busID"}) +
                         "  zone " + value_at(each, {"topology", "nodeID"}).dump() + "  " +
                         text_in(each, {"topology", "pcieID"}) + "  ";
      for (const json& condition : value_at(each, {"conditions"})) {
        line += text_in(condition, {"reason"}) + ": " + text_in(condition, {"message"});
      }
      say(line + (healthy ? "healthy" : ""));
    }
  }

  void say_what_happens() {
    say("A pod on this node");
    if (!policy_.empty() && policy_ != "none") {
      note("is admitted by its kubelet under the policy " + policy_ + " of the topology manager");
    }
    for (const auto& [type, count] : counts_) {
      note("that is given " + type + " by number has " + std::to_string(count.first) + " of " +
           std::to_string(count.second) + " to choose from" +
           (published_.is_null() ? "; not now: no Device object says so" : ""));
    }
    for (const auto& [resource, count] : plugins_) {
      note("that asks for " + resource + " is given some of " + std::to_string(count) +
           " by the kubelet, which chooses them itself");
    }
    if (!counts_.empty()) {
      const bool hook = options_.devices && options_.devices->hook;
      note(
          "finds devices that were given by number in its containers only if a runtime hook that "
          "reads " +
          std::string(kAllocatedAnnotation) + " puts them there" +
          (hook ? ", as this program does" : "; this program does with --hook"));
      if (hook) {
        const std::size_t named = CdiFiles(options_.devices->hook->files.root).read()->size();
        note("is given by name, with all that belongs to it, what CDI files name: " +
             std::to_string(named) + " now");
      }
    }
  }

  const ExporterOptions& options_;
  const FinderOptions& finder_;
  informer::HttpClient& client_;
  const std::stop_token& stop_;
  Diagnosis told_;
  std::optional<Hardware> hardware_;
  std::string policy_;
  std::map<std::string, std::size_t> plugins_;         // healthy devices, by resource
  std::map<std::string, std::pair<int, int>> counts_;  // healthy and all, by type
  json published_;
};

}  // namespace

Diagnosis diagnose(const ExporterOptions& options, const FinderOptions& finder,
                   informer::HttpClient& client, const std::stop_token& stop) {
  return Doctor(options, finder, client, stop).diagnose();
}

}  // namespace plimsoll::node
