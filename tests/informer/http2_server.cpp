#include "tests/informer/http2_server.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace plimsoll::informer::test {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* tls) const { SSL_free(tls); }
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  void operator()(nghttp2_session_callbacks* callbacks) const {
    nghttp2_session_callbacks_del(callbacks);
  }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

Owned<X509> certificate_for(EVP_PKEY* key) {
  Owned<X509> made(X509_new());
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 48 * 3600);
  X509_set_pubkey(made.get(), key);
  X509_NAME* name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("scripted"), -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  const Owned<X509_EXTENSION> names(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1"));
  X509_add_ext(made.get(), names.get(), -1);
  X509_sign(made.get(), key, EVP_sha256());
  return made;
}

int choose_http2(SSL*, const unsigned char** chosen, unsigned char* size,
                 const unsigned char* offered, unsigned offered_size, void*) {
  static constexpr std::array<unsigned char, 3> kWanted{2, 'h', '2'};
  const int found = SSL_select_next_proto(const_cast<unsigned char**>(chosen), size, kWanted.data(),
                                          kWanted.size(), offered, offered_size);
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

struct Http2Server::Impl {
  Script script;
  std::uint32_t max_streams;
  Owned<EVP_PKEY> key{EVP_EC_gen("P-256")};
  Owned<X509> certificate = certificate_for(key.get());
  Owned<SSL_CTX> context{SSL_CTX_new(TLS_server_method())};
  int listener = -1;
  int port = 0;

  mutable std::mutex mutex;  // guards what follows
  mutable std::condition_variable changed;
  std::vector<Received> requests;
  std::set<int> sockets;
  std::vector<std::thread> threads;
  std::size_t accepted = 0;
  std::size_t pings = 0;
  bool stopping = false;
  std::thread acceptor;

  void listen();
  void accept_all();
  void serve(int socket);
};

namespace {

// One connection, on a thread of its own.
class Session {
 public:
  Session(SSL* tls, const Http2Server::Script& script, std::uint32_t max_streams,
          std::function<void(const Received&)> note, std::function<void()> pinged)
      : tls_(tls), script_(script), note_(std::move(note)), pinged_(std::move(pinged)) {
    nghttp2_session_callbacks* made = nullptr;
    nghttp2_session_callbacks_new(&made);
    const Owned<nghttp2_session_callbacks> callbacks(made);
    nghttp2_session_callbacks_set_on_header_callback(made, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, on_frame);
    nghttp2_session* session = nullptr;
    nghttp2_session_server_new(&session, made, this);
    session_.reset(session);
    const nghttp2_settings_entry most{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max_streams};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &most, 1);
  }

  void run() {
    std::array<std::uint8_t, 16 * 1024> bytes;
    while (send_all() && !cut_) {
      if (stalled_) {  // until the other end closes, or the server does
        pollfd waited{SSL_get_fd(tls_), POLLRDHUP, 0};
        ::poll(&waited, 1, -1);
        return;
      }
      const int size = SSL_read(tls_, bytes.data(), static_cast<int>(bytes.size()));
      if (size <= 0) return;
      if (nghttp2_session_mem_recv(session_.get(), bytes.data(), static_cast<std::size_t>(size)) <
          0) {
        return;
      }
    }
  }

 private:
  struct Stream {
    Received request;
    Http2Answer answer;
    std::size_t sent = 0;
  };

  static std::string text(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    Received& request = static_cast<Session*>(user)->streams_[frame->hd.stream_id].request;
    std::string key = text(name, name_size);
    std::string what = text(value, value_size);
    if (key == ":method") {
      request.method = what;
    } else if (key == ":path") {
      request.target = what;
    } else {
      request.headers.emplace_back(key == ":authority" ? "host" : key, what);
    }
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                     std::size_t size, void* user) {
    static_cast<Session*>(user)->streams_[stream].request.body += text(data, size);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_PING) static_cast<Session*>(user)->pinged_();
    const bool request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (request && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      static_cast<Session*>(user)->answer(frame->hd.stream_id);
    }
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, std::int32_t stream, std::uint8_t* into,
                           std::size_t room, std::uint32_t* flags, nghttp2_data_source*,
                           void* user) {
    auto* self = static_cast<Session*>(user);
    Stream& of = self->streams_[stream];
    const std::string& body = of.answer.body;
    const std::size_t size = body.copy(reinterpret_cast<char*>(into), room, of.sent);
    of.sent += size;
    if (size == 0 && (of.answer.what == Http2Answer::What::kStall ||
                      of.answer.what == Http2Answer::What::kOpen)) {
      return NGHTTP2_ERR_DEFERRED;
    }
    if (of.sent < body.size()) return static_cast<ssize_t>(size);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (of.answer.what == Http2Answer::What::kReset) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return static_cast<ssize_t>(size);
  }

  void answer(std::int32_t id) {
    using What = Http2Answer::What;
    Stream& stream = streams_[id];
    note_(stream.request);
    stream.answer = script_(stream.request);
    nghttp2_session* session = session_.get();
    switch (stream.answer.what) {
      case What::kHang:
        return;
      case What::kRefuse:
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
        return;
      case What::kGoAway:
        nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, std::max(id - 2, 0), NGHTTP2_NO_ERROR,
                              nullptr, 0);
        return;
      case What::kCut:
        cut_ = true;
        return;
      case What::kStall:
        stalled_ = true;
        break;
      case What::kAnswer:
      case What::kReset:
      case What::kOpen:
        break;
    }
    auto headers = stream.answer.headers;
    headers.insert(headers.begin(), {{":status", std::to_string(stream.answer.status)},
                                     {"content-type", "application/json"}});
    std::vector<nghttp2_nv> fields;
    for (auto& [name, value] : headers) {
      fields.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                        reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                        NGHTTP2_NV_FLAG_NONE});
    }
    nghttp2_data_provider body{};
    body.read_callback = read_body;
    nghttp2_submit_response(session, id, fields.data(), fields.size(), &body);
  }

  bool send_all() {
    while (true) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
      if (size <= 0) return size == 0;
      if (SSL_write(tls_, bytes, static_cast<int>(size)) <= 0) return false;
    }
  }

  SSL* tls_;
  const Http2Server::Script& script_;
  std::function<void(const Received&)> note_;
  std::function<void()> pinged_;
  Owned<nghttp2_session> session_;
  std::map<std::int32_t, Stream> streams_;
  bool cut_ = false;
  bool stalled_ = false;
};

}  // namespace

