// A reflector's lists.

#include "informer/watch/reflector_impl.hpp"

namespace plimsoll::informer {

bool too_large_resource_version(const HttpResponse& response) {
  return response.status == 504 &&
         response.body.find("Too large resource version") != std::string::npos;
}

HttpRequest Reflector::Impl::request_for(std::string query) const {
  if (!options.field_selector.empty()) {
    query +=
        (query.empty() ? "fieldSelector=" : "&fieldSelector=") + url_encode(options.field_selector);
  }
  HttpRequest get;
  get.path = options.resource.path() + (query.empty() ? "" : "?" + query);
  if (options.protobuf) get.accept = kAcceptProtobuf;
  get.timeout = milliseconds(0);
  return get;
}

void Reflector::Impl::begin_list() {
  enter(ReflectorState::kListing, "");
  stats.lists.fetch_add(1, std::memory_order_relaxed);
  known.begin_list();
  continue_token.clear();
  list_page();
}

void Reflector::Impl::list_page() {
  std::string query = "limit=" + std::to_string(options.page_size);
  if (!continue_token.empty()) {
    query += "&continue=" + url_encode(continue_token);
  } else if (!list_version.empty()) {
    query = "resourceVersion=" + url_encode(list_version) + "&resourceVersionMatch=NotOlderThan";
  } else if (!paging) {
    query.clear();
  }
  list.reset();
  protobuf_list.reset();
  encoding.reset();
  broken.reset();
  HttpRequest get = request_for(std::move(query));
  get.idle_timeout = options.list_idle_timeout;
  HttpHandlers handlers;
  handlers.on_data = during_attempt([this](std::string_view chunk) {
    if (broken) return;
    const auto on_item = [this](std::string_view item) { listed(item); };
    const auto fed = encoding_of(chunk) == Encoding::kJson ? list.feed(chunk, on_item)
                                                           : protobuf_list.feed(chunk, on_item);
    if (!fed) {
      broken = fed.error();
      client.cancel(request);
    }
  });
  handlers.on_done =
      during_attempt([this](Result<HttpResponse> result) { page_done(std::move(result)); });
  request = client.submit(std::move(get), std::move(handlers));
}

Encoding Reflector::Impl::encoding_of(std::string_view chunk) {
  if (!encoding && !chunk.empty()) {
    encoding = options.protobuf && (chunk.front() == 'k' || chunk.front() == '\0')
                   ? Encoding::kProtobuf
                   : Encoding::kJson;
  }
  return encoding.value_or(Encoding::kJson);
}

void Reflector::Impl::listed(std::string_view item) {
  const auto key =
      encoding == Encoding::kProtobuf ? read_protobuf_object(item) : reader.read_object(item);
  if (!key) return malformed(key.error());
  upsert(item, *key);
}

void Reflector::Impl::page_done(Result<HttpResponse> result) {
  request = 0;
  const std::string what = "listing " + kind;
  if (broken) return retry(broken->within(what), std::nullopt, false);
  if (!result) return retry(result.error().within(what));
  if (!result->ok()) return list_refused(*result);
  answered();
  auto meta = encoding == Encoding::kProtobuf ? protobuf_list.finish() : list.finish();
  if (!meta) return retry(meta.error().within(what), std::nullopt, false);
  if (!meta->continue_token.empty()) {
    continue_token = std::move(meta->continue_token);
    list_page();
    return;
  }
  resource_version = std::move(meta->resource_version);
  list_version = resource_version;
  paging = true;
  list_complete();
  show_position();
  begin_watch();
}

void Reflector::Impl::list_refused(const HttpResponse& response) {
  const Error error = response_error("listing " + kind, response);
  if (response.status == 410 || too_large_resource_version(response)) {
    if (!continue_token.empty()) paging = false;  // too slow for pages: list in one request
    const bool repeated = list_version.empty();
    list_version.clear();
    if (!repeated) return begin_list();
    return retry(error);
  }
  if (response.status == 404) return missing(error);
  retry(error, retry_after(response));
}

void Reflector::Impl::list_complete() {
  drop_vanished();
  list_end = Clock::now();
  not_opened = false;
  if (!synced) {
    synced = true;
    followed = true;
    sink.on_synced();
    watch_closed();  // the watch is not open yet
  }
  tell_relisted();
}

// Deletes the objects that the finished list did not contain.
void Reflector::Impl::drop_vanished() {
  known.end_list([this](const ObjectKey& gone) { deliver_deletion(gone); });
}

void Reflector::Impl::tell_relisted() {
  for (const auto& done : std::exchange(relisted, {})) done();
}

}  // namespace plimsoll::informer
