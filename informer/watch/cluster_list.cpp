#include "informer/watch/cluster_list.hpp"

#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "informer/wire/wire.hpp"

namespace plimsoll::informer {
namespace {

constexpr int kPageSize = 500;
constexpr int kMaxExpired = 3;  // expired continue tokens before a list is given up

using OnItem = std::function<void(std::string_view json)>;

struct Page {
  int status = 0;
  std::string continue_token;
};

// State that a request's handlers share with the thread that waits for it.
struct Exchange {
  ListFramer framer;
  OnItem on_item;
  Result<void> framed;
  std::promise<Result<HttpResponse>> done;
};

Result<Page> read_page(HttpClient& client, const std::string& path, const std::string& what,
                       const OnItem& on_item, const std::stop_token& stop) {
  const auto exchange = std::make_shared<Exchange>();
  exchange->on_item = on_item;
  HttpRequest request;
  request.path = path;
  request.timeout = std::chrono::minutes(2);
  request.idle_timeout = std::chrono::seconds(30);
  HttpHandlers handlers;
  handlers.on_data = [exchange](std::string_view chunk) {
    if (exchange->framed) exchange->framed = exchange->framer.feed(chunk, exchange->on_item);
  };
  handlers.on_done = [exchange](Result<HttpResponse> response) {
    exchange->done.set_value(std::move(response));
  };
  auto answer = exchange->done.get_future();
  const HttpClient::RequestId id = client.submit(std::move(request), std::move(handlers));
  const std::stop_callback cancel(stop, [&client, id] { client.cancel(id); });
  const Result<HttpResponse> response = answer.get();
  if (!response) return fail(response.error().within(what));
  if (response->status == 404 || response->status == 410) return Page{response->status, {}};
  if (!response->ok()) return fail(response_error(what, *response));
  if (!exchange->framed) return fail(exchange->framed.error().within(what));
  const auto meta = exchange->framer.finish();
  if (!meta) return fail(meta.error().within(what));
  return Page{response->status, meta->continue_token};
}

// Calls `start_over` before the first page, and again if the list expires half-way.
Result<void> read_list(HttpClient& client, const ResourceType& resource,
                       std::string_view field_selector, const std::function<void()>& start_over,
                       const OnItem& on_item, const std::stop_token& stop) {
  const std::string what = "listing " + resource.text();
  std::string first = resource.path() + "?limit=" + std::to_string(kPageSize);
  if (!field_selector.empty()) first += "&fieldSelector=" + url_encode(field_selector);
  std::string next;
  start_over();
  for (int expired = 0;;) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, what + ": stopping");
    const auto page =
        read_page(client, next.empty() ? first : first + "&continue=" + url_encode(next), what,
                  on_item, stop);
    if (!page) return fail(page.error());
    if (page->status == 410 && ++expired <= kMaxExpired) {
      next.clear();
      start_over();
      continue;
    }
    if (page->status == 410) {
      return fail(ErrorCode::kGone, what + ": it expires faster than it can be read");
    }
    if (page->continue_token.empty()) return {};  // also if the kind is not served
    next = page->continue_token;
  }
}

ApiListing::Object object_of(const ObjectKey& key) {
  return {std::string(key.ns), std::string(key.name), std::string(key.uid),
          std::string(key.resource_version)};
}

class ClusterReading {
 public:
  ClusterReading(HttpClient& client, SymbolTable& symbols, const std::stop_token& stop)
      : client_(client), symbols_(symbols), stop_(stop) {}

  Result<void> nodes() {
    return read_list(
        client_, {"", "v1", "nodes"}, "", [this] { listing_.nodes.clear(); },
        [this](std::string_view json) {
          const auto key = reader_.read_object(json);
          if (!key) return;
          listing_.nodes.push_back(object_of(*key));
          if (!decode_node(json, symbols_)) listing_.unreadable.emplace(key->uid);
        },
        stop_);
  }

  Result<void> pods() {
    return read_list(
        client_, {"", "v1", "pods"}, kUnfinishedPods, [this] { listing_.pods.clear(); },
        [this](std::string_view json) {
          const auto key = reader_.read_object(json);
          if (!key) return;
          ApiListing::Pod& pod = listing_.pods.emplace_back();
          static_cast<ApiListing::Object&>(pod) = object_of(*key);
          const auto decoded = decode_pod(json, symbols_);
          if (!decoded) {
            listing_.unreadable.insert(pod.uid);
            return;
          }
          pod.node = view((*decoded)->node_name);
          pod.scheduler_name = view((*decoded)->scheduler_name);
          pod.terminating = (*decoded)->meta.deletion_ms != 0;
        },
        stop_);
  }

  Result<void> kind(const ResourceType& resource) {
    auto& names = listing_.kinds[resource.text()];
    return read_list(
        client_, resource, "", [&names] { names.clear(); },
        [this, &names](std::string_view json) {
          const auto key = reader_.read_object(json);
          if (key) names.push_back(std::string(key->ns) + "/" + std::string(key->name));
        },
        stop_);
  }

  ApiListing take() { return std::move(listing_); }

 private:
  HttpClient& client_;
  SymbolTable& symbols_;
  const std::stop_token& stop_;
  ObjectReader reader_;
  ApiListing listing_;
};

}  // namespace

Result<ApiListing> list_cluster(HttpClient& client, SymbolTable& symbols,
                                const std::vector<ResourceType>& kinds,
                                const std::stop_token& stop) {
  ClusterReading reading(client, symbols, stop);
  if (auto read = reading.nodes(); !read) return fail(read.error());
  if (auto read = reading.pods(); !read) return fail(read.error());
  for (const ResourceType& resource : kinds) {
    if (auto read = reading.kind(resource); !read) return fail(read.error());
  }
  return reading.take();
}

}  // namespace plimsoll::informer
