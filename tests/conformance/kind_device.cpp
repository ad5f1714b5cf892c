// NodeDevice: requests and allocations on one node, as Koordinator's deviceshare decides them.
//
// Where this project differs from the reference on purpose, the finding says so; docs/devices.md
// lists the differences.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "framework/api/decode.hpp"
#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"
#include "plugins/nodedevice/allocator.hpp"
#include "plugins/nodedevice/quantity_text.hpp"
#include "tests/conformance/kinds.hpp"

namespace plimsoll::conformance {
namespace {

namespace dev = plimsoll::devices;

const dev::DeviceTypes& types() {
  return dev::DeviceTypes::standard();
}

// Amounts by name, in whole units: the spelling of a quantity does not matter.
Json amounts(const Json& resources) {
  Json values = Json::object();
  for (const auto& [name, value] : resources.items())
    values[name] = dev::parse_quantity(value.get<std::string>()).value_or(-1);
  return values;
}

Json amounts(int type, const dev::Amounts& of) {
  Json values = Json::object();
  const auto& dims = types().type(type).dims;
  for (size_t dim = 0; dim < dims.size(); ++dim)
    if (of.has(static_cast<int>(dim))) values[dims[dim]] = of.value[dim];
  return values;
}

Json of_type(const dev::TypeRequest& request) {
  Json total = amounts(request.type, request.total);
  if (request.shares != 0) total["koordinator.sh/gpu.shared"] = request.shares;
  return total;
}

void compare_requests(const Json& expected, const dev::DeviceRequest& request, Findings& findings) {
  Json by_type = Json::object();
  for (const auto& [type, resources] : member(expected, "deviceRequests").items())
    by_type[type] = amounts(resources);
  Json found = Json::object();
  for (const dev::TypeRequest& each : request.types)
    found[types().type(each.type).name] = of_type(each);
  findings.expect("deviceRequests", by_type, found);
  Json gpu = member(expected, "gpu");
  if (gpu.is_object()) gpu["requestsPerGPU"] = amounts(gpu.at("requestsPerGPU"));
  Json found_gpu;
  if (const dev::TypeRequest* asked = request.find(types().find_type("gpu")))
    found_gpu = {{"numberOfGPUs", asked->count},
                 {"requestsPerGPU", amounts(asked->type, asked->per_device)},
                 {"gpuShared", asked->is_shared}};
  findings.expect("gpu", gpu, found_gpu);
}

dev::Result<dev::DeviceRequest> parse_requests(const Json& requests) {
  const Json values = amounts(requests.is_object() ? requests : Json::object());
  std::vector<dev::ResourceQuantity> list;
  for (const auto& [name, value] : values.items()) list.push_back({name, value.get<int64_t>()});
  return dev::parse_device_request(types(), list);
}

void check_requests(const Json& test_case, Findings& findings) {
  const auto request = parse_requests(test_case.at("requests"));
  if (test_case.at("kind") == "upstream_validate") {
    findings.expect("err", test_case.at("err"), !request.has_value());
    return;
  }
  if (test_case.at("kind") == "upstream_convert") {
    Json found;
    if (request && !request->empty()) found = of_type(request->types[0]);
    const Json& expected = test_case.at("deviceRequest");
    findings.expect("deviceRequest", expected.is_object() ? amounts(expected) : expected, found);
    return;
  }
  const Json& errors = member(test_case, "errors");
  if (errors.empty()) {
    if (!request) return findings.add("refused: " + request.error());
    return compare_requests(test_case, *request, findings);
  }
  if (request) return findings.add("accepted, expected one of " + errors.dump());
  const bool one_of_them = std::any_of(errors.begin(), errors.end(), [&](const Json& text) {
    return request.error().rfind(text.get<std::string>(), 0) == 0;
  });
  if (!one_of_them) findings.add("refused with \"" + request.error() + "\": " + errors.dump());
}

// ---- pods one after the other on one node

Json status(const char* code, const std::string& reason = "") {
  Json result = {{"code", code}};
  if (!reason.empty()) result["reasons"] = {reason};
  return result;
}

// Texts of JSON parsers differ: only what is in front of them counts.
Json without_parser_text(Json status) {
  if (!status.contains("reasons")) return status;
  for (Json& reason : status["reasons"]) {
    const auto text = reason.get<std::string>();
    reason = text.substr(0, text.find("err: "));
  }
  return status;
}

Json allocation_json(const dev::Allocation& allocation) {
  Json by_type = Json::object();
  for (const dev::DeviceShare& share : allocation) {
    Json entry = {{"minor", share.minor}, {"resources", amounts(share.type, share.amounts)}};
    for (const dev::VirtualFunction& vf : share.vfs) {
      Json function = {{"busID", vf.bus_id}};
      if (vf.minor != 0) function["minor"] = vf.minor;
      entry["extension"]["vfs"].push_back(function);
    }
    by_type[types().type(share.type).name].push_back(entry);
  }
  return by_type;
}

Json expected_allocation(const Json& result) {
  Json by_type = Json::object();
  for (const auto& [type, entries] : member(result, "allocation").items()) {
    for (Json entry : entries) {
      entry["resources"] = amounts(entry.at("resources"));
      by_type[type].push_back(entry);
    }
  }
  return by_type;
}

class Node {
 public:
  explicit Node(const Json& test_case) {
    auto device = dev::parse_device_object(types(), test_case.at("device").dump());
    if (!device) throw std::runtime_error(device.error());
    state_.set_object(std::make_shared<const dev::NodeDevices>(*std::move(device)));
    auto node = decode_node(test_case.at("node").dump(), symbols_);
    if (!node) throw std::runtime_error(node.error().message);
    node_ = *node;
    const Json& strategy = test_case.at("args").at("scoringStrategy");
    std::vector<std::pair<std::string, int64_t>> weights;
    for (const Json& resource : strategy.at("resources"))
      weights.emplace_back(resource.at("name"), resource.at("weight"));
    const bool most = strategy.at("type") == "MostAllocated";
    scorer_.emplace(types(), most ? dev::Strategy::kMostAllocated : dev::Strategy::kLeastAllocated,
                    weights);
  }

