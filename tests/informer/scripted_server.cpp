#include "tests/informer/scripted_server.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace plimsoll::informer::test {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::asio::ip::tcp;
using Error = boost::system::error_code;

}  // namespace

std::string Received::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (beast::iequals(key, beast::string_view(name.data(), name.size()))) return value;
  }
  return {};
}

struct ScriptedServer::Impl {
  Handler handler;
  boost::asio::io_context io;
  tcp::acceptor acceptor{io};
  mutable std::mutex mutex;  // guards what follows
  mutable std::condition_variable changed;
  std::vector<Received> requests;
  std::list<tcp::socket> sockets;
  std::vector<std::thread> threads;
  bool stopping = false;
  std::size_t accepted = 0;
  std::thread acceptor_thread;

  void serve(tcp::socket& socket);
};

namespace {

class LiveExchange final : public Exchange {
 public:
  LiveExchange(tcp::socket& socket, std::function<void(std::chrono::milliseconds)> pause)
      : socket_(socket), pause_(std::move(pause)) {}

  bool reply(int status, const std::string& body, const Headers& headers) override {
    std::string text = "HTTP/1.1 " + std::to_string(status) +
                       " Scripted\r\nContent-Type: application/json\r\nContent-Length: " +
                       std::to_string(body.size()) + "\r\n";
    for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
    return send(text + "\r\n" + body);
  }
  bool open_stream() override {
    return send(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: "
        "chunked\r\n\r\n");
  }
  bool chunk(const std::string& text) override {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", text.size());
    return send(size + text + "\r\n");
  }
  bool end_stream() override { return send("0\r\n\r\n"); }
  void cut() override {
    Error ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    alive_ = false;
  }
  void hang(std::chrono::milliseconds for_at_most) override { pause_(for_at_most); }

  [[nodiscard]] bool alive() const { return alive_; }

 private:
  bool send(const std::string& text) {
    Error error;
    boost::asio::write(socket_, boost::asio::buffer(text), error);
    if (error) alive_ = false;
    return alive_;
  }

  tcp::socket& socket_;
  std::function<void(std::chrono::milliseconds)> pause_;
  bool alive_ = true;
};

}  // namespace

void ScriptedServer::Impl::serve(tcp::socket& socket) {
  beast::flat_buffer buffer;
  while (true) {
    http::request<http::string_body> request;
    Error error;
    http::read(socket, buffer, request, error);
    if (error) break;
    Received received;
    received.method = std::string(request.method_string());
    received.target = std::string(request.target());
    received.body = request.body();
    for (const auto& field : request) {
      received.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    {
      const std::lock_guard lock(mutex);
      if (stopping) break;
      requests.push_back(received);
      changed.notify_all();
    }
    LiveExchange exchange(socket, [this](std::chrono::milliseconds limit) {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, limit, [this] { return stopping; });
    });
    handler(received, exchange);
    if (!exchange.alive()) break;
  }
  Error ignored;
  socket.shutdown(tcp::socket::shutdown_both, ignored);
}

ScriptedServer::ScriptedServer(Handler handler) : impl_(std::make_unique<Impl>()) {
  impl_->handler = std::move(handler);
  const tcp::endpoint loopback(boost::asio::ip::make_address("127.0.0.1"), 0);
  impl_->acceptor.open(loopback.protocol());
  impl_->acceptor.set_option(tcp::acceptor::reuse_address(true));
  impl_->acceptor.bind(loopback);
  impl_->acceptor.listen();
  impl_->acceptor_thread = std::thread([impl = impl_.get()] {
    while (true) {
      tcp::socket socket(impl->io);
      Error error;
      impl->acceptor.accept(socket, error);
      const std::lock_guard lock(impl->mutex);
      if (impl->stopping) return;
      if (error) continue;
      ++impl->accepted;
      socket.set_option(tcp::no_delay(true), error);
      impl->sockets.push_back(std::move(socket));
      impl->threads.emplace_back([impl, at = &impl->sockets.back()] { impl->serve(*at); });
    }
  });
}

ScriptedServer::~ScriptedServer() {
  stop();
}

void ScriptedServer::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->stopping) return;
    impl_->stopping = true;
    impl_->changed.notify_all();
    for (tcp::socket& socket : impl_->sockets) {
      ::shutdown(socket.native_handle(), SHUT_RDWR);
    }
  }
  ::shutdown(impl_->acceptor.native_handle(), SHUT_RDWR);
  impl_->acceptor_thread.join();
  for (std::thread& thread : impl_->threads) thread.join();
  Error ignored;
  impl_->acceptor.close(ignored);  // from here on: connection refused
  impl_->sockets.clear();
}

std::string ScriptedServer::url() const {
  return "http://127.0.0.1:" + std::to_string(impl_->acceptor.local_endpoint().port());
}

std::vector<Received> ScriptedServer::received() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->requests;
}

std::size_t ScriptedServer::connections() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->accepted;
}

namespace {
std::size_t matching(const std::vector<Received>& requests, std::string_view part) {
  std::size_t n = 0;
  for (const Received& request : requests) {
    if ((request.method + " " + request.target).find(part) != std::string::npos) ++n;
  }
  return n;
}
}  // namespace

std::size_t ScriptedServer::count(std::string_view part) const {
  const std::lock_guard lock(impl_->mutex);
  return matching(impl_->requests, part);
}

bool ScriptedServer::wait_for(std::string_view part, std::size_t n) const {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, std::chrono::seconds(30),
                                 [&] { return matching(impl_->requests, part) >= n; });
}

}  // namespace plimsoll::informer::test
