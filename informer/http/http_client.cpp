#include "informer/http/http_client.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <utility>

#include "informer/http/http_client_impl.hpp"

namespace plimsoll::informer {
namespace {

constexpr long kKeptConnections = 512;  // libcurl's own limit follows the requests in flight

}  // namespace

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpClient::~HttpClient() {
  stop();
  impl_->links.reset();
  if (impl_->multi != nullptr) curl_multi_cleanup(impl_->multi);
  if (impl_->waker >= 0) ::close(impl_->waker);
}

Result<std::unique_ptr<HttpClient>> HttpClient::create(
    const ServerAccess& access, std::shared_ptr<CredentialSource> credentials,
    const HttpClientOptions& options) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto impl = std::make_unique<Impl>();
  impl->access = access;
  if (access.server.find("://") == std::string::npos) {
    return fail(ErrorCode::kInvalid, "'" + access.server + "' is not the URL of an API server");
  }
  impl->url = split_url(access.server);
  impl->credentials = std::move(credentials);
  impl->options = options;
  impl->setup = std::make_unique<TransferSetup>(impl->access, impl->url, impl->options);
  impl->multi = ready == CURLE_OK ? curl_multi_init() : nullptr;
  if (impl->multi == nullptr) return fail(ErrorCode::kInternal, "libcurl cannot be initialised");
  curl_multi_setopt(impl->multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  curl_multi_setopt(impl->multi, CURLMOPT_MAX_CONCURRENT_STREAMS,
                    static_cast<long>(std::max<std::size_t>(1, options.max_streams)));
  curl_multi_setopt(impl->multi, CURLMOPT_MAXCONNECTS, kKeptConnections);
  curl_multi_setopt(impl->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                    static_cast<long>(options.max_connections));
  impl->waker = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::unique_ptr<HttpClient> client(new HttpClient(std::move(impl)));
  Impl* raw = client->impl_.get();
  if (raw->waker < 0) return fail(ErrorCode::kInternal, "there is no file descriptor left");
  raw->links = std::make_unique<Http2Links>(
      *raw->setup, raw->multi,
      [raw](const CredentialRef& credential) { return raw->take_handle(credential); });
  std::promise<void> started;
  raw->thread = std::thread([raw, &started] {
    raw->thread_id = std::this_thread::get_id();
    started.set_value();
    raw->loop();
  });
  started.get_future().wait();
  return client;
}

HttpClient::RequestId HttpClient::submit(HttpRequest request, HttpHandlers handlers) {
  auto transfer = std::make_shared<std::unique_ptr<Transfer>>(std::make_unique<Transfer>());
  const RequestId id = impl_->next_id.fetch_add(1);
  (*transfer)->id = id;
  if (request.timeout.count() > 0) (*transfer)->deadline = BootClock::now() + request.timeout;
  (*transfer)->request = std::move(request);
  (*transfer)->handlers = std::move(handlers);
  std::function<void()> begin = [impl = impl_.get(), transfer] {
    Transfer& added = **transfer;
    added.started = Impl::Clock::now();
    impl->transfers.emplace(added.id, std::move(*transfer));
    if (impl->stopping.load()) return;  // cancelled with the others
    impl->start(added);
  };
  if (!impl_->enqueue(begin)) {
    const auto& on_done = (*transfer)->handlers.on_done;
    if (on_done) on_done(fail(ErrorCode::kCancelled, "the client is stopped"));
  }
  return id;
}

void HttpClient::cancel(RequestId id) {
  post([impl = impl_.get(), id] {
    const auto found = impl->transfers.find(id);
    if (found == impl->transfers.end()) return;
    impl->complete(*found->second, fail(ErrorCode::kCancelled, "the request was cancelled"));
  });
}

bool HttpClient::post(std::function<void()> function) {
  return impl_->enqueue(function);
}

void HttpClient::run(const std::function<void()>& function) {
  if (std::this_thread::get_id() == impl_->thread_id) {
    function();
    return;
  }
  std::promise<void> done;
  if (!post([&] {
        guarded("run", function);
        done.set_value();
      })) {
    function();
    return;
  }
  done.get_future().wait();
}

HttpClient::TimerId HttpClient::after(std::chrono::milliseconds delay,
                                      std::function<void()> function) {
  const TimerId id = impl_->next_id.fetch_add(1);
  const auto due = Impl::Clock::now() + delay;
  if (std::this_thread::get_id() == impl_->thread_id) {
    impl_->timers.emplace(due, std::make_pair(id, std::move(function)));
  } else {
    post([impl = impl_.get(), id, due, function = std::move(function)] {
      impl->timers.emplace(due, std::make_pair(id, function));
    });
  }
  return id;
}

void HttpClient::cancel_timer(TimerId id) {
  impl_->drop_timer(id);
}

void HttpClient::stop() {
  if (!impl_->thread.joinable()) return;
  impl_->stopping.store(true);
  impl_->wake();
  impl_->thread.join();
}

const ServerAccess& HttpClient::access() const {
  return impl_->access;
}

Result<HttpResponse> call(HttpClient& client, HttpRequest request, const std::stop_token& stop) {
  std::promise<Result<HttpResponse>> answer;
  HttpHandlers handlers;
  handlers.on_done = [&answer](Result<HttpResponse> result) {
    answer.set_value(std::move(result));
  };
  const auto id = client.submit(std::move(request), std::move(handlers));
  const std::stop_callback give_up(stop, [&client, id] { client.cancel(id); });
  return answer.get_future().get();
}

}  // namespace plimsoll::informer
