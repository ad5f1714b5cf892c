#include "plugins/topology/service/annotation_writer.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "plugins/topology/record/zones_annotation.hpp"

namespace plimsoll::topology {
namespace {

constexpr int64_t kPauseMs = 20;

}  // namespace

AnnotationWriter::AnnotationWriter(sdk::Host host, const Questions& ledger)
    : host_(std::move(host)),
      ledger_(ledger),
      corrected_(host_.counter("numa_annotations_corrected_total",
                               "Annotations of zones that a report showed to be wrong, by whether "
                               "the API server took the right ones",
                               {"result"})) {}

void AnnotationWriter::add(std::string uid) {
  uids_.push_back(std::move(uid));
  write_next();
}

void AnnotationWriter::write_next() {
  while (!busy_ && !uids_.empty()) {
    const std::string uid = std::move(uids_.front());
    uids_.pop_front();
    busy_ = write(uid);
  }
}

bool AnnotationWriter::write(const std::string& uid) {
  const sdk::Pod pod = host_.pod_by_uid(uid);
  const std::vector<Charge>* held = ledger_.charges_of(uid);
  if (!pod || held == nullptr) return false;
  const std::string zones = zones_annotation(PodRequest(*pod), *held);
  const plimsoll_str* known = sdk::Labels(pod->meta.annotations).find(kZonesAnnotation);
  if (zones.empty() || known == nullptr || sdk::view(*known) == zones) return false;
  // By the subresource status a scheduler may write annotations with the rights that it has anyway.
  const nlohmann::json body{
      {"metadata", {{"uid", uid}, {"annotations", {{std::string(kZonesAnnotation), zones}}}}}};
  const std::string path = "/api/v1/namespaces/" + std::string(sdk::view(pod->meta.ns)) + "/pods/" +
                           std::string(pod.name()) + "/status";
  const auto answered = [weak = weak_from_this(), host = host_](int status, std::string_view text) {
    host.run_on_loop(kPauseMs, [weak, host, status, text = std::string(text)] {
      const auto self = weak.lock();
      if (!self) return;
      const bool done = status == 200;
      if (!done && status != 404 && status != 409) {  // else the pod is gone
        host.debug("the zones of a pod's annotation are not corrected: " + text);
      }
      self->corrected_.add(1, done ? std::string_view("written") : std::string_view("failed"));
      self->busy_ = false;
      self->write_next();
    });
  };
  host_.api_request({"PATCH", path, "application/merge-patch+json", body.dump()}, answered);
  return true;
}

}  // namespace plimsoll::topology
