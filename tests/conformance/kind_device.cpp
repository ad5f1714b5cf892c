// NodeDevice: requests and allocations on one node, as Koordinator's deviceshare decides them.
//
// Each pod of a case is one decision: it is compared on the node as the reference left it, so a
// difference does not hide what comes after. Decisions in which the reference is plainly wrong come
// under a rule (device_rules.hpp) and are counted in the table at the end.

#include <algorithm>
#include <string>
#include <vector>

#include "plugins/nodedevice/requests/device_request.hpp"
#include "tests/conformance/device_limits.hpp"
#include "tests/conformance/device_right.hpp"
#include "tests/conformance/device_rules.hpp"
#include "tests/conformance/device_scene.hpp"
#include "tests/conformance/kinds.hpp"

namespace plimsoll::conformance {
namespace {

namespace dev = plimsoll::devices;

Json of_type(const dev::TypeRequest& request) {
  Json total = amounts_json(request.type, request.total);
  if (request.shares != 0) total["koordinator.sh/gpu.shared"] = request.shares;
  return total;
}

void compare_requests(const Json& expected, const dev::DeviceRequest& request, Findings& findings) {
  Json by_type = Json::object();
  for (const auto& [type, resources] : member(expected, "deviceRequests").items())
    by_type[type] = amounts_json(resources);
  Json found = Json::object();
  for (const dev::TypeRequest& each : request.types)
    found[device_types().type(each.type).name] = of_type(each);
  findings.expect("deviceRequests", by_type, found);
  Json gpu = member(expected, "gpu");
  if (gpu.is_object()) gpu["requestsPerGPU"] = amounts_json(gpu.at("requestsPerGPU"));
  Json found_gpu;
  if (const dev::TypeRequest* asked = request.find(device_types().find_type("gpu")))
    found_gpu = {{"numberOfGPUs", asked->count},
                 {"requestsPerGPU", amounts_json(asked->type, asked->per_device)},
                 {"gpuShared", asked->is_shared}};
  findings.expect("gpu", gpu, found_gpu);
}

dev::Result<dev::DeviceRequest> parse_requests(const Json& requests) {
  const Json values = amounts_json(requests.is_object() ? requests : Json::object());
  std::vector<dev::ResourceQuantity> list;
  for (const auto& [name, value] : values.items()) list.push_back({name, value.get<int64_t>()});
  return dev::parse_device_request(device_types(), list);
}

// Koordinator's bits are the names of the GPU type in our order, then fpga and rdma.
int64_t combination_of(const Json& requests) {
  int64_t bits = 0;
  if (!requests.is_object()) return bits;
  const auto gpu_names = device_types().type(device_types().find_type("gpu")).names.size();
  for (const auto& [name, value] : requests.items()) {
    const auto asked = device_types().find_request(name);
    if (!asked) continue;
    const std::string& type = device_types().type(asked->first).name;
    bits |= int64_t{1} << (type == "gpu"    ? static_cast<size_t>(asked->second)
                           : type == "fpga" ? gpu_names
                                            : gpu_names + 1);
  }
  return bits;
}

// Some calls of Koordinator's own tables no pod brings about: of its functions they say that
// nothing is not valid, and that a request is nothing when it is said to be a combination that it
// is not. Here as there, a pod without requests is not looked at, and its requests say which they
// are.
bool no_pod_asks_so(const Json& test_case) {
  if (test_case.at("kind") == "upstream_validate")
    return combination_of(test_case.at("requests")) == 0;
  return test_case.contains("combination") &&
         test_case.at("combination") != combination_of(test_case.at("requests"));
}

void check_requests(const Json& test_case, Findings& findings) {
  const auto request = parse_requests(test_case.at("requests"));
  if (test_case.at("kind") != "validate" && no_pod_asks_so(test_case)) {
    if (request && request->empty() != (combination_of(test_case.at("requests")) == 0))
      findings.add("a pod asks for devices only if its requests name some");
    return;
  }
  if (test_case.at("kind") == "upstream_validate") {
    findings.expect("err", test_case.at("err"), !request.has_value());
    return;
  }
  if (test_case.at("kind") == "upstream_convert") {
    Json found;
    if (request && !request->empty()) found = of_type(request->types[0]);
    const Json& expected = test_case.at("deviceRequest");
    findings.expect("deviceRequest", expected.is_object() ? amounts_json(expected) : expected,
                    found);
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

// Texts of JSON parsers differ: only what is in front of them counts. So does what the reference
// says of a request that is not legal; here follows what would be.
Json without_our_words(Json status) {
  if (!status.contains("reasons")) return status;
  for (Json& reason : status["reasons"]) {
    auto text = reason.get<std::string>();
    text = text.substr(0, text.find("err: "));
    if (text.starts_with("invalid resource device requests: ["))
      text = text.substr(0, text.find("]") + 1);
    else if (text.starts_with("invalid resource unit "))
      text = text.substr(0, text.find(": ", text.find(": ") + 1));
    reason = text;
  }
  return status;
}

// What our code makes of the pod on the node as it is.
DeviceStep our_step(const DeviceScene& scene, const dev::PodDemand& demand, Findings& findings) {
  DeviceStep step{scene, demand, {}, {}, {}, Json::object()};
  const dev::Allocator allocator(device_types(), scene.scorer());
  step.verdict = allocator.allocate(scene.state, scene.labels(), demand, step.given);
  if (!(step.verdict == allocator.check(scene.state, scene.labels(), demand)))
    findings.add("Filter and Reserve disagree");
  return step;
}

// One pod against one answer of the reference; the node is not changed.
void compare_pod(const DeviceScene& scene, const PodAsk& ask, const Json& expected,
                 Findings& findings) {
  const std::string name = expected.at("pod");
  findings.expect(name + ".preFilter", without_our_words(member(expected, "preFilter")),
                  without_our_words(ask.status));
  if (!findings.empty()) return;
  if (ask.status.at("code") != "Success") return findings.decide({});
  compare_requests(expected, ask.demand.request, findings);
  DeviceStep step = our_step(scene, ask.demand, findings);
  step.filter = expected.at("filter");
  if (expected.contains("allocation")) step.allocation = allocation_json(expected["allocation"]);
  const std::set<std::string> rules = judge_step(name, step, findings);
  if (step.verdict.fits() && step.filter.at("code") == "Success")
    findings.expect(name + ".score", member(expected, "score"),
                    scene.scorer()->score_node(scene.state, ask.demand.request, ask.demand.hints));
  findings.decide(rules);
}

// `runs`: what the reference answered, in one run or in several whose order of types was random.
// One that has agreed so far must agree on each pod.
void run_pods(const Json& test_case, std::vector<const Json*> runs, Findings& findings) {
  DeviceScene scene(test_case);
  const Json& pods = test_case.at("pods");
  for (size_t i = 0; i < pods.size(); ++i) {
    const std::string name = pods[i].at("metadata").at("name");
    const Json& released = member(member(test_case, "releaseBefore"), name);
    if (released.is_string()) scene.release(released.get<std::string>());
    const PodAsk ask = scene.ask(pods[i]);
    const Json* agreed = nullptr;
    Findings best;
    for (const Json* run : runs) {
      Findings found;
      compare_pod(scene, ask, run->at(i), found);
      const bool better = found.differences().different < best.differences().different;
      if (agreed != nullptr && (!found.empty() || (best.empty() && !better))) continue;
      agreed = &run->at(i);
      best = std::move(found);
    }
    for (const std::string& text : best.texts()) findings.add(text);
    if (!best.empty()) return;
    findings.add_differences(best.differences());
    for (const auto& [what, count] : best.tallies()) findings.tally(what, count);
    std::erase_if(runs, [&](const Json* run) { return run->at(i) != *agreed; });
    if (agreed->contains("allocation")) scene.give(name, read_expected(agreed->at("allocation")));
  }
}

void check_pods(const Json& test_case, Findings& findings) {
  std::vector<const Json*> runs;
  const Json& observed = member(test_case, "observedResults");
  if (observed.is_array())
    for (const Json& run : observed) runs.push_back(&run);
  else
    runs.push_back(&test_case.at("results"));
  run_pods(test_case, std::move(runs), findings);
}

// ---- calls of the allocator from Koordinator's own tests

// The reference answers before it fills in what follows of bytes and percent.
void fill_in(const DeviceStep& step, Json& allocation) {
  const auto fill = [&](int type, Json& entry) {
    const dev::DeviceState* device = step.scene.state.type(type).find(entry.at("minor").get<int>());
    const dev::TypeRequest* request = step.demand.request.find(type);
    if (device == nullptr || request == nullptr) return;
    const Json due = amounts_json(type, amounts_due(type, request->per_device, *device));
    for (const auto& [name, amount] : due.items())
      if (!entry["resources"].contains(name)) entry["resources"][name] = amount;
  };
  for (const auto& [name, entries] : allocation.items())
    for (Json& entry : entries) fill(device_types().find_type(name), entry);
}

void check_allocate(const Json& test_case, Findings& findings) {
  DeviceScene scene(test_case);
  for (const Json& used : member(test_case, "used")) {
    if (used.at("add").get<bool>())
      scene.give(used.at("pod"), read_expected(used.at("allocation")));
    else
      scene.release(used.at("pod"));
  }
  apply_limits(test_case, scene);
  Json pod = test_case.at("pod");  // without a name, which it needs here
  pod["metadata"]["name"] = "p";
  const PodAsk ask = scene.ask(pod);
  findings.expect("preFilter", device_status("Success"), ask.status);
  if (!findings.empty()) return;
  DeviceStep step = our_step(scene, ask.demand, findings);
  if (const std::string problem = problem_of_ours(step); !problem.empty())
    findings.add("not right by itself: " + problem);
  step.filter = test_case.at("status");
  step.allocation = allocation_json(member(test_case, "allocation"));
  fill_in(step, step.allocation);
  // The reference leaves other types to Reserve if the node is labelled as well planned for them;
  // ours are judged above.
  if (scene.state.object->secondary_well_planned)
    std::erase_if(step.given, [&](const dev::DeviceShare& share) {
      return !step.allocation.contains(device_types().type(share.type).name);
    });
  findings.decide(has_limits(test_case) ? judge_limited(step, findings)
                                        : judge_step("p", step, findings));
}

}  // namespace

void check_device(const Json& test_case, Findings& findings) {
  for (const std::string& rule : device_rules()) findings.know_rule(rule);
  const std::string kind = test_case.at("kind");
  if (kind == "validate" || kind == "upstream_validate" || kind == "upstream_convert") {
    check_requests(test_case, findings);
    findings.decide({});
  } else if (kind == "simple" || kind == "hints" || kind == "reference_not_deterministic") {
    check_pods(test_case, findings);
  } else if (kind == "upstream_allocate") {
    check_allocate(test_case, findings);
  } else {
    findings.add("there is no check for the kind " + kind);
  }
}

}  // namespace plimsoll::conformance
