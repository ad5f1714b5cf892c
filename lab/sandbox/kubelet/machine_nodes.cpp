#include "lab/sandbox/kubelet/machine_nodes.hpp"

#include <nlohmann/json.hpp>

#include "lab/sandbox/kubelet/node_admission.hpp"
#include "lab/sandbox/kubelet/node_kind.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

// Whether the machine's description decides the amount, which is zero if it is not described: huge
// pages and resources that device plugins register. Koordinator's manager derives its resources in
// Node.status (koordinator.sh/gpu-core) from the Device object instead.
bool is_hardware(const std::string& resource) {
  return node::is_memory(resource) ||
         (node::is_device(resource) && !resource.starts_with("koordinator.sh/"));
}

// Sets the amounts of a resource list that differ and removes hardware that does not exist.
// Resources that a machine does not describe (ephemeral-storage) stay.
bool set_amounts(json& list, const node::Amounts& amounts) {
  bool changed = false;
  for (auto item = list.begin(); item != list.end();) {
    const bool gone = is_hardware(item.key()) && !amounts.contains(item.key());
    item = gone ? list.erase(item) : std::next(item);
    changed = changed || gone;
  }
  for (const auto& [name, amount] : amounts) {
    const auto old = node::parse_amount(name, list.value(name, json()));
    if (old && *old == amount) continue;
    list[name] = node::format_amount(name, amount);
    changed = true;
  }
  return changed;
}

// A kubelet says a little more or less memory than hwloc: that hides nothing.
void note_hidden(const json& node, const node::Machine& machine, const std::string& name,
                 std::vector<HiddenAmount>& hidden) {
  const auto status = node.find("status");
  if (status == node.end() || !status->is_object()) return;
  const auto said =
      node::parse_amounts(status->value("capacity", status->value("allocatable", json())));
  if (!said) return;
  const node::Amounts described = machine.capacity();
  for (const auto& [resource, amount] : *said) {
    const std::int64_t there = node::amount_of(described, resource);
    const bool counts = is_hardware(resource) || described.contains(resource);
    const std::int64_t least = resource == "memory" ? amount - amount / 10 : amount;
    if (counts && there < least) hidden.push_back({name, resource, amount, there});
  }
}

}  // namespace

bool write_node_status(ObjectStore& store, const std::string& name, const node::Machine& machine) {
  bool changed = false;
  (void)store.modify(kNodes, {"", name}, {}, [&](json& node) -> ApiResult<void> {
    json& status = node["status"];
    for (const char* list : {"capacity", "allocatable"}) {
      if (!status[list].is_object()) status[list] = json::object();
    }
    changed = set_amounts(status["capacity"], machine.capacity());
    changed = set_amounts(status["allocatable"], machine.allocatable()) || changed;
    return {};
  });
  return changed;
}

std::uint64_t publish_report(ObjectStore& store, const std::string& node,
                             const node::NodeReport& report, bool may_create) {
  const auto written =
      store.modify(kNodeResourceTopologies, {"", node}, {}, [&](json& nrt) -> ApiResult<void> {
        node::write_report(nrt, report);
        nrt["metadata"].erase("managedFields");  // of a report from a file: when it was written
        return {};
      });
  if (written) return (*written)->resource_version;
  if (!may_create) return 0;
  json nrt = {{"metadata", {{"name", node}}}};
  node::write_report(nrt, report);
  const auto created = store.create(kNodeResourceTopologies, std::move(nrt));
  return created ? (*created)->resource_version : 0;
}

Result<std::vector<HiddenAmount>> install_machine_nodes(ObjectStore& store,
                                                        MachineLibrary& machines,
                                                        node::ReportKind kind) {
  std::vector<HiddenAmount> hidden;
  const auto nodes = store.list(kNodes);
  if (!nodes) return hidden;
  std::vector<std::pair<json, std::shared_ptr<const node::Machine>>> with_machine;
  std::string problems;
  for (const ObjectPtr& object : nodes->objects) {
    json node = object->parse();
    auto machine = machines.machine_of(node);
    if (!machine)
      problems += (problems.empty() ? "" : "\n") + machine.error().message;
    else if (*machine != nullptr)
      with_machine.emplace_back(std::move(node), std::move(*machine));
  }
  if (!problems.empty()) return fail(ErrorCode::kInvalid, std::move(problems));
  const NodeAdmissionFactory make = make_admission_factory();
  for (const auto& [node, machine] : with_machine) {
    const auto description = describe_node(node, json(), machine);
    if (!description) return fail(description.error());
    note_hidden(node, *machine, description->name, hidden);
    write_node_status(store, description->name, *machine);
    publish_report(store, description->name, make(*description)->report(kind), true);
  }
  return hidden;
}

}  // namespace plimsoll::sandbox
