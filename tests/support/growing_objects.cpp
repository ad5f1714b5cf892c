#include "tests/support/growing_objects.hpp"

namespace plimsoll::test {
namespace {

using Json = nlohmann::json;

std::string name_of(const char* prefix, size_t round, size_t i) {
  return std::string(prefix) + std::to_string(round) + "-" + std::to_string(i);
}

// {"<prefix>1-0": value, "<prefix>1-1": value, ...}
Json map_of(const char* prefix, size_t entries, size_t round, const Json& value) {
  Json map = Json::object();
  for (size_t i = 0; i < entries; ++i) map[name_of(prefix, round, i)] = value;
  return map;
}

// The same with a value of its own for each key.
Json map_of_texts(const char* prefix, size_t entries, size_t round) {
  Json map = Json::object();
  for (size_t i = 0; i < entries; ++i) map[name_of(prefix, round, i)] = name_of("v", round, i);
  return map;
}

Json list_of(size_t entries, const std::function<Json(size_t i)>& make) {
  Json list = Json::array();
  for (size_t i = 0; i < entries; ++i) list.push_back(make(i));
  return list;
}

Json texts(const char* prefix, size_t entries, size_t round) {
  return list_of(entries, [&](size_t i) { return name_of(prefix, round, i); });
}

Json pod_with(const char* pointer, Json value) {
  Json pod = {
      {"metadata", {{"name", "p"}, {"namespace", "default"}, {"uid", "u-p"}}},
      {"spec",
       {{"schedulerName", "topo"},
        {"containers",
         {{{"name", "c"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}}}}}};
  pod[Json::json_pointer(pointer)] = std::move(value);
  return pod;
}

Json node_with(const char* pointer, Json value) {
  Json node = {{"metadata", {{"name", "n-grows"}, {"uid", "u-n"}}},
               {"spec", Json::object()},
               {"status", {{"allocatable", {{"cpu", "8"}, {"pods", "110"}, {"memory", "8Gi"}}}}}};
  node[Json::json_pointer(pointer)] = std::move(value);
  return node;
}

using Fill = std::function<Json(size_t entries, size_t round)>;

GrowingObject pod(std::string what, const char* pointer, Fill fill) {
  return {std::move(what), [pointer, fill = std::move(fill)](size_t entries, size_t round) {
            return pod_with(pointer, fill(entries, round));
          }};
}

GrowingObject node(std::string what, const char* pointer, Fill fill) {
  return {std::move(what), [pointer, fill = std::move(fill)](size_t entries, size_t round) {
            return node_with(pointer, fill(entries, round));
          }};
}

Json requirement(size_t round, size_t i) {
  return {
      {"key", name_of("k", round, i)}, {"operator", "In"}, {"values", {name_of("v", round, i)}}};
}

Json label_selector(size_t entries, size_t round) {
  return {
      {"matchLabels", map_of_texts("k", entries / 2, round)},
      {"matchExpressions", list_of(entries / 2, [&](size_t i) { return requirement(round, i); })}};
}

}  // namespace

std::vector<GrowingObject> growing_pods() {
  const auto resources = [](size_t entries, size_t round) {
    return map_of("example.com/r", entries, round, "1");
  };
  const auto texts_of_map = [](size_t entries, size_t round) {
    return map_of_texts("k", entries, round);
  };
  const auto status_of = [](size_t round, size_t i) {
    return Json{{"name", name_of("c", round, i)},
                {"resources", {{"requests", {{"cpu", "1"}}}}},
                {"allocatedResources", {{"cpu", "1"}}}};
  };
  return {
      pod("labels", "/metadata/labels", texts_of_map),
      pod("annotations", "/metadata/annotations", texts_of_map),
      pod("owners", "/metadata/ownerReferences",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) {
              return Json{{"apiVersion", name_of("a", round, i)},
                          {"kind", name_of("k", round, i)},
                          {"name", name_of("n", round, i)},
                          {"uid", name_of("u", round, i)}};
            });
          }),
      pod("requests", "/spec/containers/0/resources/requests", resources),
      pod("requests and limits", "/spec/containers/0/resources",
          [resources](size_t entries, size_t round) {
            return Json{{"requests", resources(entries / 2, round)},
                        {"limits", resources(entries / 2, round)}};
          }),
      pod("overhead", "/spec/overhead", resources),
      pod("huge pages of the pod", "/spec/resources/requests",
          [](size_t entries, size_t round) { return map_of("hugepages-", entries, round, "2Mi"); }),
      pod("resources of the status", "/status",
          [resources](size_t entries, size_t round) {
            const Json status = {{"name", "c"},
                                 {"resources", {{"requests", resources(entries / 2, round)}}},
                                 {"allocatedResources", resources(entries / 2, round)}};
            return Json{{"containerStatuses", {status}}};
          }),
      pod("containers", "/spec/containers",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) {
              return Json{
                  {"name", name_of("c", round, i)},
                  {"image", name_of("i", round, i)},
                  {"resources", {{"requests", {{name_of("example.com/r", round, i), "1"}}}}}};
            });
          }),
      pod("init containers and sidecars", "/spec/initContainers",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) {
              Json container = {
                  {"name", name_of("c", round, i)},
                  {"resources", {{"requests", {{name_of("example.com/r", round, i), "1"}}}}}};
              if (i % 2 == 0) container["restartPolicy"] = "Always";
              return container;
            });
          }),
      {"containers with a status",
       [status_of](size_t entries, size_t round) {
         Json made = pod_with("/spec/containers", list_of(entries / 2, [&](size_t i) {
                                return Json{{"name", name_of("c", round, i)}};
                              }));
         made["status"]["containerStatuses"] =
             list_of(entries / 2, [&](size_t i) { return status_of(round, i); });
         return made;
       }},
      pod("host ports", "/spec/containers/0/ports",
          [](size_t entries, size_t) {
            return list_of(entries, [&](size_t i) {
              return Json{{"containerPort", 1}, {"hostPort", 1 + i}, {"hostIP", "10.0.0.1"}};
            });
          }),
      pod("node selector", "/spec/nodeSelector", texts_of_map),
      pod("node affinity terms",
          "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution",
          [](size_t entries, size_t round) {
            return Json{{"nodeSelectorTerms", list_of(entries, [&](size_t i) {
                           return Json{{"matchExpressions", {requirement(round, i)}}};
                         })}};
          }),
      pod("preferred node affinity",
          "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) {
              return Json{{"weight", 1},
                          {"preference", {{"matchExpressions", {requirement(round, i)}}}}};
            });
          }),
      pod("values of a requirement",
          "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution",
          [](size_t entries, size_t round) {
            const Json one = {
                {"key", "zone"}, {"operator", "NotIn"}, {"values", texts("v", entries, round)}};
            return Json{{"nodeSelectorTerms", {{{"matchExpressions", {one}}}}}};
          }),
      pod("preferred pod affinity terms",
          "/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) {
              return Json{{"weight", 1},
                          {"podAffinityTerm",
                           {{"topologyKey", name_of("t", round, i)},
                            {"namespaces", {name_of("n", round, i)}},
                            {"labelSelector", label_selector(2, round)}}}};
            });
          }),
      pod("tolerations", "/spec/tolerations",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) {
              return Json{{"key", name_of("k", round, i)},
                          {"value", name_of("v", round, i)},
                          {"effect", "NoSchedule"}};
            });
          }),
      pod("soft spread constraints", "/spec/topologySpreadConstraints",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) {
              return Json{{"maxSkew", 1},
                          {"topologyKey", name_of("t", round, i)},
                          {"whenUnsatisfiable", "ScheduleAnyway"},
                          {"matchLabelKeys", {name_of("m", round, i)}},
                          {"labelSelector", label_selector(2, round)}};
            });
          }),
      pod("volumes", "/spec/volumes",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) {
              return Json{{"name", name_of("v", round, i)},
                          {"configMap", {{"name", name_of("m", round, i)}}}};
            });
          }),
      pod("monitors of a volume", "/spec/volumes/0/rbd/monitors",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) { return Json(name_of("m", round, i)); });
          }),
      pod("scheduling gates", "/spec/schedulingGates",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) {
              return Json{{"name", name_of("g", round, i)}};
            });
          }),
      pod("resource claims", "/spec/resourceClaims",
          [](size_t entries, size_t round) {
            return list_of(entries, [&](size_t i) {
              return Json{{"name", name_of("c", round, i)}};
            });
          }),
  };
}

