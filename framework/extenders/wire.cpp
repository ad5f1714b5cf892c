#include "framework/extenders/wire.hpp"

#include <plimsoll/views.hpp>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "framework/extenders/object_json.hpp"

namespace plimsoll::extender_wire {
namespace {

using Json = nlohmann::json;
using sdk::view;

constexpr size_t kLongestReason = 256;

// The member of that name in any case; of several the last, as Go decides. Null: there is none.
const Json& member(const Json& object, std::string_view name) {
  static const Json kNone;
  const Json* found = &kNone;
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  for (const auto& [key, value] : object.items()) {
    if (std::equal(key.begin(), key.end(), name.begin(), name.end(), same)) found = &value;
  }
  return *found;
}

Error wrong(const std::string& what) {
  return {ErrorCode::kInvalid, "its answer cannot be read: " + what};
}

// `read` throws what is wrong with the answer.
template <typename Read>
auto guarded(std::string_view body, Json::value_t type, const Read& read)
    -> Result<decltype(read(Json()))> {
  try {
    const Json answer = Json::parse(body);
    if (answer.type() != type && !answer.is_null()) return fail(wrong("it has the wrong type"));
    return read(answer);
  } catch (const Json::exception& problem) {
    return fail(wrong(problem.what()));
  }
}

std::string cut(std::string text) {
  if (text.size() <= kLongestReason) return text;
  size_t end = kLongestReason;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

StringMap<std::string> reasons(const Json& failed) {
  StringMap<std::string> by_node;
  if (failed.is_null()) return by_node;
  for (const auto& [node, why] : failed.get_ref<const Json::object_t&>()) {
    by_node[node] = cut(why.get<std::string>());
  }
  return by_node;
}

Result<void> no_error(const Json& answer) {
  const Json& error = member(answer, "error");
  if (error.is_null()) return {};
  const std::string text = cut(error.get<std::string>());
  if (text.empty()) return {};
  return fail(ErrorCode::kUnavailable, text);
}

Json victims_json(const Victims& victims, bool names_only) {
  Json pods = Json::array();
  if (names_only) {
    for (const std::string& uid : victims.uids) pods.push_back({{"UID", uid}});
  } else {
    for (const plimsoll_pod* pod : victims.pods) pods.push_back(pod_json(*pod));
  }
  return {{"Pods", std::move(pods)}, {"NumPDBViolations", victims.violations}};
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string arguments(std::string_view pod_json, const std::vector<NodeRef>& nodes,
                      bool names_only) {
  std::string body = R"({"Pod":)" + std::string(pod_json);
  Json list = Json::array();
  for (const NodeRef& node : nodes) {
    list.push_back(names_only ? Json(std::string(view(node->meta.name))) : node_json(*node));
  }
  if (names_only) return body + R"(,"Nodes":null,"NodeNames":)" + text_of(list) + "}";
  return body + R"(,"Nodes":{"metadata":{},"items":)" + text_of(list) + R"(},"NodeNames":null})";
}

Result<Filtered> read_filtered(std::string_view body, bool names_only) {
  return guarded(body, Json::value_t::object,
                 [&](const Json& answer) -> Result<Filtered> {
                   if (auto well = no_error(answer); !well) return fail(well.error());
                   Filtered filtered;
                   const Json& names = member(answer, "nodeNames");
                   const Json& nodes = member(answer, "nodes");
                   if (names_only && !names.is_null()) {
                     filtered.nodes = names.get<std::vector<std::string>>();
                   } else if (!nodes.is_null()) {
                     const Json& items = member(nodes, "items");
                     if (!items.is_null()) {
                       for (const Json& node : items.get_ref<const Json::array_t&>()) {
                         filtered.nodes.push_back(
                             member(member(node, "metadata"), "name").get<std::string>());
                       }
                     }
                   }
                   filtered.failed = reasons(member(answer, "failedNodes"));
                   filtered.unresolvable = reasons(member(answer, "failedAndUnresolvableNodes"));
                   return filtered;
                 })
      .and_then([](Result<Filtered> read) { return read; });
}

Result<Scores> read_scores(std::string_view body) {
  return guarded(body, Json::value_t::array, [](const Json& answer) {
    Scores scores;
    for (const Json& each : answer) {
      const Json& score = member(each, "score");
      if (!score.is_null() && !score.is_number_integer()) {
        throw Json::type_error::create(302, "a score is no whole number", &score);
      }
      scores.emplace_back(member(each, "host").get<std::string>(),
                          score.is_null() ? 0 : score.get<int64_t>());
    }
    return scores;
  });
}

std::string preemption_arguments(std::string_view pod_json, const std::vector<Victims>& victims,
                                 bool names_only) {
  Json nodes = Json::object();
  for (const Victims& each : victims) nodes[each.node] = victims_json(each, names_only);
  return R"({"Pod":)" + std::string(pod_json) + R"(,"NodeNameToVictims":)" +
         (names_only ? "null" : text_of(nodes)) + R"(,"NodeNameToMetaVictims":)" +
         (names_only ? text_of(nodes) : "null") + "}";
}

Result<std::vector<Victims>> read_victims(std::string_view body) {
  return guarded(body, Json::value_t::object, [](const Json& answer) {
    std::vector<Victims> all;
    const Json& nodes = member(answer, "nodeNameToMetaVictims");
    if (nodes.is_null()) return all;
    for (const auto& [node, said] : nodes.get_ref<const Json::object_t&>()) {
      Victims victims;
      victims.node = node;
      const Json& violations = member(said, "numPDBViolations");
      if (!violations.is_null()) victims.violations = violations.get<int64_t>();
      const Json& pods = member(said, "pods");
      if (!pods.is_null()) {
        for (const Json& pod : pods.get_ref<const Json::array_t&>()) {
          victims.uids.push_back(member(pod, "uid").get<std::string>());
        }
      }
      all.push_back(std::move(victims));
    }
    return all;
  });
}

std::string binding_arguments(const plimsoll_pod& pod, std::string_view node) {
  const Json body{{"PodName", std::string(view(pod.meta.name))},
                  {"PodNamespace", std::string(view(pod.meta.ns))},
                  {"PodUID", std::string(view(pod.meta.uid))},
                  {"Node", std::string(node)}};
  return text_of(body);
}

Result<void> read_bound(std::string_view body) {
  return guarded(body, Json::value_t::object, no_error).and_then([](Result<void> read) {
    return read;
  });
}

std::string node_of(std::string_view pod_json) {
  const Json pod = Json::parse(pod_json, nullptr, false);
  if (!pod.is_object()) return {};
  const Json& name = member(member(pod, "spec"), "nodeName");
  return name.is_string() ? name.get<std::string>() : std::string();
}

}  // namespace plimsoll::extender_wire
