#include "plugins/topology/report/koordlet.hpp"

#include <simdjson.h>

#include <algorithm>

namespace plimsoll::topology {
namespace {

namespace koordlet_json = simdjson::ondemand;

constexpr size_t kMostShown = 64;  // of a text in a message

struct KubeletCpus {
  std::string policy;
  std::string options;  // name=value,name=value
  std::string reserved;
};

// "name=true,name=false", in the object's order.
bool read_options(koordlet_json::value value, std::string& options) {
  koordlet_json::object pairs;
  if (value.get_object().get(pairs) != simdjson::SUCCESS) return false;
  for (auto field : pairs) {
    std::string_view name, flag;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS) return false;
    const std::string kept(name);
    if (field.value().get_string().get(flag) != simdjson::SUCCESS) return false;
    // What a newer kubelet has is no flag that is known here.
    if (kept.find_first_of(",=") != std::string::npos || (flag != "true" && flag != "false")) {
      continue;
    }
    options += (options.empty() ? "" : ",") + kept + "=" + std::string(flag);
  }
  return true;
}

bool read_kubelet_cpus(std::string_view text, KubeletCpus& cpus) {
  thread_local koordlet_json::parser parser;
  const simdjson::padded_string padded(text);
  koordlet_json::document document;
  koordlet_json::object object;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return false;
  }
  for (auto field : object) {
    std::string_view key, value;
    koordlet_json::value item;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
        field.value().get(item) != simdjson::SUCCESS) {
      return false;
    }
    if (key == "options") {
      if (!read_options(item, cpus.options)) return false;
      continue;
    }
    std::string* to = key == "policy"         ? &cpus.policy
                      : key == "reservedCPUs" ? &cpus.reserved
                                              : nullptr;
    if (to == nullptr) continue;
    if (item.get_string().get(value) != simdjson::SUCCESS) return false;
    *to = value;
  }
  // Text behind the object is found as a place; the end of the text is the error that is wanted.
  return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

bool is_among(const std::vector<NrtAttribute>& attributes, std::string_view name) {
  return std::any_of(attributes.begin(), attributes.end(),
                     [&](const NrtAttribute& each) { return each.name == name; });
}

}  // namespace

std::string add_koordlet_settings(std::string_view text, std::vector<NrtAttribute>& attributes) {
  if (is_among(attributes, "topologyManagerPolicy")) return {};
  const auto wrong = [](std::string_view what) {
    return "annotation " + std::string(kKoordletCpuAnnotation) + " " + std::string(what) +
           "; what the zones list decides which managers are on";
  };
  KubeletCpus cpus;
  if (!read_kubelet_cpus(text, cpus)) {
    return wrong(R"(is not an object such as {"policy":"none"})");
  }
  if (!cpus.policy.empty() && cpus.policy != "none" && cpus.policy != "static") {
    return wrong("has the policy \"" + cpus.policy.substr(0, kMostShown) +
                 "\", neither none nor static");
  }
  const auto add = [&](const char* name, std::string value) {
    if (value.empty() || is_among(attributes, name)) return;
    attributes.push_back({name, std::move(value)});
  };
  add("cpuManagerPolicy", std::move(cpus.policy));
  add("cpuManagerPolicyOptions", std::move(cpus.options));
  add("reservedCPUs", std::move(cpus.reserved));
  add("memoryManagerPolicy", "None");
  return {};
}

}  // namespace plimsoll::topology
