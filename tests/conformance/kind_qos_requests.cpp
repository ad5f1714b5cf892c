#include <plimsoll/views.hpp>

#include "framework/api/decode.hpp"
#include "framework/api/requests.hpp"
#include "framework/api/symbols.hpp"
#include "tests/conformance/kinds.hpp"

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
Json node_resource(const plimsoll_list& list) {
  Json result = {{"milliCPU", 0}, {"memory", 0}, {"ephemeralStorage", 0}, {"allowedPodNumber", 0}};
  for (const plimsoll_resource& resource : sdk::Resources(list)) {
    const std::string name(view(resource.name));
    if (name == "cpu") {
      result["milliCPU"] = resource.value;
    } else if (name == "memory") {
      result["memory"] = resource.value;
    } else if (name == "ephemeral-storage") {
      result["ephemeralStorage"] = resource.value;
    } else if (name == "pods") {
      result["allowedPodNumber"] = resource.value;
    } else {
      result["scalar"][name] = resource.value;
    }
  }
  return result;
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
  const auto without = [&](Json object, const std::string& name) {
    if (!broken.empty() && object.is_object()) object.erase(name);
    return object;
  };
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
  findings.expect("nodeInfoRequest", without(test_case.at("nodeInfoRequest"), field),
                  without(node_resource((*pod)->used), field));
  const Json nonzero = {{"milliCPU", (*pod)->nonzero_cpu}, {"memory", (*pod)->nonzero_memory}};
  findings.expect("nodeInfoNonZero", without(test_case.at("nodeInfoNonZero"), field),
                  without(nonzero, field));
}

}  // namespace plimsoll::conformance
