#pragma once
// Pods and reports in a few words, decoded by the project's own code.

#include <string>
#include <utility>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "plugins/topology/report/fingerprint.hpp"
#include "plugins/topology/report/nrt_object.hpp"
#include "plugins/topology/report/numa_node.hpp"

namespace plimsoll::topology {

struct PodSpec {
  std::string name = "p";
  std::string ns = "ns";
  std::string uid;
  int64_t start_seconds = 0;  // of 2026-01-01: status.startTime
  std::string annotation;     // topology.plimsoll.io/zones
  std::string node;
  int priority = 0;
  // Requests of containers, as JSON objects; limits are the same, so the pod is Guaranteed.
  std::vector<std::string> init;
  std::vector<std::string> sidecars;
  std::vector<std::string> apps;
  bool burstable = false;  // no limits, but for these, of each container
  std::string limits;      // a JSON object
  bool terminating = false;
  std::string pod_requests;  // pod-level resources, a JSON object; limits are the same
  std::string failed;        // phase Failed, for this reason
  bool running = false;      // phase Running
  bool mirror = false;       // of a static pod
  std::string nominated;     // status.nominatedNodeName
  int64_t created_seconds = 0;
};

inline PodSpec guaranteed(std::string name, int cpus, const std::string& memory = "1Gi") {
  PodSpec spec;
  spec.name = std::move(name);
  spec.apps = {R"({"cpu":")" + std::to_string(cpus) + R"(","memory":")" + memory + R"("})"};
  return spec;
}

inline constexpr int64_t kYear2026Ms = 1'767'225'600'000;

struct ZoneSpec {
  int id = 0;
  std::vector<std::pair<std::string, std::string>> available;  // resource, quantity
};

struct ReportSpec {
  std::string node = "n1";
  std::string version = "1";
  std::string policy = "single-numa-node";
  std::string scope = "container";
  std::string fingerprint;
  std::string written;              // managedFields time
  std::string node_uid;             // of the Node that owns it
  std::string allocatable = "1Ti";  // of every resource in every zone
  std::vector<ZoneSpec> zones;
};

inline std::string container_json(const std::string& name, const std::string& requests,
                                  const PodSpec& spec, bool sidecar) {
  std::string json = R"({"name":")" + name + R"(","image":"i","resources":{"requests":)" + requests;
  const std::string& limits = spec.burstable ? spec.limits : requests;
  if (!limits.empty()) json += R"(,"limits":)" + limits;
  return json + "}" + (sidecar ? R"(,"restartPolicy":"Always"})" : "}");
}

inline std::string pod_json(const PodSpec& spec) {
  const std::string uid = spec.uid.empty() ? "uid-" + spec.name : spec.uid;
  std::string json = R"({"metadata":{"name":")" + spec.name + R"(","namespace":")" + spec.ns +
                     R"(","uid":")" + uid + "\"";
  if (spec.terminating) json += R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
  if (spec.created_seconds != 0) {
    json += R"(,"creationTimestamp":"2026-01-01T00:00:)" +
            std::to_string(10 + spec.created_seconds) + "Z\"";
  }
  if (spec.mirror) json += R"(,"annotations":{"kubernetes.io/config.mirror":"hash"})";
  if (!spec.annotation.empty()) {
    std::string escaped;
    for (char c : spec.annotation) escaped += c == '"' ? "\\\"" : std::string(1, c);
    json += R"(,"annotations":{"topology.plimsoll.io/zones":")" + escaped + "\"}";
  }
  json += R"(},"spec":{"priority":)" + std::to_string(spec.priority);
  if (!spec.node.empty()) json += R"(,"nodeName":")" + spec.node + "\"";
  if (!spec.pod_requests.empty()) {
    json += R"(,"resources":{"requests":)" + spec.pod_requests + R"(,"limits":)" +
            spec.pod_requests + "}";
  }
  json += R"(,"initContainers":[)";
  std::string separator;
  int number = 0;
  for (const std::string& requests : spec.init) {
    json += separator + container_json("i" + std::to_string(number++), requests, spec, false);
    separator = ",";
  }
  for (const std::string& requests : spec.sidecars) {
    json += separator + container_json("s" + std::to_string(number++), requests, spec, true);
    separator = ",";
  }
  json += R"(],"containers":[)";
  separator.clear();
  number = 0;
  for (const std::string& requests : spec.apps) {
    json += separator + container_json("c" + std::to_string(number++), requests, spec, false);
    separator = ",";
  }
  json += "]}";
  if (!spec.failed.empty()) {
    json += R"(,"status":{"phase":"Failed","reason":")" + spec.failed + "\"}";
  } else if (!spec.nominated.empty()) {
    json += R"(,"status":{"nominatedNodeName":")" + spec.nominated + "\"}";
  } else if (spec.start_seconds != 0) {
    const int64_t s = spec.start_seconds;
    char text[40];
    std::snprintf(text, sizeof text, "2026-01-01T%02d:%02d:%02dZ", static_cast<int>(s / 3600),
                  static_cast<int>(s / 60 % 60), static_cast<int>(s % 60));
    json += R"(,"status":{"startTime":")" + std::string(text) + "\"";
    json += spec.running ? R"(,"phase":"Running"})" : "}";
  }
  return json + "}";
}

