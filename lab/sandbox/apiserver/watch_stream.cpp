#include "lab/sandbox/apiserver/watch_stream.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::sandbox {
namespace {

constexpr std::size_t kEventsPerFill = 512;

}  // namespace

WatchStream::WatchStream(const ObjectStore& store, WatchPlan plan)
    : store_(store), plan_(std::move(plan)) {}

void WatchStream::append(std::string& out, const char* type, const std::string& object) const {
  out.append(R"({"type":")").append(type).append(R"(","object":)").append(object).append("}\n");
}

// A selector can turn a change into ADDED or DELETED (the cacher's watch filter).
bool WatchStream::append_event(std::string& out, const StoreEvent& event) const {
  const bool is = event.type != EventType::kDeleted && plan_.selection.matches(*event.object);
  const bool was = event.previous != nullptr && plan_.selection.matches(*event.previous);
  if (is) {
    append(out, was ? "MODIFIED" : "ADDED", plan_.endpoint.render(*event.object));
  } else if (was && event.type == EventType::kDeleted) {
    append(out, "DELETED", plan_.endpoint.render(*event.object));
  } else if (was) {
    append(out, "DELETED", plan_.endpoint.render(*event.previous, event.resource_version));
  } else {
    return false;
  }
  return true;
}

void WatchStream::append_bookmark(std::string& out, bool initial_events_end) const {
  nlohmann::json object = {
      {"kind", plan_.endpoint.kind.kind},
      {"apiVersion", plan_.endpoint.api_version},
      {"metadata",
       {{"resourceVersion", std::to_string(plan_.from)}, {"creationTimestamp", nullptr}}}};
  if (initial_events_end) {
    object["metadata"]["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  }
  append(out, "BOOKMARK", object.dump());
}

void WatchStream::bookmark(std::string& out) const {
  const bool initial_sent = next_initial_ == plan_.initial.size() && !plan_.initial_events_end;
  if (plan_.bookmarks && initial_sent) append_bookmark(out, false);
}

bool WatchStream::fill(std::string& out) {
  if (next_initial_ < plan_.initial.size()) {
    const std::size_t end = std::min(next_initial_ + kEventsPerFill, plan_.initial.size());
    for (; next_initial_ < end; ++next_initial_) {
      append(out, "ADDED", plan_.endpoint.render(*plan_.initial[next_initial_]));
    }
    return true;
  }
  plan_.initial.clear();
  next_initial_ = 0;
  if (std::exchange(plan_.initial_events_end, false)) {
    append_bookmark(out, true);
    return true;
  }
  // Events that the selector drops count as sent. A bookmark tells the client, if it wants any: so
  // it always knows how far it is.
  while (out.empty()) {
    const auto batch =
        store_.events_after(plan_.endpoint.kind.resource, plan_.from, kEventsPerFill);
    if (!batch) {
      if (batch.error().code == 410) append(out, "ERROR", to_status_json(batch.error()));
      return false;
    }
    bool selected = true;  // the last one
    for (const StoreEvent& event : batch->events) selected = append_event(out, event);
    plan_.from = batch->position;
    if (!batch->more) {
      if (!selected) bookmark(out);
      break;
    }
  }
  return true;
}

}  // namespace plimsoll::sandbox
