#include "tests/plugins/dynamicresources/plugin_world.hpp"

#include <algorithm>
#include <plimsoll/quantity.hpp>
#include <stdexcept>

#include "framework/api/decode/decode.hpp"
#include "framework/objects/kinds.hpp"

namespace plimsoll::dra::test {
namespace {

constexpr std::string_view kPath = "/apis/resource.k8s.io/v1/namespaces/";

std::string text_of(const Json& object, const char* where) {
  const Json::json_pointer pointer(where);
  return object.contains(pointer) ? object.at(pointer).get<std::string>() : std::string();
}

std::pair<int32_t, std::string> refusal(int32_t status, const std::string& message) {
  return {status, Json{{"kind", "Status"}, {"message", message}}.dump()};
}

}  // namespace

// Resources have the same numbers in decoded pods as in fake nodes.
void PluginWorld::know_resources(const Json& amounts) {
  static std::vector<std::string> known;  // beyond those that every table begins with
  for (const auto& [name, amount] : amounts.items()) {
    if (sdk::fake_resource_index(name) >= 4 + known.size()) known.push_back(name);
  }
  for (const std::string& name : known) (void)symbols_.resource_index(name);
}

PluginWorld::PluginWorld(const std::string& args) {
  host.now = 1'790'000'000'000;  // 2026: what was allocated in 2020 has timed out
  host.answer = [this](const plimsoll_api_request& request) { return answer(request); };
  plugin = std::make_unique<Plugin>(host, args);
}

void PluginWorld::add_node(const Json& object) {
  auto node = std::make_unique<sdk::FakeNode>(text_of(object, "/metadata/name"),
                                              static_cast<uint32_t>(nodes.size()));
  const Json amounts = object.value("status", Json::object()).value("allocatable", Json::object());
  know_resources(amounts);
  for (const auto& [resource, amount] : amounts.items()) {
    const auto value = sdk::parse_quantity(amount.get<std::string>(), sdk::unit_of(resource));
    node->allocatable(resource, value.value());
  }
  const Json labels = object["metadata"].value("labels", Json::object());
  for (const auto& [key, value] : labels.items()) {
    node->label(key, value.get<std::string>());
  }
  nodes.push_back(std::move(node));
}

void PluginWorld::show(const std::string& resource, const Json& object) {
  const std::string ns = text_of(object, "/metadata/namespace");
  const std::string name = text_of(object, "/metadata/name");
  kept_.push_back(decode_object(resource, ns, name, object.dump()));
  host.objects[resource][{ns, name}] = kept_.back().get();
  plugin->object_event(PLIMSOLL_OBJECT_UPSERT, resource, name, ns);
}

void PluginWorld::add_claim(Json object) {
  const std::string key =
      text_of(object, "/metadata/namespace") + "/" + text_of(object, "/metadata/name");
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  claims_[key] = object;
  show(std::string(sdk::kResourceClaims.resource), object);
}

void PluginWorld::catch_up() {
  for (const std::string& key : std::exchange(gone_, {})) {
    const size_t slash = key.find('/');
    const std::string resource(sdk::kResourceClaims.resource);
    host.objects[resource].erase({key.substr(0, slash), key.substr(slash + 1)});
    plugin->object_event(PLIMSOLL_OBJECT_DELETE, resource, key.substr(slash + 1),
                         key.substr(0, slash));
  }
  for (const std::string& key : std::exchange(changed_, {})) {
    if (!claims_.contains(key)) continue;
    show(std::string(sdk::kResourceClaims.resource), claims_.at(key));
  }
}

void PluginWorld::settle() {
  while (step()) {
  }
}

bool PluginWorld::step() {
  const auto next = std::find_if(host.deferred.begin(), host.deferred.end(),
                                 [](const auto& task) { return task.delay_ms == 0; });
  if (next != host.deferred.end()) {
    auto task = *next;
    host.deferred.erase(next);
    task.run();
    return true;
  }
  if (gone_.empty() && changed_.empty()) return false;
  catch_up();
  return true;
}

int PluginWorld::pass_time() {
  auto tasks = std::exchange(host.deferred, {});
  const auto due = std::stable_partition(tasks.begin(), tasks.end(),
                                         [](const auto& task) { return task.delay_ms == 0; });
  host.deferred.assign(tasks.begin(), due);
  std::for_each(due, tasks.end(), [](auto& task) { task.run(); });
  return static_cast<int>(tasks.end() - due);
}

const plimsoll_pod& PluginWorld::pod(const Json& object) {
  for (const char* list : {"initContainers", "containers"}) {
    for (const Json& each : object["spec"].value(list, Json::array())) {
      know_resources(each.value("resources", Json::object()).value("requests", Json::object()));
    }
  }
  auto decoded = decode_pod(object.dump(), symbols_);
  if (!decoded) throw std::runtime_error(decoded.error().message);
  pods_.push_back(*decoded);
  return *pods_.back();
}

std::pair<int32_t, std::string> PluginWorld::answer(const plimsoll_api_request& request) {
  std::string path(sdk::view(request.path));
  if (path.starts_with("/api/v1/namespaces/")) {
    pod_patch = Json::parse(sdk::view(request.body));
    return {200, "{}"};
  }
  if (!path.starts_with(kPath)) return refusal(404, "no such path: " + path);
  path.erase(0, kPath.size());
  const bool of_status = path.ends_with("/status");
  if (of_status) path.erase(path.size() - 7);
  if (sdk::view(request.method) == "POST") {
    Json made = Json::parse(sdk::view(request.body));
    const std::string ns = path.substr(0, path.find('/'));
    Json& meta = made["metadata"];
    meta["name"] = meta["generateName"].get<std::string>() + "x" + std::to_string(++made_);
    meta["uid"] = meta["name"];
    meta["namespace"] = ns;
    meta["resourceVersion"] = std::to_string(++version_);
    const std::string key = ns + "/" + meta["name"].get<std::string>();
    claims_[key] = made;
    changed_.push_back(key);
    return {201, made.dump()};
  }
  const size_t kind = path.find("/resourceclaims/");
  const auto found = claims_.find(path.substr(0, kind) + "/" + path.substr(kind + 16));
  if (found == claims_.end()) return refusal(404, "there is no claim " + path);
  Json& claim = found->second;
  if (sdk::view(request.method) == "GET") return {200, claim.dump()};
  if (sdk::view(request.method) == "DELETE") {
    gone_.push_back(found->first);
    claims_.erase(found);
    return {200, "{}"};
  }
  const Json body = Json::parse(sdk::view(request.body));
  const Json& meta = body.at("metadata");
  if (meta.contains("uid") && meta["uid"] != claim["metadata"]["uid"]) {
    return refusal(409, "another UID");
  }
  if (meta.contains("resourceVersion") &&
      meta["resourceVersion"] != claim["metadata"]["resourceVersion"]) {
    return refusal(409, "the object has been modified");
  }
  if (sdk::view(request.content_type).find("strategic") != std::string_view::npos) {
    for (const Json& user : body["status"]["reservedFor"]) {
      Json left = Json::array();
      for (const Json& each : claim["status"].value("reservedFor", Json::array())) {
        if (each["uid"] != user["uid"]) left.push_back(each);
      }
      claim["status"]["reservedFor"] = left;
    }
  } else if (of_status) {
    claim["status"].merge_patch(body["status"]);
  } else if (meta.contains("finalizers")) {
    claim["metadata"]["finalizers"] = meta["finalizers"];
  }
  claim["metadata"]["resourceVersion"] = std::to_string(++version_);
  changed_.push_back(found->first);
  return {200, claim.dump()};
}

}  // namespace plimsoll::dra::test
