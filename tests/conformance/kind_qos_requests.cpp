#include <plimsoll/views.hpp>

#include "framework/api/decode/decode.hpp"
#include "framework/api/requests.hpp"
#include "framework/api/symbols.hpp"
#include "tests/conformance/kinds.hpp"
#include "tests/conformance/requests_1_36.hpp"

namespace plimsoll::conformance {
namespace {

std::string qos_name(uint8_t qos) {
  switch (qos) {
    case PLIMSOLL_QOS_GUARANTEED:
      return "Guaranteed";
    case PLIMSOLL_QOS_BURSTABLE:
      return "Burstable";
    default:
      return "BestEffort";
  }
}

// Go's PodRequests adds the overhead to a pod-level request in place when that quantity is held as
// a big decimal, so every call while a vector was recorded changed the pod itself. Such a case
// shows it: with and without overhead its sums are the same. Nothing can be compared for that
// resource.
std::string changed_in_place(const Json& test_case) {
  const Json& spec = test_case.at("pod").at("spec");
  const Json& pod_level = member(member(spec, "resources"), "requests");
  for (const auto& [name, text] : member(spec, "overhead").items()) {
    const auto overhead = Quantity::parse(text.get<std::string>());
    const Json& with = member(test_case.at("podRequests"), name);
    const Json& without = member(test_case.at("podRequestsExcludeOverhead"), name);
    if (pod_level.contains(name) && overhead && !overhead->is_zero() && with == without)
      return name;
  }
  return {};
}

std::string field_of(const std::string& resource) {
  if (resource == "cpu") return "milliCPU";
  return resource == "ephemeral-storage" ? "ephemeralStorage" : resource;
}

// The same names, and for each the same value, however it is spelled.
void expect_list(const std::string& what, const Json& expected, const ResourceList& actual,
                 Findings& findings) {
  const size_t count = expected.is_object() ? expected.size() : 0;
  if (count != actual.size()) {
    findings.add(what + ": expected " + std::to_string(count) + " resources, got " +
                 std::to_string(actual.size()));
  }
  for (const Amount& amount : actual) {
    const std::string name(view(amount.name));
    const Json& text = member(expected, name);
    const auto quantity = text.is_string() ? Quantity::parse(text.get<std::string>())
                                           : fail(ErrorCode::kNotFound, "not expected");
    if (!quantity || quantity->cmp(amount.quantity) != 0) {
      findings.add(what + "." + name + ": expected " + text.dump() + ", got " +
                   amount.quantity.text());
    }
  }
}

// A framework.Resource: four fixed fields, and scalar resources by name.
class NodeResource {
 public:
  void add(std::string_view name, int64_t value) {
    if (name == "cpu") {
      json_["milliCPU"] = value;
    } else if (name == "memory") {
      json_["memory"] = value;
    } else if (name == "ephemeral-storage") {
      json_["ephemeralStorage"] = value;
    } else if (name == "pods") {
      json_["allowedPodNumber"] = value;
    } else {
      json_["scalar"][std::string(name)] = value;
    }
  }
  [[nodiscard]] const Json& json() const { return json_; }

