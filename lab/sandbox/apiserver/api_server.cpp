#include "lab/sandbox/apiserver/api_server.hpp"

#include <utility>

#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <set>
#include <thread>

#include "framework/base/log.hpp"
#include "lab/sandbox/apiserver/traffic.hpp"
#include "lab/sandbox/apiserver/watch_stream.hpp"

namespace plimsoll::sandbox {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = net::ip::tcp;
using boost::system::error_code;

constexpr std::uint64_t kMaxBody = 64ULL << 20;

class Session;

// State that all sessions of a server share.
struct Shared {
  Shared(ObjectStore& store_, const ServerOptions& options_)
      : store(store_), options(options_), handler(store_, options_.handler) {}
  ObjectStore& store;
  ServerOptions options;
  ApiHandler handler;
  Traffic traffic;
  std::atomic<std::size_t> watches{0};
  std::mutex mutex;
  std::set<Session*> sessions;
};

// One connection. It reads requests one after the other; each is answered or becomes a watch. All
// handlers run on the socket's strand.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Shared& shared)
      : socket_(std::move(socket)),
        shared_(shared),
        delay_(socket_.get_executor()),
        bookmark_timer_(socket_.get_executor()),
        deadline_(socket_.get_executor()) {
    const std::lock_guard lock(shared_.mutex);
    shared_.sessions.insert(this);
  }

  ~Session() {
    subscription_.reset();
    leave_watch();
    const std::lock_guard lock(shared_.mutex);
    shared_.sessions.erase(this);
  }

  void run() {
    net::dispatch(socket_.get_executor(), [self = shared_from_this()] { self->read_request(); });
  }

