#include "tests/conformance/binding_scene.hpp"

#include <stdexcept>

namespace plimsoll::conformance {
namespace {

std::string text_in(const Json& object, const char* key) {
  const Json& value = member(member(object, "metadata"), key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string path_of(const Json& object, bool is_claim) {
  if (!is_claim) return "/api/v1/persistentvolumes/" + text_in(object, "name");
  return "/api/v1/namespaces/" + text_in(object, "namespace") + "/persistentvolumeclaims/" +
         text_in(object, "name");
}

}  // namespace

BindingScene::BindingScene(const Json& test_case) : scene_(test_case, {"VolumeBinding"}) {
  for (const Json& volume : member(test_case, "pvs")) stored_[path_of(volume, false)] = volume;
  for (const Json& claim : member(test_case, "pvcs")) stored_[path_of(claim, true)] = claim;
  DefaultProfile::Outside outside;
  outside.now_ms = [this] { return now_ms_; };
  outside.run_on_loop = [this](int64_t delay_ms, std::function<void()> task) {
    tasks_.emplace(now_ms_ + delay_ms, std::move(task));
  };
  outside.api_request = [this](const PluginRequest& asked, const HostBackend::ApiAnswer& done) {
    request(asked, done);
  };
  outside.pod_by_uid = [this](std::string_view) {
    return pod_is_gone_ ? nullptr : bound_pod_.get();
  };
  scene_.profile().set_outside(std::move(outside));
}

void BindingScene::show(const Json& event) {
  const std::string kind = event.at("kind");
  const bool deleted = event.at("type") == "DELETED";
  const Json& object = event.at("object");
  if (kind == "Pod") {
    pod_is_gone_ = deleted;
    return;
  }
  if (kind == "Node") {
    if (deleted) {
      scene_.profile().remove_node(text_in(object, "name"));
    } else {
      scene_.profile().add_node(object);
    }
    return;
  }
  const bool is_claim = kind == "PersistentVolumeClaim";
  if (is_claim || kind == "PersistentVolume") stored_[path_of(object, is_claim)] = object;
  if (deleted) {
    scene_.profile().delete_object(scene_.object(kind, object));
  } else {
    scene_.profile().put_object(scene_.object(kind, object));
  }
}

void BindingScene::show_at(int64_t ms, Json event) {
  events_.emplace(ms, std::move(event));
}

void BindingScene::request(const PluginRequest& request, const HostBackend::ApiAnswer& done) {
  if (request.method != "PATCH" || request.content_type != "application/merge-patch+json") {
    throw std::runtime_error("an unexpected request: " + request.method + " " + request.path);
  }
  Json& stored = stored_.at(request.path);
  const Json patch = Json::parse(request.body);
  Write write;
  write.resource = request.path.find("/persistentvolumeclaims/") == std::string::npos
                       ? "persistentvolumes"
                       : "persistentvolumeclaims";
  write.ns = text_in(stored, "namespace");
  write.name = text_in(stored, "name");
  write.resource_version = text_in(patch, "resourceVersion");
  write.object = stored;
  write.object.merge_patch(patch);
  write.changes = write.object != stored;
  for (const Json& each : refused_) {
    if (each.contains("error") && each.at("resource") == write.resource &&
        each.at("name") == write.name) {
      write.error = each.at("error");
    }
  }
  if (!write.error.empty()) {
    writes_.push_back(write);
    return done(409, Json{{"kind", "Status"}, {"message", write.error}}.dump());
  }
  if (write.changes) {
    write.object["metadata"]["resourceVersion"] = std::to_string(++next_version_);
  }
  stored = write.object;
  writes_.push_back(write);
  if (written) written(write);
  done(200, write.object.dump());
}

std::shared_ptr<BindingScene::Run> BindingScene::pre_bind(PodRef pod, const std::string& node,
                                                          std::shared_ptr<CycleContext> cycle) {
  bound_pod_ = pod;
  auto run = std::make_shared<Run>();
  scene_.profile().framework().run_pre_binds(
      {std::move(cycle), std::move(pod), node}, [](const std::function<void()>& job) { job(); },
      [this, run](Status status) {
        run->status = std::move(status);
        run->ended = true;
        run->ended_at_ms = now_ms_;
      });
  run_due();
  return run;
}

void BindingScene::run_due() {
  while (!tasks_.empty() && tasks_.begin()->first <= now_ms_) {
    const auto task = std::move(tasks_.begin()->second);
    tasks_.erase(tasks_.begin());
    task();
  }
}

void BindingScene::run_until(const Run& run, int64_t at_least_ms, int64_t at_most_ms) {
  while (now_ms_ < at_most_ms && (!run.ended || now_ms_ < at_least_ms)) {
    int64_t next = run.ended ? at_least_ms : at_most_ms;
    if (!tasks_.empty()) next = std::min(next, tasks_.begin()->first);
    if (!events_.empty()) next = std::min(next, events_.begin()->first);
    now_ms_ = std::max(now_ms_, next);
    while (!events_.empty() && events_.begin()->first <= now_ms_) {
      const Json event = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      show(event);
      run_due();
    }
    run_due();
  }
}

}  // namespace plimsoll::conformance