  void release(const std::string& pod) {
    if (auto held = held_.extract(pod)) state_.remove(held.mapped());
  }

  // False: a difference was found, and what follows rests on it.
  bool place(const Json& pod_json, const Json& expected, Findings& findings) {
    auto pod = decode_pod(pod_json.dump(), symbols_);
    if (!pod) {
      findings.add("decoding: " + pod.error().message);
      return false;
    }
    const std::string name(view((*pod)->meta.name));
    dev::PodDemand demand;
    const Json pre_filter = parse(sdk::Pod(pod->get()), demand);
    findings.expect(name + ".preFilter", without_parser_text(member(expected, "preFilter")),
                    without_parser_text(pre_filter));
    if (!findings.empty() || pre_filter.at("code") != "Success") return findings.empty();
    compare_requests(expected, demand.request, findings);
    const dev::Allocator allocator(types(), &*scorer_);
    const dev::NodeLabels labels = node_labels();
    dev::Allocation allocation;
    const dev::Verdict verdict = allocator.allocate(state_, labels, demand, allocation);
    if (!(verdict == allocator.check(state_, labels, demand)))
      findings.add(name + ": Filter and Reserve disagree");
    findings.expect(name + ".filter", member(expected, "filter"), filter_status(verdict));
    if (!findings.empty() || !verdict.fits()) return findings.empty();
    findings.expect(name + ".score", member(expected, "score"),
                    scorer_->score_node(state_, demand.request, demand.hints));
    findings.expect(name + ".allocation", expected_allocation(expected),
                    allocation_json(allocation));
    state_.add(allocation);
    held_[name] = std::move(allocation);
    return findings.empty();
  }

 private:
  static Json filter_status(const dev::Verdict& verdict) {
    if (verdict.fits()) return status("Success");
    return status(verdict.unresolvable ? "UnschedulableAndUnresolvable" : "Unschedulable",
                  dev::reason_text(types(), verdict.reason, verdict.type));
  }

