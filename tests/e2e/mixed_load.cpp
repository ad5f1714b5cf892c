#include "tests/e2e/mixed_load.hpp"

#include <algorithm>
#include <functional>
#include <random>

#include "tests/kube/kube_objects.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr int kZonesOfNode = 3;
constexpr int kGeneralPerZone = 44;
constexpr int kSmallPerZone = 6;
constexpr int kGeneral = kZonesOfNode * kGeneralPerZone;
constexpr int kSmall = kZonesOfNode * kSmallPerZone;
constexpr int kSlotsOfSmall = 2;  // volumes that a small node attaches
constexpr int kPods = 2000;
constexpr int kLocalVolumes = 40;
constexpr int kOnePodClaims = 24;

std::string zone_name(int zone) {
  return "zone-" + std::to_string(zone);
}
std::string numbered(const std::string& name, int number) {
  return name + "-" + std::to_string(number);
}

json app_selector(const std::string& app) {
  return {{"matchLabels", {{"app", app}}}};
}

void spread(json& pod, const char* key, const char* otherwise) {
  pod["spec"]["topologySpreadConstraints"].push_back(
      {{"maxSkew", 1},
       {"topologyKey", key},
       {"whenUnsatisfiable", otherwise},
       {"labelSelector", app_selector(pod["metadata"]["labels"]["app"])}});
}

void neighbour(json& pod, const char* kind, const char* key, const std::string& app) {
  pod["spec"]["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"].push_back(
      {{"topologyKey", key}, {"labelSelector", app_selector(app)}});
}

void on_small_nodes(json& pod) {
  pod["spec"]["nodeSelector"]["pool"] = "small";
  pod["spec"]["tolerations"] = json::array({{{"key", "dedicated"},
                                             {"operator", "Equal"},
                                             {"value", "small"},
                                             {"effect", "NoSchedule"}}});
}

class MixedMaker {
 public:
  MixedMaker(std::uint64_t seed, std::size_t waves, std::string scheduler, std::string ns)
      : random_(seed), scheduler_(std::move(scheduler)), ns_(std::move(ns)) {
    load_.waves.resize(waves);
  }