std::vector<GrowingObject> growing_nodes() {
  const auto texts_of_map = [](size_t entries, size_t round) {
    return map_of_texts("k", entries, round);
  };
  const auto resources = [](size_t entries, size_t round) {
    Json all = map_of("example.com/r", entries, round, "1");
    all.update({{"cpu", "8"}, {"pods", "110"}, {"memory", "8Gi"}});
    return all;
  };
  return {
      node("labels", "/metadata/labels", texts_of_map),
      node("annotations", "/metadata/annotations", texts_of_map),
      node("allocatable", "/status/allocatable", resources),
      node("capacity", "/status/capacity", resources),
      node("taints", "/spec/taints",
           [](size_t entries, size_t round) {
             return list_of(entries, [&](size_t i) {
               return Json{{"key", name_of("k", round, i)},
                           {"value", name_of("v", round, i)},
                           {"effect", "PreferNoSchedule"}};
             });
           }),
      node("images", "/status/images",
           [](size_t entries, size_t round) {
             return list_of(entries, [&](size_t i) {
               return Json{{"names", {name_of("i", round, i)}}, {"sizeBytes", 1}};
             });
           }),
      node("names of an image", "/status/images",
           [](size_t entries, size_t round) {
             return Json::array({{{"names", texts("i", entries, round)}, {"sizeBytes", 1}}});
           }),
      node("conditions", "/status/conditions",
           [](size_t entries, size_t round) {
             return list_of(entries, [&](size_t i) {
               return Json{{"type", name_of("t", round, i)}, {"status", "True"}};
             });
           }),
      node("declared features", "/status/declaredFeatures",
           [](size_t entries, size_t round) { return texts("f", entries, round); }),
  };
}

}  // namespace plimsoll::test