 private:
  Json json_ = {{"milliCPU", 0}, {"memory", 0}, {"ephemeralStorage", 0}, {"allowedPodNumber", 0}};
};

Json node_resource(const plimsoll_list& list) {
  NodeResource result;
  for (const plimsoll_resource& each : sdk::Resources(list))
    result.add(view(each.name), each.value);
  return result.json();
}

Json node_resource(const ResourceList& list) {
  NodeResource result;
  for (const Amount& each : list) {
    const std::string_view name = view(each.name);
    if (is_node_resource(name)) result.add(name, base_units(name, each.quantity));
  }
  return result.json();
}

Json nonzero(int64_t cpu, int64_t memory) {
  return {{"milliCPU", cpu}, {"memory", memory}};
}

Json without(Json object, const std::string& name) {
  if (!name.empty() && object.is_object()) object.erase(name);
  return object;
}

// What a node counts for a pod, in a case that Kubernetes 1.36 answered. Only a pod that is resized
// counts otherwise here, and then 1.36's rule must explain the answer;
// vectors_qos_requests_1_37 says what is right for it.
void check_against_1_36(const Json& test_case, const plimsoll_pod& pod,
                        const PodResources& resources, const std::string& left_out,
                        Findings& findings) {
  const Json request = without(test_case.at("nodeInfoRequest"), left_out);
  const Json beside = without(test_case.at("nodeInfoNonZero"), left_out);
  Json mine = without(node_resource(pod.used), left_out);
  Json mine_beside = without(nonzero(pod.nonzero_cpu, pod.nonzero_memory), left_out);
  if (test_case.at("kind") == "resize" && (request != mine || beside != mine_beside)) {
    findings.tally("pods that Kubernetes 1.37 counts otherwise");
    const PodResources older = as_counted_by_1_36(test_case.at("pod"), resources);
    mine = node_resource(pod_requests(older, {}));
    const NonZero scored = nonzero_requests(older);
    mine = without(mine, left_out);
    mine_beside = without(nonzero(scored.cpu, scored.memory), left_out);
  }
  findings.expect("nodeInfoRequest", request, mine);
  findings.expect("nodeInfoNonZero", beside, mine_beside);
}

}  // namespace

void check_qos_requests(const Json& test_case, Findings& findings) {
  SymbolTable symbols;
  const std::string json = test_case.at("pod").dump();
  const auto pod = decode_pod(json, symbols);
  const auto resources = decode_pod_resources(json, symbols);
  if (!pod || !resources) return findings.add("decoding: " + (!pod ? pod.error().message : ""));

  findings.expect("qosClass", test_case.at("qosClass"), qos_name((*pod)->qos));
  findings.expect("computedQosClass", test_case.at("computedQosClass"),
                  qos_name(compute_qos(*resources)));
  const std::string broken = changed_in_place(test_case);
  if (!broken.empty()) {
    findings.note("the pod was changed while the expected sums were recorded; " + broken +
                  " is not compared");
  }
  ResourceOptions options;
  ResourceList requests = pod_requests(*resources, options);
  std::erase_if(requests, [&](const Amount& amount) { return view(amount.name) == broken; });
  expect_list("podRequests", without(member(test_case, "podRequests"), broken), requests, findings);
  expect_list("podLimits", member(test_case, "podLimits"), pod_limits(*resources, options),
              findings);
  options.skip_pod_level = true;
  expect_list("podRequestsNoPodLevel", member(test_case, "podRequestsNoPodLevel"),
              pod_requests(*resources, options), findings);
  options = {};
  options.exclude_overhead = true;
  expect_list("podRequestsExcludeOverhead", member(test_case, "podRequestsExcludeOverhead"),
              pod_requests(*resources, options), findings);

  const std::string field = field_of(broken);
  findings.expect("fitRequest", without(test_case.at("fitRequest"), field),
                  without(node_resource((*pod)->requests), field));
  if (member(test_case, "kubernetes").is_null()) {
    check_against_1_36(test_case, **pod, *resources, field, findings);
    return;
  }
  findings.expect("nodeInfoRequest", test_case.at("nodeInfoRequest"), node_resource((*pod)->used));
  findings.expect("nodeInfoNonZero", test_case.at("nodeInfoNonZero"),
                  nonzero((*pod)->nonzero_cpu, (*pod)->nonzero_memory));
  options = {};
  options.use_status = true;
  expect_list("podRequestsStatus", member(test_case, "podRequestsStatus"),
              pod_requests(*resources, options), findings);
  expect_list("podLimitsStatus", member(test_case, "podLimitsStatus"),
              pod_limits(*resources, options), findings);
}

}  // namespace plimsoll::conformance
