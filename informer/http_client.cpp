#include "informer/http_client.hpp"

#include <curl/curl.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "framework/base/log.hpp"

#ifndef PLIMSOLL_VERSION
#define PLIMSOLL_VERSION "dev"
#endif

namespace plimsoll::informer {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The I/O handler's firewall: what a callback throws ends here.
template <typename Function>
void guarded(const char* what, const Function& function) {
  try {
    function();
  } catch (const std::exception& error) {
    log_error("an I/O callback threw", {{"callback", what}, {"error", error.what()}});
  } catch (...) {
    log_error("an I/O callback threw", {{"callback", what}, {"error", "not a std::exception"}});
  }
}

bool same_header(std::string_view name, std::string_view wanted) {
  return name.size() == wanted.size() &&
         std::equal(name.begin(), name.end(), wanted.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
         });
}

// "https://host:port/prefix" in its parts.
struct ServerUrl {
  std::string scheme, host, port, prefix;
};

ServerUrl split_url(const std::string& url) {
  ServerUrl parts;
  const std::size_t after_scheme = url.find("://") + 3;
  parts.scheme = url.substr(0, after_scheme - 3);
  const std::size_t slash = url.find('/', after_scheme);
  std::string authority = url.substr(after_scheme, slash - after_scheme);
  if (slash != std::string::npos) parts.prefix = url.substr(slash);
  const std::size_t colon = authority.rfind(':');
  const std::size_t bracket = authority.rfind(']');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    parts.port = authority.substr(colon + 1);
    authority.resize(colon);
  } else {
    parts.port = parts.scheme == "https" ? "443" : "80";
  }
  parts.host = authority;
  return parts;
}

}  // namespace

// One request on its way. Lives on the I/O thread.
struct Transfer {
  HttpClient::RequestId id = 0;
  HttpRequest request;
  HttpHandlers handlers;
  HttpResponse response;
  CredentialRef credential;
  CURL* easy = nullptr;  // null while it waits for a credential
  curl_slist* headers = nullptr;
  curl_slist* connect_to = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  Clock::time_point last_activity;
  HttpClient::TimerId idle_timer = 0;
  std::size_t max_body = 0;
  bool retried = false;
  bool too_large = false;
};

namespace {

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  transfer.last_activity = Clock::now();
  if (line.starts_with("HTTP/")) {
    transfer.response = HttpResponse{};
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), transfer.response.status);
    }
    return size * count;
  }
  if (line == "\r\n" && transfer.response.ok() && transfer.handlers.on_open) {
    guarded("on_open", transfer.handlers.on_open);
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size * count;
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  while (!value.empty() && (value.back() == '\r' || value.back() == '\n')) value.remove_suffix(1);
  if (same_header(name, "retry-after")) {
    long seconds = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (parsed.ec == std::errc() && seconds >= 0 && seconds <= 3600) {
      transfer.response.retry_after = std::chrono::seconds(seconds);
    }
  } else if (same_header(name, "content-type")) {
    transfer.response.content_type = value;
  }
  return size * count;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view chunk(data, size * count);
  transfer.last_activity = Clock::now();
  if (transfer.handlers.on_data && transfer.response.ok()) {
    guarded("on_data", [&] { transfer.handlers.on_data(chunk); });
    return chunk.size();
  }
  if (transfer.response.body.size() + chunk.size() > transfer.max_body) {
    transfer.too_large = true;
    return 0;
  }
  transfer.response.body.append(chunk);
  return chunk.size();
}

}  // namespace

struct HttpClient::Impl {
  ServerAccess access;
  ServerUrl url;
  std::shared_ptr<CredentialSource> credentials;
  HttpClientOptions options;
  std::string user_agent = "plimsoll/" PLIMSOLL_VERSION;
  CURLM* multi = nullptr;

  std::mutex mutex;  // guards posted and closed
  std::vector<std::function<void()>> posted;
  bool closed = false;
  std::atomic<std::uint64_t> next_id{1};
  std::atomic<bool> stopping{false};
  std::thread thread;
  std::thread::id thread_id;

  // Everything below is touched by the I/O thread only.
  std::unordered_map<RequestId, std::unique_ptr<Transfer>> transfers;
  std::vector<CURL*> idle_handles;
  std::multimap<Clock::time_point, std::pair<TimerId, std::function<void()>>> timers;
  std::vector<RequestId> waiting;  // for a credential
  std::jthread refresher;
  bool refreshing = false;

