#include "node/exporter/object_writer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plimsoll::node {

using nlohmann::json;

namespace {
constexpr std::chrono::milliseconds kWriteTimeout{10'000};
}  // namespace

ObjectWriter::ObjectWriter(informer::HttpClient& client, informer::ResourceType type,
                           std::string node, std::string kind, milliseconds period,
                           milliseconds settle)
    : client_(client),
      type_(std::move(type)),
      node_(std::move(node)),
      kind_(std::move(kind)),
      period_(period),
      settle_(settle) {}

bool ObjectWriter::not_echoed(const PublishedObject& published) const {
  return published.version == replaced_ && Clock::now() < echo_until_;
}

ObjectWriter::Outcome ObjectWriter::write(const json& object, std::string content,
                                          const PublishedObject& published,
                                          const std::stop_token& stop) {
  // Nothing of ours has changed, so somebody else writes the object too.
  if (content == written_ && Clock::now() < restore_at_) {
    return {End::kHeldBack,
            "another program writes this node's " + kind_ + " too; run one of them only",
            std::max(milliseconds(1), std::chrono::ceil<milliseconds>(restore_at_ - Clock::now()))};
  }
  if (content == written_) restore_at_ = Clock::now() + restoring_.next(Clock::now(), settle_);
  informer::HttpRequest request;
  request.method = published.text.empty() ? "POST" : "PUT";
  request.path = type_.path() + (published.text.empty() ? "" : "/" + informer::url_encode(node_));
  request.body = object.dump();
  request.timeout = kWriteTimeout;
  const auto answer = informer::call(client_, std::move(request), stop);
  if (answer && answer->status == 409) {
    return {End::kConflict, "", unwritten_.next(Clock::now(), period_)};
  }
  if (!answer || !answer->ok()) {
    const std::string what = "writing this node's " + kind_;
    const Error error =
        answer ? informer::response_error(what, *answer) : answer.error().within(what);
    return {End::kFailed, error.message, unwritten_.next(Clock::now(), period_)};
  }
  written_ = std::move(content);
  unwritten_.reset();
  replaced_ = published.version;
  echo_until_ = Clock::now() + kEcho;
  return {End::kDone, "", period_};
}

void set_owner(json& object, const std::string& node, const std::string& node_uid) {
  json& metadata = object["metadata"];
  json owners = json::array();
  if (metadata.contains("ownerReferences") && metadata["ownerReferences"].is_array()) {
    for (json& owner : metadata["ownerReferences"]) {
      if (!owner.is_object() || owner.value("kind", "") != "Node") owners.push_back(owner);
    }
  }
  owners.push_back({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", node_uid}});
  metadata["ownerReferences"] = std::move(owners);
}

}  // namespace plimsoll::node
