#include "tests/conformance/admit_report.hpp"

#include <stdexcept>

namespace plimsoll::conformance {

namespace kubelet = plimsoll::topology::kubelet;

namespace {

std::string zone_name(const Json& node) {
  return "node-" + std::to_string(node.at("id").get<int>());
}

Json zone_of(const Json& line, const Json& step, size_t column) {
  const Json& nodes = line.at("machine").at("nodes");
  Json zone = {{"name", zone_name(nodes[column])}, {"type", "Node"}};
  for (size_t other = 0; other < nodes.size(); ++other) {
    zone["costs"].push_back(
        {{"name", zone_name(nodes[other])}, {"value", nodes[column].at("dist")[other]}});
  }
  // A resource is listed in the zones that have an amount.
  for (const auto& [name, available] : step.at("nrt").items()) {
    if (available[column].is_null()) continue;
    const auto total = [&, resource = name](const char* key) {
      const Json& amounts = member(line.at(key), resource);
      return amounts.is_null() || amounts[column].is_null() ? Json(0) : amounts[column];
    };
    zone["resources"].push_back({{"name", name},
                                 {"capacity", total("nrt_cap")},
                                 {"allocatable", total("nrt_alloc")},
                                 {"available", available[column]}});
  }
  return zone;
}

}  // namespace

Json counts_report(const Json& line, const Json& step) {
  const Json& settings = line.at("kubelet");
  Json report = {{"apiVersion", "topology.node.k8s.io/v1alpha2"},
                 {"kind", "NodeResourceTopology"},
                 {"metadata", {{"name", "n"}}}};
  report["attributes"] = {
      {{"name", "topologyManagerPolicy"}, {"value", settings.at("tm_policy")}},
      {{"name", "topologyManagerScope"}, {"value", settings.value("tm_scope", "container")}}};
  report["zones"] = Json::array();
  for (size_t column = 0; column < line.at("machine").at("nodes").size(); ++column) {
    report["zones"].push_back(zone_of(line, step, column));
  }
  return report;
}

Json facts_report(const Json& line, const Json& step, const kubelet::NodeModel& model,
                  const kubelet::NodeState& state, const ResourceNames& names) {
  Json report = counts_report(line, step);
  std::map<uint32_t, std::string> spelled;
  const kubelet::ResourceName name_of = [&](uint32_t index) -> std::string_view {
    return spelled.try_emplace(index, names.name(index)).first->second;
  };
  report["attributes"] = Json::array();
  for (const topology::NrtAttribute& attribute : kubelet::encode_settings(model)) {
    report["attributes"].push_back({{"name", attribute.name}, {"value", attribute.value}});
  }
  const std::string machine = kubelet::encode_machine(model, name_of);
  const std::string free =
      kubelet::encode_free(model, state, name_of, machine, parsed_report(report).zones);
  report["metadata"]["annotations"] = {{std::string(topology::kMachineAnnotation), machine},
                                       {std::string(topology::kFreeAnnotation), free}};
  return report;
}

topology::NrtObject parsed_report(const Json& report) {
  auto nrt = topology::parse_nrt(report.dump());
  if (!nrt) throw std::invalid_argument("the report cannot be parsed: " + nrt.error());
  return *std::move(nrt);
}

kubelet::InternResource interning(ResourceNames& names) {
  return [&names](std::string_view name) { return names.index(std::string(name)); };
}

}  // namespace plimsoll::conformance