  // Puts `function` into the queue; false, with `function` untouched, if the thread has ended.
  bool enqueue(std::function<void()>& function) {
    {
      const std::lock_guard lock(mutex);
      if (closed) return false;
      posted.push_back(std::move(function));
    }
    if (std::this_thread::get_id() != thread_id) curl_multi_wakeup(multi);
    return true;
  }

  // ---- the thread
  // -------------------------------------------------------------------------------------

  void loop() {
    pthread_setname_np(pthread_self(), options.thread_name.substr(0, 15).c_str());
    while (!stopping.load()) {
      run_posted();
      run_timers();
      int running = 0;
      curl_multi_perform(multi, &running);
      reap();
      curl_multi_poll(multi, nullptr, 0, poll_time(), nullptr);
    }
    shut_down();
  }

  bool run_posted() {
    std::vector<std::function<void()>> batch;
    {
      const std::lock_guard lock(mutex);
      batch.swap(posted);
    }
    for (auto& function : batch) guarded("posted", function);
    return !batch.empty();
  }

  void run_timers() {
    const auto now = Clock::now();
    while (!timers.empty() && timers.begin()->first <= now) {
      auto timer = timers.extract(timers.begin());
      guarded("timer", timer.mapped().second);
    }
  }

  int poll_time() {
    {
      const std::lock_guard lock(mutex);
      if (!posted.empty()) return 0;
    }
    if (timers.empty()) return 60'000;
    const auto left = std::chrono::ceil<milliseconds>(timers.begin()->first - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
  }

  void reap() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      void* user = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
      finish(*static_cast<Transfer*>(user), message->data.result);
    }
  }

  // Cancels what is there until nothing new comes, then closes the door.
  void shut_down() {
    if (refresher.joinable()) {
      refresher.request_stop();
      refresher.join();
    }
    while (true) {
      while (!transfers.empty()) {
        complete(*transfers.begin()->second, fail(ErrorCode::kCancelled, "the client was stopped"));
      }
      if (run_posted()) continue;
      const std::lock_guard lock(mutex);
      if (posted.empty()) {
        closed = true;
        break;
      }
    }
    timers.clear();
    for (CURL* easy : idle_handles) curl_easy_cleanup(easy);
    idle_handles.clear();
  }

  // ---- requests
  // ---------------------------------------------------------------------------------------

  void start(Transfer& transfer) {
    transfer.credential = credentials->current();
    if (transfer.credential == nullptr) {
      waiting.push_back(transfer.id);
      fetch_credential();
      return;
    }
    if (idle_handles.empty()) {
      transfer.easy = curl_easy_init();
    } else {
      transfer.easy = idle_handles.back();
      idle_handles.pop_back();
    }
    if (transfer.easy == nullptr) {
      complete(transfer, fail(ErrorCode::kInternal, "libcurl is out of memory"));
      return;
    }
    set_up(transfer);
    curl_multi_add_handle(multi, transfer.easy);
    watch_idle(transfer);
  }

  void set_up(Transfer& transfer) {
    CURL* easy = transfer.easy;
    const HttpRequest& request = transfer.request;
    transfer.max_body = options.max_body;
    transfer.last_activity = Clock::now();
    const bool renamed = !access.tls_server_name.empty() && url.scheme == "https";
    const std::string host = renamed ? access.tls_server_name : url.host;
    const std::string target =
        url.scheme + "://" + host + ":" + url.port + url.prefix + request.path;
    curl_easy_setopt(easy, CURLOPT_URL, target.c_str());
    if (renamed) {  // verify that name, but connect to the real place
      const std::string route = host + ":" + url.port + ":" + url.host + ":" + url.port;
      transfer.connect_to = curl_slist_append(nullptr, route.c_str());
      curl_easy_setopt(easy, CURLOPT_CONNECT_TO, transfer.connect_to);
    }
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error_text.data());
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent.c_str());
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(options.connect_timeout.count()));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
    set_method(transfer);
    set_headers(transfer);
    set_tls(transfer);
    if (!access.proxy_url.empty()) {
      curl_easy_setopt(easy, CURLOPT_PROXY, access.proxy_url.c_str());
    }
  }

  static void set_method(Transfer& transfer) {
    CURL* easy = transfer.easy;
    const HttpRequest& request = transfer.request;
    if (request.method == "GET") {
      curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
      return;
    }
    if (request.method == "POST" || !request.body.empty()) {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
    }
    if (request.method != "POST") {
      curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
  }

  void set_headers(Transfer& transfer) const {
    const HttpRequest& request = transfer.request;
    const Credential& credential = *transfer.credential;
    curl_slist* list = curl_slist_append(nullptr, ("Accept: " + request.accept).c_str());
    const auto add = [&list](const std::string& line) {
      list = curl_slist_append(list, line.c_str());
    };
    add("Expect:");
    if (request.method == "POST" || !request.body.empty()) {
      add("Content-Type: " + request.content_type);
    }
    if (!credential.bearer_token.empty()) {
      add("Authorization: Bearer " + credential.bearer_token);
    }
    if (transfer.connect_to != nullptr) add("Host: " + url.host + ":" + url.port);
    for (const std::string& header : access.impersonation_headers) add(header);
    transfer.headers = list;
    curl_easy_setopt(transfer.easy, CURLOPT_HTTPHEADER, list);
    if (!credential.username.empty()) {
      curl_easy_setopt(transfer.easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
      curl_easy_setopt(transfer.easy, CURLOPT_USERNAME, credential.username.c_str());
      curl_easy_setopt(transfer.easy, CURLOPT_PASSWORD, credential.password.c_str());
    }
  }

  void set_tls(Transfer& transfer) const {
    CURL* easy = transfer.easy;
    if (url.scheme != "https") {
      curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
      return;
    }
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, access.insecure_skip_tls_verify ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, access.insecure_skip_tls_verify ? 0L : 2L);
    const auto set_blob = [easy](CURLoption option, const std::string& text) {
      curl_blob blob{};
      blob.data = const_cast<char*>(text.data());  // copied by libcurl
      blob.len = text.size();
      blob.flags = CURL_BLOB_COPY;
      curl_easy_setopt(easy, option, &blob);
    };
    if (!access.certificate_authority_pem.empty()) {  // and nobody else: not the system's roots
      curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
      curl_easy_setopt(easy, CURLOPT_CAINFO, nullptr);
      set_blob(CURLOPT_CAINFO_BLOB, access.certificate_authority_pem);
    }
    if (!transfer.credential->client_certificate_pem.empty()) {
      set_blob(CURLOPT_SSLCERT_BLOB, transfer.credential->client_certificate_pem);
      set_blob(CURLOPT_SSLKEY_BLOB, transfer.credential->client_key_pem);
    }
  }

  void watch_idle(Transfer& transfer) {
    if (transfer.request.idle_timeout.count() == 0) return;
    arm_idle(transfer, transfer.request.idle_timeout);
  }

  void arm_idle(Transfer& transfer, milliseconds delay) {
    transfer.idle_timer = add_timer(delay, [this, id = transfer.id] {
      const auto found = transfers.find(id);
      if (found == transfers.end()) return;
      Transfer& idle = *found->second;
      const auto limit = idle.request.idle_timeout;
      const auto quiet =
          std::chrono::duration_cast<milliseconds>(Clock::now() - idle.last_activity);
      idle.idle_timer = 0;
      if (quiet < limit) {
        arm_idle(idle, limit - quiet);
        return;
      }
      complete(idle, fail(ErrorCode::kUnavailable, "the API server at " + access.server +
                                                       " sent nothing for " +
                                                       std::to_string(limit.count()) + " ms"));
    });
  }

  // Takes the transfer off libcurl; its handle waits for the next request.
  void detach(Transfer& transfer) {
    if (transfer.easy != nullptr) {
      curl_multi_remove_handle(multi, transfer.easy);
      curl_easy_reset(transfer.easy);
      if (idle_handles.size() < 64) {
        idle_handles.push_back(transfer.easy);
      } else {
        curl_easy_cleanup(transfer.easy);
      }
      transfer.easy = nullptr;
    }
    curl_slist_free_all(transfer.headers);
    curl_slist_free_all(transfer.connect_to);
    transfer.headers = transfer.connect_to = nullptr;
    if (transfer.idle_timer != 0) drop_timer(transfer.idle_timer);
    transfer.idle_timer = 0;
  }

  void finish(Transfer& transfer, CURLcode code) {
    if (code == CURLE_OK && transfer.response.status == 401 && !transfer.retried &&
        credentials->reject(transfer.credential->generation)) {
      transfer.retried = true;
      detach(transfer);
      transfer.response = HttpResponse{};
      start(transfer);
      return;
    }
    if (code == CURLE_OK) {
      complete(transfer, std::move(transfer.response));
    } else {
      complete(transfer, fail(transport_error(transfer, code)));
    }
  }

  // The end of a transfer: it is gone before its callback runs.
  void complete(Transfer& transfer, Result<HttpResponse> result) {
    detach(transfer);
    auto node = transfers.extract(transfer.id);
    const auto& on_done = node.mapped()->handlers.on_done;
    if (on_done) guarded("on_done", [&] { on_done(std::move(result)); });
  }

  [[nodiscard]] Error transport_error(const Transfer& transfer, CURLcode code) const {
    const std::string detail =
        transfer.error_text[0] != 0 ? transfer.error_text.data() : curl_easy_strerror(code);
    const std::string at = "the API server at " + access.server;
    if (transfer.too_large) {
      return Error{ErrorCode::kInvalid, at + " sent an answer of more than " +
                                            std::to_string(options.max_body) + " bytes to " +
                                            transfer.request.method + " " + transfer.request.path};
    }
    switch (code) {
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
      case CURLE_SSL_ISSUER_ERROR:
        return Error{ErrorCode::kUnauthorized,
                     "the certificate of " + at + " is not trusted: " + detail +
                         "; check certificate-authority and tls-server-name (" + access.source +
                         ")"};
      case CURLE_SSL_CERTPROBLEM:
        return Error{ErrorCode::kUnauthorized, "the client certificate or key cannot be used: " +
                                                   detail + " (" + access.source + ")"};
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_CONNECT:
      case CURLE_SSL_CONNECT_ERROR:
        return Error{ErrorCode::kUnavailable,
                     "cannot reach " + at + ": " + detail +
                         "; check that it runs and that 'server' is right (" + access.source + ")"};
      case CURLE_OPERATION_TIMEDOUT:
        return Error{ErrorCode::kUnavailable, at + " did not answer in time: " + detail};
      default:
        return Error{ErrorCode::kUnavailable, "the exchange with " + at + " failed: " + detail};
    }
  }

  // ---- credentials
  // ------------------------------------------------------------------------------------

  // Fetches a credential on a thread of its own, since that may take a while; then starts those who
  // wait.
  void fetch_credential() {
    if (refreshing) return;
    refreshing = true;
    refresher = std::jthread([this](std::stop_token stop) {
      auto fetched = std::make_shared<Result<CredentialRef>>(
          fail(ErrorCode::kInternal, "fetching the credential threw an exception"));
      guarded("credential", [&] { *fetched = credentials->refresh(stop); });
      std::function<void()> resume = [this, fetched] {
        refreshing = false;
        std::vector<RequestId> ready;
        ready.swap(waiting);
        for (const RequestId id : ready) {
          const auto found = transfers.find(id);
          if (found == transfers.end()) continue;
          if (*fetched) {
            start(*found->second);
          } else {
            complete(*found->second, fail(fetched->error()));
          }
        }
      };
      enqueue(resume);
    });
  }

  // ---- timers
  // -----------------------------------------------------------------------------------------

  TimerId add_timer(milliseconds delay, std::function<void()> function) {
    const TimerId id = next_id.fetch_add(1);
    timers.emplace(Clock::now() + delay, std::make_pair(id, std::move(function)));
    return id;
  }

  void drop_timer(TimerId id) {
    const auto found = std::find_if(timers.begin(), timers.end(),
                                    [id](const auto& timer) { return timer.second.first == id; });
    if (found != timers.end()) timers.erase(found);
  }
};

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpClient::~HttpClient() {
  stop();
  if (impl_->multi != nullptr) curl_multi_cleanup(impl_->multi);
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
  impl->multi = ready == CURLE_OK ? curl_multi_init() : nullptr;
  if (impl->multi == nullptr) return fail(ErrorCode::kInternal, "libcurl cannot be initialised");
  curl_multi_setopt(impl->multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  curl_multi_setopt(impl->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 200L);
  curl_multi_setopt(impl->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                    static_cast<long>(options.max_connections));
  std::unique_ptr<HttpClient> client(new HttpClient(std::move(impl)));
  Impl* raw = client->impl_.get();
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
  (*transfer)->request = std::move(request);
  (*transfer)->handlers = std::move(handlers);
  std::function<void()> begin = [impl = impl_.get(), transfer] {
    Transfer& added = **transfer;
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

HttpClient::TimerId HttpClient::after(milliseconds delay, std::function<void()> function) {
  const TimerId id = impl_->next_id.fetch_add(1);
  const auto due = Clock::now() + delay;
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
  curl_multi_wakeup(impl_->multi);
  impl_->thread.join();
}

const ServerAccess& HttpClient::access() const {
  return impl_->access;
}

}  // namespace plimsoll::informer
