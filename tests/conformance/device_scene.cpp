#include "tests/conformance/device_scene.hpp"

#include <memory>
#include <stdexcept>

#include "framework/api/decode/decode.hpp"
#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/nodedevice/text/quantity_text.hpp"

namespace plimsoll::conformance {

namespace dev = plimsoll::devices;

const dev::DeviceTypes& device_types() {
  return dev::DeviceTypes::standard();
}

Json amounts_json(const Json& resources) {
  Json values = Json::object();
  for (const auto& [name, value] : resources.items())
    values[name] = dev::parse_quantity(value.get<std::string>()).value_or(-1);
  return values;
}

Json amounts_json(int type, const dev::Amounts& of) {
  Json values = Json::object();
  const auto& dims = device_types().type(type).dims;
  for (size_t dim = 0; dim < dims.size(); ++dim)
    if (of.has(static_cast<int>(dim))) values[dims[dim]] = of.value[dim];
  return values;
}

Json allocation_json(const dev::Allocation& allocation) {
  Json by_type = Json::object();
  for (const dev::DeviceShare& share : allocation) {
    Json entry = {{"minor", share.minor}, {"resources", amounts_json(share.type, share.amounts)}};
    for (const dev::VirtualFunction& vf : share.vfs) {
      Json function = {{"busID", vf.bus_id}};
      if (vf.minor != 0) function["minor"] = vf.minor;
      entry["extension"]["vfs"].push_back(function);
    }
    by_type[device_types().type(share.type).name].push_back(entry);
  }
  return by_type;
}

Json allocation_json(const Json& expected) {
  Json by_type = Json::object();
  for (const auto& [type, entries] : expected.items()) {
    for (Json entry : entries) {
      entry["resources"] = amounts_json(entry.at("resources"));
      by_type[type].push_back(entry);
    }
  }
  return by_type;
}

dev::Allocation read_expected(const Json& allocation) {
  const dev::ReadAllocation read = dev::read_allocation(device_types(), allocation.dump());
  if (!read.problems.empty())
    throw std::runtime_error("allocation: " + read.problems.texts().front());
  return read.shares;
}

Json device_status(const char* code, const std::string& reason) {
  Json result = {{"code", code}};
  if (!reason.empty()) result["reasons"] = {reason};
  return result;
}

Json device_status(const dev::Verdict& verdict) {
  if (verdict.fits()) return device_status("Success");
  return device_status(verdict.unresolvable ? "UnschedulableAndUnresolvable" : "Unschedulable",
                       dev::reason_text(device_types(), verdict.reason, verdict.type));
}

DeviceScene::DeviceScene(const Json& test_case) {
  auto device = dev::parse_device_object(device_types(), test_case.at("device").dump());
  if (!device) throw std::runtime_error(device.error());
  state.name = device->name;
  state.set_object(std::make_shared<const dev::NodeDevices>(*std::move(device)));
  auto node = decode_node(test_case.at("node").dump(), symbols_);
  if (!node) throw std::runtime_error(node.error().message);
  node_ = *node;
  const Json& args = member(test_case, "args");
  Json type;  // null: the reference was called without a scorer
  if (args.is_object()) {
    const Json& strategy = args.at("scoringStrategy");
    type = strategy.at("type");
    for (const Json& resource : strategy.at("resources"))
      weights.emplace_back(resource.at("name"), resource.at("weight"));
  } else if (member(test_case, "scorer").is_string()) {
    type = test_case.at("scorer");
    weights = dev::Scorer::default_weights();
  }
  if (type.is_null()) return;
  most_allocated = type == "MostAllocated";
  scorer_.emplace(device_types(),
                  most_allocated ? dev::Strategy::kMostAllocated : dev::Strategy::kLeastAllocated,
                  weights);
}

dev::NodeLabels DeviceScene::labels() const {
  const sdk::Labels labels(node_->meta.labels);
  const auto label = [&](std::string_view key) { return labels.get(key).value_or(""); };
  return {label("node.koordinator.sh/gpu-vendor"), label("node.koordinator.sh/gpu-model"),
          label("node.koordinator.sh/gpu-partition-policy")};
}

PodAsk DeviceScene::ask(const Json& pod_json) {
  auto decoded = decode_pod(pod_json.dump(), symbols_);
  if (!decoded) throw std::runtime_error("decoding: " + decoded.error().message);
  const sdk::Pod pod(decoded->get());
  std::vector<dev::ResourceQuantity> requests;
  for (const plimsoll_resource& resource : pod.requests())
    requests.push_back({view(resource.name), resource.value});
  auto request = dev::parse_device_request(device_types(), requests);
  if (!request) return {device_status("UnschedulableAndUnresolvable", request.error()), {}};
  if (request->empty()) return {device_status("Skip"), {}};
  const bool asks_for_gpus = request->find(device_types().find_type("gpu")) != nullptr;
  const auto text = [&](std::string_view key) { return pod.annotation(key).value_or(""); };
  auto hints = dev::parse_device_hints(
      device_types(), text(dev::kHintAnnotation), text(dev::kJointAnnotation),
      asks_for_gpus ? text(dev::kPartitionAnnotation) : std::string_view());
  if (!hints) return {device_status("UnschedulableAndUnresolvable", hints.error()), {}};
  return {device_status("Success"), {*std::move(request), *std::move(hints)}};
}

void DeviceScene::give(const std::string& pod, dev::Allocation allocation) {
  state.add(allocation);
  held_[pod] = std::move(allocation);
}

void DeviceScene::release(const std::string& pod) {
  if (auto held = held_.extract(pod)) state.remove(held.mapped());
}

}  // namespace plimsoll::conformance