inline std::string nrt_json(const ReportSpec& spec) {
  std::string json =
      R"({"metadata":{"name":")" + spec.node + R"(","resourceVersion":")" + spec.version + "\"";
  if (!spec.node_uid.empty()) {
    json += R"(,"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":")" + spec.node +
            R"(","uid":")" + spec.node_uid + "\"}]";
  }
  if (!spec.written.empty()) json += R"(,"managedFields":[{"time":")" + spec.written + "\"}]";
  json += R"(},"attributes":[{"name":"topologyManagerPolicy","value":")" + spec.policy +
          R"("},{"name":"topologyManagerScope","value":")" + spec.scope + "\"}";
  if (!spec.fingerprint.empty()) {
    json += R"(,{"name":"nodeTopologyPodsFingerprint","value":")" + spec.fingerprint + "\"}";
  }
  json += R"(],"zones":[)";
  std::string separator;
  for (const ZoneSpec& zone : spec.zones) {
    json += separator + R"({"name":"node-)" + std::to_string(zone.id) +
            R"(","type":"Node","resources":[)";
    std::string comma;
    for (const auto& [name, quantity] : zone.available) {
      json += comma + R"({"name":")" + name + R"(","capacity":")" + spec.allocatable +
              R"(","allocatable":")" + spec.allocatable + R"(","available":")" + quantity + "\"}";
      comma = ",";
    }
    json += "]}";
    separator = ",";
  }
  return json + "]}";
}

// One process: names as integers, and objects.
class TopologyScene {
 public:
  [[nodiscard]] PodRef pod(const PodSpec& spec) { return read_pod(pod_json(spec)); }
  [[nodiscard]] PodRef read_pod(const std::string& json) {
    return decode_pod(json, symbols_).value();
  }
  [[nodiscard]] NrtObject nrt(const ReportSpec& spec) const {
    return parse_nrt(nrt_json(spec)).value();
  }
  [[nodiscard]] NumaNode node(const ReportSpec& spec) { return NumaNode(nrt(spec), index(), 0); }
  [[nodiscard]] ResourceIndex index() {
    return [this](std::string_view name) { return symbols_.resource_index(name); };
  }
  [[nodiscard]] uint32_t resource(std::string_view name) { return symbols_.resource_index(name); }

 private:
  SymbolTable symbols_;
};

inline std::string fingerprint_of(const std::vector<std::string>& pods_in_ns) {
  std::vector<uint64_t> hashes;
  for (const std::string& name : pods_in_ns) hashes.push_back(pod_hash("ns", name));
  return fingerprint_text(fingerprint_sum(hashes));
}

// A report of zones 0, 1, ... with so many CPUs available each.
inline ReportSpec cpu_report(int version, const std::vector<std::string>& cpus,
                             const std::string& fingerprint, const std::string& policy) {
  ReportSpec spec;
  spec.version = std::to_string(version);
  spec.policy = policy;
  spec.allocatable = "16";
  spec.fingerprint = fingerprint;
  for (size_t i = 0; i < cpus.size(); ++i) {
    spec.zones.push_back({static_cast<int>(i), {{"cpu", cpus[i]}}});
  }
  return spec;
}

}  // namespace plimsoll::topology
