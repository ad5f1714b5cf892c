#include "plugins/nodedevice/device_args.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plugins/nodedevice/device_type_args.hpp"

namespace plimsoll::devices {
namespace {

using Json = nlohmann::json;

// Collects every problem instead of stopping at the first.
class Reader {
 public:
  [[nodiscard]] ArgsProblems& problems() { return problems_; }

  void problem(const std::string& path, const std::string& text) { problems_.add(path, text); }
  bool object(const Json& value, const std::string& path,
              std::initializer_list<std::string_view> known) {
    return problems_.object(value, path, known);
  }

  // The member, or null if it is absent, null, or (then it complains) of the wrong kind.
  const Json* member(const Json& object, const std::string& path, const char* key,
                     Json::value_t kind, const char* wanted) {
    const auto it = object.find(key);
    if (it == object.end() || it->is_null()) return nullptr;
    if (it->type() == kind) return &*it;
    problem(path.empty() ? key : path + "." + key, std::string("must be ") + wanted);
    return nullptr;
  }

  std::string text(const Json& object, const std::string& path, const char* key) {
    const Json* value = member(object, path, key, Json::value_t::string, "a string");
    return value == nullptr ? std::string() : value->get<std::string>();
  }

  std::vector<std::string> texts(const Json& list, const std::string& path) {
    std::vector<std::string> out;
    if (!list.is_array()) {
      problem(path, "must be a list");
      return out;
    }
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].is_string())
        out.push_back(list[i].get<std::string>());
      else
        problem(path + "[" + std::to_string(i) + "]", "must be a string");
    }
    return out;
  }

 private:
  ArgsProblems problems_;
};

void read_weights(Reader& reader, const Json& resources, DeviceArgs& args) {
  for (size_t i = 0; i < resources.size(); ++i) {
    const std::string path = "scoringStrategy.resources[" + std::to_string(i) + "]";
    if (!reader.object(resources[i], path, {"name", "weight"})) continue;
    const std::string name = reader.text(resources[i], path, "name");
    if (name.empty()) reader.problem(path + ".name", "must be given");
    int64_t weight = 1;
    if (const auto it = resources[i].find("weight"); it != resources[i].end() && !it->is_null()) {
      const bool is_number = it->is_number_integer();
      weight = is_number ? it->get<int64_t>() : 0;
      if (weight < 1 || weight > 100)
        reader.problem(path + ".weight", "must be a number from 1 to 100");
    }
    args.weights.emplace_back(current_resource_name(name), weight);
  }
}

void read_strategy(Reader& reader, const Json& strategy, DeviceArgs& args) {
  const std::string path = "scoringStrategy";
  if (!reader.object(strategy, path, {"type", "resources", "fragmentation"})) return;
  const std::string type = reader.text(strategy, path, "type");
  if (type == "MostAllocated")
    args.strategy = Strategy::kMostAllocated;
  else if (type == "FragmentationGradient")
    args.fragmentation.emplace();
  else if (!type.empty() && type != "LeastAllocated")
    reader.problem(path + ".type",
                   "must be LeastAllocated, MostAllocated or FragmentationGradient");
  if (const auto it = strategy.find("fragmentation"); it != strategy.end() && !it->is_null()) {
    if (!args.fragmentation)
      reader.problem(path + ".fragmentation", "needs the type FragmentationGradient");
    FragmentationArgs read = read_fragmentation(*it, path + ".fragmentation", reader.problems());
    if (args.fragmentation) args.fragmentation = std::move(read);
  }
  if (const Json* resources =
          reader.member(strategy, path, "resources", Json::value_t::array, "a list"))
    read_weights(reader, *resources, args);
}

void read_templates(Reader& reader, const Json& config, DeviceArgs& args) {
  const std::string path = "gpuSharedResourceTemplatesConfig";
  if (!reader.object(config, path, {"configMapNamespace", "configMapName", "matchedResources"}))
    return;
  args.template_namespace = reader.text(config, path, "configMapNamespace");
  args.template_name = reader.text(config, path, "configMapName");
  if (const Json* matched =
          reader.member(config, path, "matchedResources", Json::value_t::array, "a list"))
    args.template_resources = reader.texts(*matched, path + ".matchedResources");
}

void read_unsupported(Reader& reader, const Json& models, DeviceArgs& args) {
  for (const auto& [vendor, list] : models.items()) {
    const std::string path = "gpuShareUnsupportedModels." + vendor;
    for (std::string& model : reader.texts(list, path))
      args.unsupported_models[vendor].insert(std::move(model));
  }
}

void read_args(Reader& reader, const Json& json, DeviceArgs& args) {
  if (!reader.object(json, "",
                     {"apiVersion", "kind", "allocator", "scoringStrategy",
                      "disableDeviceNUMATopologyAlignment", "gpuSharedResourceTemplatesConfig",
                      "gpuShareUnsupportedModels", "deviceTypes"}))
    return;
  reader.text(json, "", "apiVersion");
  const std::string kind = reader.text(json, "", "kind");
  if (!kind.empty() && kind != "DeviceShareArgs" && kind != "NodeDeviceArgs")
    reader.problem("kind", "must be DeviceShareArgs");
  reader.text(json, "", "allocator");  // deprecated there and without meaning
  constexpr auto kObject = Json::value_t::object;
  if (const Json* value = reader.member(json, "", "scoringStrategy", kObject, "an object"))
    read_strategy(reader, *value, args);
  if (const Json* value = reader.member(json, "", "disableDeviceNUMATopologyAlignment",
                                        Json::value_t::boolean, "true or false"))
    args.disable_numa_alignment = value->get<bool>();
  if (const Json* value =
          reader.member(json, "", "gpuSharedResourceTemplatesConfig", kObject, "an object"))
    read_templates(reader, *value, args);
  if (const Json* value = reader.member(json, "", "gpuShareUnsupportedModels", kObject,
                                        "an object of lists of models by vendor"))
    read_unsupported(reader, *value, args);
  if (const auto it = json.find("deviceTypes"); it != json.end() && !it->is_null())
    args.types = read_device_types(*it, std::move(args.types), reader.problems());
}

}  // namespace

Result<DeviceArgs> parse_device_args(std::string_view text) {
  DeviceArgs args;
  if (!text.empty()) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return fail("args are not JSON");
    Reader reader;
    if (!json.is_null()) read_args(reader, json, args);
    if (reader.problems().size() != 0) return fail(reader.problems().text());
  }
  if (args.template_resources.empty()) args.template_resources = {"huawei.com/npu-core"};
  return args;
}

}  // namespace plimsoll::devices