  // From any thread.
  void shut() {
    net::post(socket_.get_executor(), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->close();
    });
  }

 private:
  void read_request() {
    parser_.emplace();
    parser_->body_limit(kMaxBody);
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (error) return self->close();
                       self->on_request();
                     });
  }

  void on_request() {
    auto& message = parser_->get();
    request_ = {std::string(message.method_string()), std::string(message.target()),
                std::string(message[http::field::content_type]), std::move(message.body())};
    keep_alive_ = message.keep_alive();
    route_ = parse_route(request_.method, request_.target);
    const auto& token = shared_.options.bearer_token;
    if (!token.empty() && message[http::field::authorization] != "Bearer " + token) {
      return respond(ApiHandler::failure({401, "Unauthorized", "Unauthorized"}));
    }
    auto fault = shared_.traffic.take_fault(route_);
    if (!fault) return process();
    switch (fault->kind) {
      case Fault::Kind::kDropBefore:
        record(0);
        return close();
      case Fault::Kind::kDropAfter:
        (void)shared_.handler.handle(route_, request_);
        record(0);
        return close();
      case Fault::Kind::kError:
        return respond(ApiHandler::failure(fault->status));
      case Fault::Kind::kDelay:
        break;
    }
    delay_.expires_after(fault->delay);
    delay_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->process();
    });
  }

  void process() {
    try {
      auto answer = shared_.handler.handle(route_, request_);
      if (auto* plan = std::get_if<WatchPlan>(&answer)) return start_watch(std::move(*plan));
      for (const auto& removal : shared_.handler.take_pending_removals()) schedule(removal);
      respond(std::move(std::get<ApiResponse>(answer)));
    } catch (const std::exception& error) {
      // An object of an unexpected shape: the client gets an error, nothing was stored.
      respond(ApiHandler::failure(
          {400, "BadRequest", std::string("malformed object: ") + error.what()}));
    }
  }

  // A graceful deletion that no kubelet completes is completed after its grace period.
  void schedule(const ApiHandler::PendingRemoval& removal) {
    auto timer = std::make_shared<net::steady_timer>(socket_.get_executor(), removal.grace);
    timer->async_wait([timer, removal, &store = shared_.store](error_code error) {
      if (!error) (void)store.remove(kPods, removal.pod, {removal.uid, ""});
    });
  }

  void record(int code) {
    RequestRecord record{
        request_.method, request_.target, route_.verb, route_.resource_and_subresource(), {}, code};
    if (route_.area != Route::Area::kResource) record.verb = request_.method;
    if (shared_.traffic.has_hook()) record.body = request_.body;
    shared_.traffic.record(record);
  }

  void respond(ApiResponse answer) {
    record(answer.code);
    auto response = std::make_shared<http::response<http::string_body>>();
    response->result(static_cast<unsigned>(answer.code));
    response->set(http::field::content_type, answer.content_type);
    if (answer.retry_after_seconds > 0) {
      response->set(http::field::retry_after, std::to_string(answer.retry_after_seconds));
    }
    response->body() = std::move(answer.body);
    response->keep_alive(keep_alive_);
    response->prepare_payload();
    http::async_write(socket_, *response,
                      [self = shared_from_this(), response](error_code error, std::size_t) {
                        if (error || !self->keep_alive_) return self->close();
                        self->read_request();
                      });
  }

  void start_watch(WatchPlan plan) {
    const auto timeout = plan.timeout;
    const ResourceName resource = plan.endpoint.kind.resource;
    stream_.emplace(shared_.store, std::move(plan));
    shared_.watches.fetch_add(1);
    watching_ = true;
    ending_ = false;
    record(200);
    auto header = std::make_shared<http::response<http::empty_body>>(http::status::ok, 11);
    header->set(http::field::content_type, "application/json");
    header->chunked(true);
    header->keep_alive(keep_alive_);
    auto serializer = std::make_shared<http::response_serializer<http::empty_body>>(*header);
    writing_ = true;
    http::async_write_header(
        socket_, *serializer,
        [self = shared_from_this(), header, serializer](error_code error, std::size_t) {
          if (error) return self->close();
          self->writing_ = false;
          self->pump();
        });
    subscription_ = shared_.store.subscribe(resource, [weak = weak_from_this(), this] {
      // The store must not keep a session alive: lock the weak pointer first, then post at most one
      // signal at a time.
      const auto self = weak.lock();
      if (!self || wake_pending_.exchange(true)) return;
      net::post(socket_.get_executor(), [self] {
        self->wake_pending_.store(false);
        self->pump();
      });
    });
    watch_for_close();
    deadline_.expires_after(timeout);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (error) return;
      self->ending_ = true;
      self->pump();
    });
    arm_bookmark();
  }

  void arm_bookmark() {
    if (!stream_->plan().bookmarks) return;
    bookmark_timer_.expires_after(shared_.options.bookmark_interval);
    bookmark_timer_.async_wait([self = shared_from_this()](error_code error) {
      if (error || !self->watching_) return;
      self->bookmark_due_ = true;
      self->pump();
      if (self->watching_) self->arm_bookmark();
    });
  }

  // The client sends nothing during a watch; the read ends when the client disconnects.
  void watch_for_close() {
    monitoring_ = true;
    socket_.async_read_some(buffer_.prepare(1024),
                            [self = shared_from_this()](error_code error, std::size_t size) {
                              self->monitoring_ = false;
                              self->buffer_.commit(size);
                              if (!self->watching_ && !self->closed_) return self->read_request();
                              if (error) self->close();
                            });
  }

  void pump() {
    if (!watching_ || writing_ || closed_) return;
    chunk_.clear();
    const bool more = stream_->fill(chunk_);
    if (more && (ending_ || (chunk_.empty() && bookmark_due_))) {
      bookmark_due_ = false;
      stream_->bookmark(chunk_);
    }
    const bool last = !more || ending_;
    if (chunk_.empty()) {
      if (last) finish_watch();
      return;
    }
    writing_ = true;
    net::async_write(socket_, http::make_chunk(net::buffer(chunk_)),
                     [self = shared_from_this(), last](error_code error, std::size_t) {
                       self->writing_ = false;
                       if (error) return self->close();
                       if (last) return self->finish_watch();
                       self->pump();
                     });
  }

  void finish_watch() {
    if (writing_ || !watching_) return;
    writing_ = true;
    net::async_write(socket_, http::make_chunk_last(),
                     [self = shared_from_this()](error_code error, std::size_t) {
                       self->writing_ = false;
                       self->leave_watch();
                       if (error || !self->keep_alive_) return self->close();
                       // A cancelled monitoring read continues with the next request.
                       if (!self->monitoring_) return self->read_request();
                       error_code ignored;
                       self->socket_.cancel(ignored);
                     });
  }

  void leave_watch() {
    subscription_.reset();
    deadline_.cancel();
    bookmark_timer_.cancel();
    if (std::exchange(watching_, false)) shared_.watches.fetch_sub(1);
  }

  void close() {
    if (std::exchange(closed_, true)) return;
    leave_watch();
    delay_.cancel();
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
  }

  tcp::socket socket_;
  Shared& shared_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  ApiRequest request_;
  Route route_;
  bool keep_alive_ = true;
  bool closed_ = false;
  net::steady_timer delay_;

  std::optional<WatchStream> stream_;
  ObjectStore::Subscription subscription_;
  net::steady_timer bookmark_timer_;
  net::steady_timer deadline_;
  std::string chunk_;
  bool watching_ = false;
  bool monitoring_ = false;
  bool writing_ = false;
  bool ending_ = false;
  bool bookmark_due_ = false;
  std::atomic<bool> wake_pending_{false};
};

}  // namespace