void Http2Server::Impl::listen() {
  listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, generic, size) != 0 || ::listen(listener, 64) != 0 ||
      ::getsockname(listener, generic, &size) != 0) {
    throw std::runtime_error("the scripted server cannot listen");
  }
  port = ntohs(address.sin_port);
}

void Http2Server::Impl::accept_all() {
  while (true) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    const int on = 1;  // or each answer waits until what was sent before it is acknowledged
    if (socket >= 0) ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(mutex);
    if (socket < 0 || stopping) {
      if (socket >= 0) ::close(socket);
      return;
    }
    ++accepted;
    sockets.insert(socket);
    threads.emplace_back([this, socket] { serve(socket); });
  }
}

void Http2Server::Impl::serve(int socket) {
  // SSL_write knows no MSG_NOSIGNAL.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  const Owned<SSL> tls(SSL_new(context.get()));
  SSL_set_fd(tls.get(), socket);
  if (SSL_accept(tls.get()) == 1) {
    const auto note = [this](const Received& request) {
      const std::lock_guard lock(mutex);
      requests.push_back(request);
      changed.notify_all();
    };
    Session session(tls.get(), script, max_streams, note, [this] {
      const std::lock_guard lock(mutex);
      ++pings;
      changed.notify_all();
    });
    session.run();
  }
  const std::lock_guard lock(mutex);
  sockets.erase(socket);
  ::close(socket);
}

Http2Server::Http2Server(Script script, std::uint32_t max_streams)
    : impl_(std::make_unique<Impl>()) {
  impl_->script = std::move(script);
  impl_->max_streams = max_streams;
  SSL_CTX* context = impl_->context.get();
  SSL_CTX_use_certificate(context, impl_->certificate.get());
  SSL_CTX_use_PrivateKey(context, impl_->key.get());
  SSL_CTX_set_alpn_select_cb(context, choose_http2, nullptr);
  impl_->listen();
  impl_->acceptor = std::thread([impl = impl_.get()] { impl->accept_all(); });
}

Http2Server::~Http2Server() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    for (const int socket : impl_->sockets) ::shutdown(socket, SHUT_RDWR);
    ::shutdown(impl_->listener, SHUT_RDWR);
  }
  impl_->acceptor.join();
  {
    const std::lock_guard lock(impl_->mutex);
    threads.swap(impl_->threads);
  }
  for (std::thread& thread : threads) thread.join();
  ::close(impl_->listener);
}

std::string Http2Server::url() const {
  return "https://127.0.0.1:" + std::to_string(impl_->port);
}

std::string Http2Server::certificate() const {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), impl_->certificate.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::vector<Received> Http2Server::received() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->requests;
}

bool Http2Server::wait_for(std::size_t n) const {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, std::chrono::seconds(30),
                                 [&] { return impl_->requests.size() >= n; });
}

bool Http2Server::wait_for_pings(std::size_t n) const {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, std::chrono::seconds(30), [&] { return impl_->pings >= n; });
}

std::size_t Http2Server::connections() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->accepted;
}

}  // namespace plimsoll::informer::test