  static Json parse(sdk::Pod pod, dev::PodDemand& demand) {
    std::vector<dev::ResourceQuantity> requests;
    for (const plimsoll_resource& resource : pod.requests())
      requests.push_back({view(resource.name), resource.value});
    auto request = dev::parse_device_request(types(), requests);
    if (!request) return status("UnschedulableAndUnresolvable", request.error());
    if (request->empty()) return status("Skip");
    const bool asks_for_gpus = request->find(types().find_type("gpu")) != nullptr;
    const auto text = [&](std::string_view key) { return pod.annotation(key).value_or(""); };
    auto hints = dev::parse_device_hints(
        types(), text(dev::kHintAnnotation), text(dev::kJointAnnotation),
        asks_for_gpus ? text(dev::kPartitionAnnotation) : std::string_view());
    if (!hints) return status("UnschedulableAndUnresolvable", hints.error());
    demand = {*std::move(request), *std::move(hints)};
    return status("Success");
  }

  [[nodiscard]] dev::NodeLabels node_labels() const {
    const sdk::Labels labels(node_->meta.labels);
    const auto label = [&](std::string_view key) { return labels.get(key).value_or(""); };
    return {label("node.koordinator.sh/gpu-vendor"), label("node.koordinator.sh/gpu-model"),
            label("node.koordinator.sh/gpu-partition-policy")};
  }

  SymbolTable symbols_;
  NodeRef node_;
  dev::NodeState state_;
  std::optional<dev::Scorer> scorer_;
  std::map<std::string, dev::Allocation> held_;
};

void run_pods(const Json& test_case, const Json& results, Findings& findings) {
  Node node(test_case);
  const Json& pods = test_case.at("pods");
  for (size_t i = 0; i < pods.size(); ++i) {
    const std::string name = pods[i].at("metadata").at("name");
    const Json& released = member(member(test_case, "releaseBefore"), name);
    if (released.is_string()) node.release(released.get<std::string>());
    if (!node.place(pods[i], results.at(i), findings)) return;
  }
}

// The differences of docs/devices.md that the inputs of a case can bring out; for people.
std::string differences(const Json& test_case) {
  std::string text;
  int sharing = 0;
  bool bytes = false;
  bool exclusive = false;
  for (const Json& pod : test_case.at("pods")) {
    const std::string all = pod.dump();
    exclusive = exclusive || all.find("PCIeLevel") != std::string::npos;
    bytes = bytes || all.find("koordinator.sh/gpu-memory\"") != std::string::npos;
    sharing += all.find("\"koordinator.sh/gpu") != std::string::npos ? 1 : 0;
  }
  if (sharing > 1) text += " shared devices are ordered by their real score;";
  if (exclusive) text += " PCIeLevel is honoured;";
  if (test_case.at("device").dump().find("gpu-partitions") != std::string::npos)
    text += " partitions with a higher score come first;";
  if (bytes) text += " ratios that follow from bytes are rounded up;";
  return text;
}

void check_pods(const Json& test_case, Findings& findings) {
  const Json& observed = member(test_case, "observedResults");
  if (observed.is_array()) {  // any of what was seen is right
    Findings last;
    for (const Json& results : observed) {
      last = Findings();
      run_pods(test_case, results, last);
      if (last.empty()) return;
    }
    findings = std::move(last);
  } else {
    run_pods(test_case, test_case.at("results"), findings);
  }
  if (findings.empty()) return;
  const std::string known = differences(test_case);
  if (!known.empty()) findings.add("wanted differences that may show here:" + known);
}

}  // namespace

void check_device(const Json& test_case, Findings& findings) {
  const std::string kind = test_case.at("kind");
  if (kind == "validate" || kind == "upstream_validate" || kind == "upstream_convert")
    check_requests(test_case, findings);
  else if (kind == "simple" || kind == "hints" || kind == "reference_not_deterministic")
    check_pods(test_case, findings);
  else
    findings.add("there is no check for the kind " + kind);
}

}  // namespace plimsoll::conformance
