// NodeResourceTopology objects and their node facts: they are read, passed to the ledger, checked
// for whether pods fit, and written again as an exporter would.

#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "fuzz/target.hpp"
#include "plugins/topology/ledger/ledger.hpp"

namespace plimsoll::fuzz {
namespace {

using topology::NrtObject;
using topology::kubelet::FactsReader;
using topology::kubelet::NodeFacts;

struct Names {
  SymbolTable symbols;

  auto index() {
    return [this](std::string_view name) { return symbols.resource_index(name); };
  }
  auto name_of() {
    return [this](uint32_t index) { return symbols.resource_name(index); };
  }
};

// Facts that are written must be read again unchanged and without an error.
void write_again(const NrtObject& nrt, const NodeFacts& facts, Names& names) {
  NrtObject written = nrt;
  written.attributes = encode_settings(*facts.model);
  written.machine_facts = encode_machine(*facts.model, names.name_of());
  std::vector<topology::kubelet::PodHolding> pods;
  for (size_t i = 0; facts.pods && i < facts.pods->size(); ++i) {
    pods.push_back({std::string(facts.pods->uid(i)), facts.pods->held(*facts.model, i)});
  }
  written.free_facts = encode_free(*facts.model, facts.state, names.name_of(),
                                   written.machine_facts, written.zones, &pods);
  const NodeFacts again = FactsReader(names.index()).read(written);
  require(encode_settings(*again.model) == written.attributes,
          "settings that are written are read");
  require(encode_machine(*again.model, names.name_of()) == written.machine_facts,
          "a machine that is written is read:\n", written.machine_facts);
  if (!facts.pods || written.free_facts.empty()) return;
  require(again.pods.has_value(), "pods that are written are read:\n", written.free_facts);
  for (size_t i = 0; i < again.pods->size(); ++i) {
    const auto own = std::find_if(pods.begin(), pods.end(),
                                  [&](const auto& pod) { return pod.uid == again.pods->uid(i); });
    require(own != pods.end(), "a pod that is read was written:\n", written.free_facts);
  }
}

void ask(const NrtObject& nrt, Names& names) {
  static const std::vector<PodRef> kPods = [] {
    static SymbolTable symbols;  // what is decoded looks into it
    std::vector<PodRef> pods;
    for (const char* each : {R"("cpu": "2", "memory": "10", "x.io/gpu": "1")",
                             R"("cpu": "3", "memory": "64Gi", "hugepages-2Mi": "4Mi")",
                             R"("cpu": "200m", "memory": "1Gi", "nvidia.com/gpu": "2")"}) {
      const std::string amounts = "{" + std::string(each) + "}";
      pods.push_back(decode_pod(R"({"metadata": {"name": "p", "namespace": "ns", "uid": "u)" +
                                    std::to_string(pods.size()) +
                                    R"("}, "spec": {"containers": [{"name": "c", "resources": {
                                    "requests": )" +
                                    amounts + R"(, "limits": )" + amounts + "}}]}}",
                                symbols)
                         .value());
    }
    return pods;
  }();
  topology::Ledger ledger(names.index());
  ledger.node_added(nrt.name, 0);
  ledger.report(nrt, 1'000'000);
  for (const PodRef& pod : kPods) (void)ledger.reserve(*pod, 0, 1'000'000);
  ledger.report(nrt, 2'000'000);
  for (const PodRef& pod : kPods) (void)ledger.unreserve(*pod);
  for (const PodRef& pod : kPods) ledger.pod_assigned(*pod, nrt.name, 2'000'000);
  for (const PodRef& pod : kPods) ledger.pod_removed(*pod, 2'000'000);
  for (const PodRef& pod : kPods) {
    topology::Inquiry inquiry(*pod);
    (void)ledger.ask().judge(0, inquiry);
  }
  require(ledger.stats().promises == 0, "a promise that is taken back is gone");
  ledger.report_deleted(nrt.name);
}

void read(const NrtObject& nrt) {
  Names names;
  (void)topology::kubelet::from_counts(nrt, names.index());
  FactsReader reader(names.index());
  const NodeFacts facts = reader.read(nrt);
  const NodeFacts same = reader.read(nrt);
  require(same.model == facts.model && same.state == facts.state && same.problems == facts.problems,
          "the same object says the same");
  write_again(nrt, facts, names);
  ask(nrt, names);
}

NrtObject scene() {
  NrtObject nrt;
  nrt.name = "n1";
  nrt.manager.policy = topology::Policy::kRestricted;
  nrt.zones = {{0,
                {{0, 10}, {1, 20}},
                {{"cpu", 4000, 3000, 3000}, {"memory", 200, 100, 80}, {"x.io/gpu", 1, 1, 1}}},
               {1,
                {{0, 20}, {1, 10}},
                {{"cpu", 4000, 4000, 4000}, {"memory", 200, 100, 100}, {"x.io/gpu", 2, 2, 2}}}};
  return nrt;
}

}  // namespace

void nrt(std::string_view input) {
  const auto object = topology::parse_nrt(input);
  if (!object) return require(!object.error().empty(), "an error says something");
  require(!object->name.empty(), "an object has a name");
  read(*object);
}

// Settings (one "name=value" per line), the machine text and the free text of a node with two
// zones.
void node_facts(std::string_view input) {
  NrtObject nrt = scene();
  std::string_view settings = take_part(input);
  while (!settings.empty()) {
    const std::size_t end = std::min(settings.find('\n'), settings.size());
    const std::string_view line = settings.substr(0, end);
    settings.remove_prefix(std::min(end + 1, settings.size()));
    const std::size_t equals = std::min(line.find('='), line.size());
    nrt.attributes.push_back({std::string(line.substr(0, equals)),
                              std::string(line.substr(std::min(equals + 1, line.size())))});
  }
  nrt.machine_facts = take_part(input);
  nrt.free_facts = take_part(input);
  read(nrt);
}

}  // namespace plimsoll::fuzz