  MixedLoad make() {
    add_classes();
    for (int i = 0; i < kGeneral + kSmall; ++i) add_node(i);
    add_spread_apps();
    add_neighbours();
    add_sets();
    add_other_claims();
    add_room();
    add_holders();
    add_app("plain", kPods - kOnePodClaims - static_cast<int>(load_.pods), [](json&, int) {});
    add_takers();
    for (MixedLoad::Wave& wave : load_.waves) std::ranges::shuffle(wave.pods, random_);
    return std::move(load_);
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  static void put(std::vector<KubeObject>& into, std::string path, const json& object) {
    into.push_back({std::move(path), object.dump()});
  }

  void add_classes() {
    const auto add = [&](const char* name, const char* provisioner, const char* mode) {
      put(load_.cluster, kClassesPath,
          {{"metadata", {{"name", name}}},
           {"provisioner", provisioner},
           {"volumeBindingMode", mode}});
    };
    add("zonal", kDriver, "WaitForFirstConsumer");
    add("at-once", kDriver, "Immediate");
    add("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer");
  }

  // A quarter of the general nodes attaches one volume, a quarter two.
  void add_node(int index) {
    const bool small = index >= kGeneral;
    const int in_zone = index / kZonesOfNode;
    const std::string name = numbered(small ? "small" : "node", index);
    json node =
        node_object(name, small ? Resources{{"cpu", "2"}, {"memory", "8Gi"}, {"pods", "10"}}
                                : Resources{{"cpu", "16"}, {"memory", "64Gi"}, {"pods", "110"}});
    node["metadata"]["labels"][kZoneLabel] = zone_name(index % kZonesOfNode);
    node["metadata"]["labels"]["pool"] = small ? "small" : "general";
    if (small) {
      node["spec"]["taints"] =
          json::array({{{"key", "dedicated"}, {"value", "small"}, {"effect", "NoSchedule"}}});
    }
    put(load_.cluster, std::string(kNodes), node);
    const int limit = small ? kSlotsOfSmall : in_zone % 4 < 2 ? 1 + in_zone % 4 : 6;
    put(load_.cluster, kCsiNodesPath,
        {{"metadata", {{"name", name}}},
         {"spec",
          {{"drivers",
            json::array(
                {{{"name", kDriver}, {"nodeID", name}, {"allocatable", {{"count", limit}}}}})}}}});
  }

  // Evenly over the waves, in the order of ordinals.
  using Change = std::function<void(json& pod, int ordinal)>;
  void add_app(const std::string& app, int pods, const Change& change) {
    add_app(app, pods, pods, pods, change);
  }
  void add_app(const std::string& app, int pods, int least, int most, const Change& change) {
    const auto size = [](int number) { return static_cast<std::size_t>(number); };
    load_.apps[app] = {size(pods), size(least), size(most)};
    for (int i = 0; i < pods; ++i) {
      wave_ = &load_.waves[size(i) * load_.waves.size() / size(pods)];
      add_pod(app, i, change);
      ++load_.pods;
    }
  }
  void add_pod(const std::string& app, int ordinal, const Change& change) {
    json pod = pod_object({.name = numbered(app, ordinal),
                           .scheduler = scheduler_,
                           .requests = {{"cpu", std::to_string(pick(1, 3) * 100) + "m"},
                                        {"memory", std::to_string(pick(64, 512)) + "Mi"}},
                           .guaranteed = false});
    pod["metadata"]["labels"]["app"] = app;
    change(pod, ordinal);
    put(wave_->pods, "/api/v1/namespaces/" + ns_ + "/pods", pod);
  }

  // Numbers that the domains divide: in the end each has as many, whoever died in between.
  void add_spread_apps() {
    for (int i = 0; i < 10; ++i) {
      add_app(numbered("web", i), 60, [](json& pod, int) {
        spread(pod, kZoneLabel, "DoNotSchedule");
        spread(pod, kHostLabel, "ScheduleAnyway");
      });
    }
    for (int i = 0; i < 2; ++i) {
      add_app(numbered("host", i), kGeneral, [](json& pod, int) {
        pod["spec"]["nodeSelector"]["pool"] = "general";
        spread(pod, kHostLabel, "DoNotSchedule");
      });
    }
    for (int i = 0; i < 3; ++i) {
      add_app(numbered("soft", i), 50, [](json& pod, int) {
        spread(pod, kZoneLabel, "ScheduleAnyway");
        spread(pod, kHostLabel, "ScheduleAnyway");
      });
    }
  }

  // An anchor in each of two zones; pods that want to be in such a zone, and not on one node with
  // their like. Of the last app there are two more than nodes.
  void add_neighbours() {
    for (int i = 0; i < 3; ++i) {
      const std::string anchor = numbered("anchor", i);
      add_app(anchor, 2, [i](json& pod, int ordinal) {
        pod["spec"]["nodeSelector"][kZoneLabel] = zone_name((i + ordinal) % kZonesOfNode);
      });
      const std::string app = numbered("apart", i);
      const int most = 2 * kGeneralPerZone;
      const int pods = i == 2 ? most + 2 : 30;
      const int fit = std::min(pods, most);
      add_app(app, pods, fit, fit, [&](json& pod, int) {
        neighbour(pod, "podAffinity", kZoneLabel, anchor);
        neighbour(pod, "podAntiAffinity", kHostLabel, app);
      });
      const std::string club = numbered("club", i);
      add_app(club, 20, [&](json& pod, int) { neighbour(pod, "podAffinity", kZoneLabel, club); });
    }
  }

  void add_claim(json& pod, const std::string& volume_template, const std::string& storage_class) {
    const std::string name = volume_template + "-" + pod["metadata"]["name"].get<std::string>();
    put(wave_->claims, claims_path_of(ns_), claim_object(name, storage_class));
    add_claim_to(pod, name);
  }

  // As a StatefulSet makes them: a claim of its own for each ordinal and template.
  void add_sets() {
    for (int i = 0; i < 6; ++i) {
      add_app(numbered("set", i), 45, 40, 45, [&, i](json& pod, int) {
        spread(pod, kZoneLabel, "DoNotSchedule");
        add_claim(pod, "data", "zonal");
        if (i == 0) add_claim(pod, "log", "zonal");
      });
    }
  }

  void add_other_claims() {
    add_app("at-once", 60, [&](json& pod, int) { add_claim(pod, "data", "at-once"); });
    for (int i = 0; i < kLocalVolumes; ++i) add_local_volume(i);
    add_app("local", kLocalVolumes + 6, kLocalVolumes, kLocalVolumes,
            [&](json& pod, int) { add_claim(pod, "data", "local"); });
    add_app("there", 45, [&](json& pod, int ordinal) {
      const std::string claim = numbered("data-there", ordinal);
      add_volume_of(claim, zone_name(ordinal % kZonesOfNode));
      json object = claim_object(claim, "zonal");
      object["spec"]["volumeName"] = "volume-of-" + claim;
      put(wave_->claims, claims_path_of(ns_), object);
      add_claim_to(pod, claim);
    });
  }
  void add_local_volume(int index) {
    const std::string node = numbered("node", index * (kGeneral / kLocalVolumes));
    put(load_.volumes, kVolumesPath,
        {{"metadata", {{"name", "local-" + node}}},
         {"spec",
          {{"accessModes", {"ReadWriteOnce"}},
           {"capacity", {{"storage", "1Gi"}}},
           {"local", {{"path", "/mnt/disk"}}},
           {"nodeAffinity", volume_affinity(kHostLabel, {node})},
           {"storageClassName", "local"}}}});
  }
  // Bound before any scheduler looks; the zone is in its labels too.
  void add_volume_of(const std::string& claim, const std::string& zone) {
    put(load_.volumes, kVolumesPath,
        {{"metadata", {{"name", "volume-of-" + claim}, {"labels", {{kZoneLabel, zone}}}}},
         {"spec",
          {{"accessModes", {"ReadWriteOnce"}},
           {"capacity", {{"storage", "1Gi"}}},
           {"claimRef",
            {{"kind", "PersistentVolumeClaim"},
             {"apiVersion", "v1"},
             {"namespace", ns_},
             {"name", claim}}},
           {"csi", {{"driver", kDriver}, {"volumeHandle", "volume-of-" + claim}}},
           {"nodeAffinity", volume_affinity(kZoneLabel, {zone})},
           {"storageClassName", "zonal"}}}});
  }

  // No kubelet ends them, so they end at once.
  void add_holders() {
    add_app(kHolders, kOnePodClaims, [&](json& pod, int ordinal) {
      json claim = claim_object(numbered("alone", ordinal), "zonal");
      claim["spec"]["accessModes"] = {"ReadWriteOncePod"};
      put(wave_->claims, claims_path_of(ns_), claim);
      add_claim_to(pod, numbered("alone", ordinal));
      pod["spec"]["terminationGracePeriodSeconds"] = 0;
    });
  }
  void add_takers() {
    put(load_.cluster, "/apis/scheduling.k8s.io/v1/priorityclasses",
        {{"metadata", {{"name", kTakers}}}, {"value", 1000}});
    wave_ = &load_.takers;
    for (int i = 0; i < kOnePodClaims; ++i) {
      add_pod(kTakers, i, [](json& pod, int ordinal) {
        add_claim_to(pod, numbered("alone", ordinal));
        pod["spec"]["priorityClassName"] = kTakers;
      });
    }
  }

  // A small node takes three pods by its CPUs and two by its volumes, and is full then.
  void add_room() {
    const int by_volumes = kSmall * kSlotsOfSmall;
    add_app("attach", by_volumes + 6, by_volumes - 6, by_volumes, [&](json& pod, int) {
      on_small_nodes(pod);
      pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100m";
      add_claim(pod, "data", "zonal");
    });
    const int by_cpus = kSmall * 3;
    add_app("room", by_cpus + 6, by_cpus, by_cpus, [](json& pod, int) {
      on_small_nodes(pod);
      pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "600m";
    });
  }

  std::mt19937_64 random_;
  std::string scheduler_;
  std::string ns_;
  MixedLoad load_;
  MixedLoad::Wave* wave_ = nullptr;  // of the pod at hand
};

}  // namespace

Provisioner::Classes mixed_classes() {
  std::vector<std::string> zones;
  zones.reserve(kZonesOfNode);
  for (int zone = 0; zone < kZonesOfNode; ++zone) zones.push_back(zone_name(zone));
  return {{"zonal", {.driver = kDriver, .label = kZoneLabel}},
          {"at-once", {.driver = kDriver, .label = kZoneLabel, .at_once = zones}}};
}

MixedLoad make_mixed_load(std::uint64_t seed, std::size_t waves, const std::string& scheduler,
                          const std::string& ns) {
  return MixedMaker(seed, waves, scheduler, ns).make();
}

}  // namespace plimsoll::test
