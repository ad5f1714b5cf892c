#include "bench/packing/load.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/packing/machines.hpp"

namespace plimsoll::packing {
namespace {

using nlohmann::json;

constexpr double kFillSeconds = 20;  // the time in which the cluster is filled
constexpr double kFill = 0.9;        // the share of the CPUs that is filled

struct Shape {
  json containers = json::array();
  json init = json::array();
  double cpus = 0;
  double devices = 0;
  bool pins = false;
};

std::string milli(double cpus) {
  return std::to_string(static_cast<int>(cpus * 1000)) + "m";
}

json container(const std::string& name, json resources) {
  return {
      {"name", name}, {"image", "registry.example/work:1"}, {"resources", std::move(resources)}};
}

// A Guaranteed pod: requests equal limits.
json guaranteed(const std::string& name, double cpus, double gib,
                const json& more = json::object()) {
  json limits{{"cpu", milli(cpus)},
              {"memory", std::to_string(static_cast<int>(gib * 1024)) + "Mi"}};
  limits.update(more);
  return container(name, {{"limits", limits}});
}

int some_cpus(Dice& dice) {
  constexpr int kCpus[] = {1, 2, 3, 4, 6, 8, 12, 16};
  return kCpus[dice.pick({8, 22, 5, 25, 12, 16, 6, 6})];
}

Shape aligned(Dice& dice) {
  Shape shape;
  shape.pins = true;
  const int cpus = some_cpus(dice);
  shape.containers.push_back(guaranteed("work", cpus, cpus * dice.one_of({1.0, 2.0, 2.0, 3.0})));
  shape.cpus = cpus;
  return shape;
}

Shape several_containers(Dice& dice) {
  Shape shape;
  shape.pins = true;
  const int count = dice.whole(2, 3);
  for (int i = 0; i < count; ++i) {
    const int cpus = dice.one_of({1, 2, 2, 4, 6});
    shape.containers.push_back(guaranteed("work-" + std::to_string(i), cpus, 2 * cpus));
    shape.cpus += cpus;
  }
  if (dice.chance(0.5)) {
    shape.containers.push_back(guaranteed("helper", 0.5, 0.5));
    shape.cpus += 0.5;
  }
  return shape;
}

// Init containers that are larger than the later containers, and sidecars.
Shape staged(Dice& dice) {
  Shape shape;
  shape.pins = true;
  const int cpus = dice.one_of({2, 4, 4, 8});
  const int first = dice.one_of({2, 4, 6, 8});
  int beside = 0;
  if (dice.chance(0.5)) {
    beside = dice.whole(1, 2);
    json sidecar = guaranteed("beside", beside, 1);
    sidecar["restartPolicy"] = "Always";
    shape.init.push_back(std::move(sidecar));
  }
  shape.init.push_back(guaranteed("prepare", first, 2 * first));
  shape.containers.push_back(guaranteed("work", cpus, 2 * cpus));
  shape.cpus = beside + std::max(first, cpus);
  return shape;
}

Shape with_devices(Dice& dice) {
  Shape shape;
  shape.pins = true;
  const bool gpu = dice.chance(0.75);
  const int count = gpu ? dice.one_of({1, 1, 1, 2}) : dice.whole(1, 2);
  const json devices{{gpu ? "nvidia.com/gpu" : "example.com/nic", std::to_string(count)}};
  shape.devices = count;
  if (dice.chance(0.2)) {  // Burstable: the devices alone are tied to zones
    shape.cpus = dice.one_of({0.5, 1.0, 2.0});
    json resources{{"requests", {{"cpu", milli(shape.cpus)}, {"memory", "1Gi"}}},
                   {"limits", devices}};
    resources["requests"].update(devices);
    shape.containers.push_back(container("work", std::move(resources)));
    return shape;
  }
  const int cpus = dice.one_of({2, 4, 4, 6, 8}) * count;
  shape.containers.push_back(guaranteed("work", cpus, 2 * cpus, devices));
  shape.cpus = cpus;
  return shape;
}

Shape with_huge_pages(Dice& dice) {
  Shape shape;
  shape.pins = true;
  const int cpus = dice.one_of({2, 4, 4, 8});
  shape.containers.push_back(
      guaranteed("work", cpus, cpus, {{"hugepages-1Gi", std::to_string(dice.whole(1, 4)) + "Gi"}}));
  shape.cpus = cpus;
  return shape;
}

// Requests more than a zone has, or all of a zone.
Shape wide(Dice& dice) {
  Shape shape;
  shape.pins = true;
  const int cpus = dice.one_of({16, 20, 22, 24, 30, 32});
  shape.containers.push_back(guaranteed("work", cpus, 1.5 * cpus));
  shape.cpus = cpus;
  return shape;
}

Shape ordinary(Dice& dice, bool best_effort) {
  Shape shape;
  if (best_effort) {
    shape.containers.push_back(container("work", json::object()));
    return shape;
  }
  shape.cpus = dice.one_of({0.1, 0.25, 0.5, 1.0, 1.0, 2.0, 3.5});
  shape.containers.push_back(container(
      "work", {{"requests",
                {{"cpu", milli(shape.cpus)}, {"memory", dice.one_of({"256Mi", "1Gi", "2Gi"})}}}}));
  return shape;
}

Shape some_shape(Dice& dice) {
  switch (dice.pick({46, 8, 6, 8, 3, 3, 20, 6})) {
    case 0:
      return aligned(dice);
    case 1:
      return several_containers(dice);
    case 2:
      return staged(dice);
    case 3:
      return with_devices(dice);
    case 4:
      return with_huge_pages(dice);
    case 5:
      return wide(dice);
    case 6:
      return ordinary(dice, false);
    default:
      return ordinary(dice, true);
  }
}

void add_nodes(Dice& dice, const LoadOptions& options, Load& load) {
  const std::vector<MachineKind> kinds =
      make_machine_kinds(dice, std::max<std::size_t>(12, options.nodes / 6));
  for (std::size_t i = 0; i < options.nodes; ++i) {
    const MachineKind& kind = kinds[i % kinds.size()];
    load.cpus += kind.cpus;
    load.devices += kind.devices;
    char name[32];
    std::snprintf(name, sizeof name, "node-%04zu", i);
    load.cluster.push_back(
        json{{"apiVersion", "v1"},
             {"kind", "Node"},
             {"metadata",
              {{"name", name}, {"annotations", {{"sandbox.plimsoll.io/machine", kind.text}}}}},
             {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}}
            .dump());
  }
}

void add_pod(const LoadOptions& options, const Shape& shape, const Offer& offer, Load& load) {
  char name[32];
  std::snprintf(name, sizeof name, "pod-%05zu", load.pods.size());
  json spec{{"schedulerName", options.scheduler_name}, {"containers", shape.containers}};
  if (!shape.init.empty()) spec["initContainers"] = shape.init;
  load.pods.push_back(json{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", name},
        {"namespace", "default"},
        {"annotations",
         {{"sandbox.plimsoll.io/arrive-seconds", std::to_string(offer.arrives)},
          {"sandbox.plimsoll.io/run-seconds", std::to_string(offer.runs)}}}}},
      {"spec",
       std::move(spec)}}.dump());
  load.offers["default/" + std::string(name)] = offer;
}

}  // namespace