struct ApiServer::Impl {
  Impl(ObjectStore& store, const ServerOptions& options)
      : shared(store, options), acceptor(net::make_strand(io)) {}

  Shared shared;
  net::io_context io;
  tcp::acceptor acceptor;
  std::uint16_t port = 0;
  std::vector<std::thread> threads;
  bool stopped = false;

  Result<void> listen() {
    const tcp::endpoint where(net::ip::address_v4::loopback(), shared.options.port);
    error_code error;
    acceptor.open(where.protocol(), error);
    if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(where, error);
    if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
    if (error) {
      return fail(ErrorCode::kUnavailable, "the sandbox API server cannot listen on 127.0.0.1:" +
                                               std::to_string(shared.options.port) + ": " +
                                               error.message() + "; choose another port, or 0");
    }
    port = acceptor.local_endpoint().port();
    return {};
  }

  void accept() {
    acceptor.async_accept(net::make_strand(io), [this](error_code error, tcp::socket socket) {
      if (error == net::error::operation_aborted) return;
      if (!error) {
        error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        std::make_shared<Session>(std::move(socket), shared)->run();
      }
      accept();
    });
  }

  void run() {
    while (true) {
      try {
        io.run();
        return;
      } catch (const std::exception& error) {
        log_error("the sandbox API server goes on after an exception", {{"what", error.what()}});
      }
    }
  }
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<ApiServer>> ApiServer::start(ObjectStore& store, ServerOptions options) {
  auto impl = std::make_unique<Impl>(store, options);
  if (auto listening = impl->listen(); !listening) return fail(listening.error());
  impl->accept();
  for (unsigned i = 0; i < std::max(1U, options.threads); ++i) {
    impl->threads.emplace_back([raw = impl.get()] { raw->run(); });
  }
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

ApiServer::~ApiServer() {
  stop();
}

void ApiServer::stop() {
  if (std::exchange(impl_->stopped, true)) return;
  impl_->io.stop();
  for (std::thread& thread : impl_->threads) thread.join();
  error_code ignored;
  impl_->acceptor.close(ignored);
  // No thread is left, so the remaining sessions can be ended on this one.
  disconnect_clients();
  impl_->io.restart();
  impl_->io.poll();
}

std::uint16_t ApiServer::port() const {
  return impl_->port;
}

std::string ApiServer::url() const {
  return "http://127.0.0.1:" + std::to_string(impl_->port);
}

void ApiServer::disconnect_clients() {
  const std::lock_guard lock(impl_->shared.mutex);
  for (Session* session : impl_->shared.sessions) session->shut();
}

std::size_t ApiServer::open_watches() const {
  return impl_->shared.watches.load();
}

void ApiServer::inject(Fault fault) {
  impl_->shared.traffic.inject(std::move(fault));
}

void ApiServer::clear_faults() {
  impl_->shared.traffic.clear_faults();
}

std::vector<RequestCount> ApiServer::request_counts() const {
  return impl_->shared.traffic.counts();
}

std::uint64_t ApiServer::writes(const std::string& resource) const {
  return impl_->shared.traffic.writes(resource);
}

void ApiServer::reset_counts() {
  impl_->shared.traffic.reset();
}

void ApiServer::set_request_hook(std::function<void(const RequestRecord&)> hook) {
  impl_->shared.traffic.set_hook(std::move(hook));
}

}  // namespace plimsoll::sandbox