Load make_load(const LoadOptions& options) {
  Dice dice(options.seed);
  Load load;
  add_nodes(dice, options, load);
  double now = 0;
  double asked = 0;  // CPUs requested while the cluster is filled
  while (load.pods.size() < options.pods) {
    const Shape shape = some_shape(dice);
    const int copies = dice.chance(1.0 / 6) && shape.cpus < 20 ? dice.whole(4, 24) : 1;
    const bool filling = asked < kFill * load.cpus;
    double work = 0;
    for (int i = 0; i < copies && load.pods.size() < options.pods; ++i) {
      Offer offer{now, dice.between(0.4, 1.6) * options.mean_seconds, shape.cpus, shape.devices,
                  shape.pins};
      if (dice.chance(0.1)) offer.runs *= 0.15;
      work += offer.runs * offer.cpus;
      asked += offer.cpus;
      // As if the pod had already run for some time.
      if (filling) offer.runs *= dice.uniform();
      add_pod(options, shape, offer, load);
    }
    load.last_arrival = now;
    if (filling) {
      now = kFillSeconds * std::min(1.0, asked / (kFill * load.cpus));
      load.full_since = now;
    } else {
      now += dice.exponential() * work / (options.load * load.cpus);
    }
  }
  return load;
}

}  // namespace plimsoll::packing
