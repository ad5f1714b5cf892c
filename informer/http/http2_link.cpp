#include "informer/http/http2_link.hpp"

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <charconv>

namespace plimsoll::informer {
namespace {

constexpr std::size_t kRecord = 16 * 1024;        // the most that TLS puts into one record
constexpr std::size_t kMostOut = 4 * kRecord;     // frames encoded ahead of sending
constexpr int kReadsInARow = 64;                  // then other links get their turn
constexpr std::int32_t kStreamWindow = 32 << 20;  // unread bytes that the server may send
constexpr std::int32_t kLinkWindow = 1 << 30;
constexpr std::uint32_t kStreamsAtFirst = 100;  // until the server announces its limit

std::string_view chars_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

nghttp2_nv header_field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

// Callbacks that nghttp2 calls within read() and flush().
struct Http2Link::Callbacks {
  static Http2Link& link(void* user) { return *static_cast<Http2Link*>(user); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    Transfer* transfer = link(user).find(frame->hd.stream_id);
    if (transfer == nullptr || frame->hd.type != NGHTTP2_HEADERS ||
        frame->headers.cat == NGHTTP2_HCAT_PUSH_RESPONSE) {
      return 0;
    }
    const std::string_view text = chars_of(value, value_size);
    if (chars_of(name, name_size) == ":status") {
      int status = 0;
      std::from_chars(text.data(), text.data() + text.size(), status);
      answer_begins(*transfer, status);
    } else {
      answer_header(*transfer, chars_of(name, name_size), text);
    }
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) link(user).retire();
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Transfer* transfer = link(user).find(frame->hd.stream_id);
    if (transfer == nullptr) return 0;
    // The first header block after the status; later ones are trailers.
    if (frame->hd.type == NGHTTP2_HEADERS && transfer->response.status >= 200 &&
        !transfer->opened) {
      transfer->opened = true;
      answer_headers_end(*transfer);
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) transfer->complete = true;
    return 0;
  }

  static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                     const std::uint8_t* data, std::size_t size, void* user) {
    Transfer* transfer = link(user).find(stream);
    if (transfer != nullptr && !answer_data(*transfer, chars_of(data, size))) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
      link(user).end(*transfer, CURLE_WRITE_ERROR, {});
    }
    return 0;
  }

  static int on_stream_close(nghttp2_session*, std::int32_t stream, std::uint32_t error,
                             void* user) {
    link(user).stream_closed(stream, error);
    return 0;
  }

  // A request that can no longer be sent, such as after GOAWAY.
  static int on_frame_not_sent(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (Transfer* transfer = link(user).find(frame->hd.stream_id)) {
      link(user).end(*transfer, CURLE_HTTP2_STREAM, "the request could not be sent", true);
    }
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, std::int32_t stream, std::uint8_t* into,
                           std::size_t room, std::uint32_t* flags, nghttp2_data_source*,
                           void* user) {
    // give_up() has already reset the stream.
    Transfer* transfer = link(user).find(stream);
    if (transfer == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::string& body = transfer->request.body;
    const std::size_t size = std::min(room, body.size() - transfer->body_sent);
    body.copy(reinterpret_cast<char*>(into), size, transfer->body_sent);
    transfer->body_sent += size;
    if (transfer->body_sent == body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  static const nghttp2_session_callbacks* all() {
    static nghttp2_session_callbacks* const made = [] {
      nghttp2_session_callbacks* callbacks = nullptr;
      if (nghttp2_session_callbacks_new(&callbacks) != 0) return callbacks;
      nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
      nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
      nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
      nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_sent);
      return callbacks;
    }();
    return made;
  }
};

Http2Link::Http2Link(const TransferSetup& setup, CURLM* multi, Handle handle,
                     std::vector<LinkEnd>& ended)
    : setup_(setup), multi_(multi), handle_(std::move(handle)), ended_(ended) {
  set_up_connection(setup, handle_.easy);
  curl_easy_setopt(handle_.easy, CURLOPT_ERRORBUFFER, error_text_.data());
  curl_multi_add_handle(multi_, handle_.easy);
}

Http2Link::~Http2Link() {
  if (session_ != nullptr) nghttp2_session_del(session_);
  curl_multi_remove_handle(multi_, handle_.easy);
  curl_easy_cleanup(handle_.easy);
}

void Http2Link::connected(CURLcode code) {
  heard_at_ = Clock::now();
  if (code != CURLE_OK) return die(code, error_text_.data());
  // The handle owns the connection only after its first use.
  std::size_t none = 0;
  char nothing = 0;
  static_cast<void>(curl_easy_recv(handle_.easy, &nothing, 0, &none));
  curl_tlssessioninfo* tls = nullptr;
  curl_easy_getinfo(handle_.easy, CURLINFO_TLS_SSL_PTR, &tls);
  curl_easy_getinfo(handle_.easy, CURLINFO_ACTIVESOCKET, &socket_);
  if (tls != nullptr && tls->backend == CURLSSLBACKEND_OPENSSL) tls_ = tls->internals;
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  if (tls_ != nullptr) SSL_get0_alpn_selected(static_cast<SSL*>(tls_), &protocol, &size);
  if (socket_ == CURL_SOCKET_BAD || chars_of(protocol, size) != "h2") {
    state_ = State::kOtherProtocol;
    return;
  }
  if (!begin_session()) return die(CURLE_OUT_OF_MEMORY, "nghttp2 is out of memory");
  state_ = State::kOpen;
  static_cast<void>(read());  // data that came with the handshake is no longer in the socket
  if (state_ != State::kOpen) return;
  std::vector<Transfer*> waiting;
  waiting.swap(waiting_);
  for (Transfer* transfer : waiting) submit(*transfer);
}

bool Http2Link::begin_session() {
  nghttp2_option* option = nullptr;
  if (Callbacks::all() == nullptr || nghttp2_option_new(&option) != 0) return false;
  nghttp2_option_set_peer_max_concurrent_streams(option, kStreamsAtFirst);
  const int made = nghttp2_session_client_new2(&session_, Callbacks::all(), this, option);
  nghttp2_option_del(option);
  if (made != 0) return false;
  const std::array<nghttp2_settings_entry, 2> settings{
      {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
       {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(kStreamWindow)}}};
  return nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) ==
             0 &&
         nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kLinkWindow) == 0;
}

void Http2Link::carry(Transfer& transfer) {
  transfer.link = this;
  transfer.stream = 0;
  transfer.opened = transfer.complete = false;
  transfer.body_sent = 0;
  if (state_ == State::kOpen) {
    submit(transfer);
  } else {
    waiting_.push_back(&transfer);
  }
}

void Http2Link::submit(Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  path_ = setup_.url.prefix + request.path;
  if (path_.empty()) path_ = "/";
  std::vector<nghttp2_nv> fields;
  fields.reserve(8 + transfer.headers->fields.size());
  fields.push_back(header_field(":method", request.method));
  fields.push_back(header_field(":path", path_));
  fields.push_back(header_field(":scheme", setup_.url.scheme));
  fields.push_back(header_field(":authority", setup_.authority));
  fields.push_back(header_field("user-agent", setup_.user_agent));
  for (const auto& [name, value] : transfer.headers->fields)
    fields.push_back(header_field(name, value));
  nghttp2_data_provider body{};
  body.read_callback = Callbacks::read_body;
  if (has_body(request)) {
    content_size_ = std::to_string(request.body.size());
    fields.push_back(header_field("content-length", content_size_));
  }
  transfer.stream = nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(),
                                           request.body.empty() ? nullptr : &body, nullptr);
  if (transfer.stream < 0) {  // stream numbers or memory are exhausted
    const char* text = nghttp2_strerror(transfer.stream);
    retire();
    transfer.stream = 0;
    return end(transfer, CURLE_HTTP2, text, true);
  }
  streams_.emplace(transfer.stream, &transfer);
}

void Http2Link::give_up(Transfer& transfer) {
  if (transfer.stream == 0) {
    std::erase(waiting_, &transfer);
  } else {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, transfer.stream, NGHTTP2_CANCEL);
    streams_.erase(transfer.stream);
  }
  transfer.link = nullptr;
}

std::vector<HttpClient::RequestId> Http2Link::hand_over() {
  std::vector<HttpClient::RequestId> all;
  for (Transfer* transfer : waiting_) {
    transfer->link = nullptr;
    all.push_back(transfer->id);
  }
  waiting_.clear();
  state_ = State::kDead;
  return all;
}

bool Http2Link::read() {
  std::array<std::uint8_t, kRecord> record;
  for (int i = 0; i < kReadsInARow; ++i) {
    if (state_ != State::kOpen) return false;
    std::size_t size = 0;
    error_text_[0] = 0;
    const CURLcode code = curl_easy_recv(handle_.easy, record.data(), record.size(), &size);
    if (code == CURLE_AGAIN) return false;
    if (code != CURLE_OK || size == 0) {
      const char* text = error_text_[0] != 0 ? error_text_.data() : "the connection was closed";
      die(code == CURLE_OK ? CURLE_RECV_ERROR : code, text);
      return false;
    }
    heard_at_ = Clock::now();
    const ssize_t used = nghttp2_session_mem_recv(session_, record.data(), size);
    if (used < 0) {
      die(CURLE_HTTP2, nghttp2_strerror(static_cast<int>(used)));
      return false;
    }
    if (SSL_has_pending(static_cast<SSL*>(tls_)) == 0) return false;
  }
  return true;
}

void Http2Link::flush() {
  while (state_ == State::kOpen) {
    // OpenSSL requires that a blocked write is repeated with the same bytes at the same address.
    while (blocked_ == 0 && out_.size() - sent_ < kMostOut) {
      const std::uint8_t* frame = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &frame);
      if (size < 0) return die(CURLE_HTTP2, nghttp2_strerror(static_cast<int>(size)));
      if (size == 0) break;
      out_.append(chars_of(frame, static_cast<std::size_t>(size)));
    }
    if (out_.empty()) break;
    std::size_t sent = 0;
    error_text_[0] = 0;
    const std::size_t size = blocked_ > 0 ? blocked_ : std::min(out_.size() - sent_, kRecord);
    const CURLcode code = curl_easy_send(handle_.easy, out_.data() + sent_, size, &sent);
    blocked_ = code == CURLE_AGAIN ? size : 0;
    if (blocked_ > 0) return;
    if (code != CURLE_OK) {
      return die(code, error_text_[0] != 0 ? error_text_.data() : curl_easy_strerror(code));
    }
    sent_ += sent;
    if (sent_ == out_.size()) {
      out_.clear();
      sent_ = 0;
    }
  }
  // After a protocol error nothing more can be read or sent.
  if (state_ == State::kOpen && nghttp2_session_want_read(session_) == 0 &&
      nghttp2_session_want_write(session_) == 0) {
    die(CURLE_HTTP2, "the connection was closed");
  }
}

Http2Link::Clock::time_point Http2Link::next_look() const {
  const HttpClientOptions& options = setup_.options;
  if (state_ != State::kOpen || options.ping_after.count() == 0) return Clock::time_point::max();
  return asked_at_ > heard_at_ ? asked_at_ + options.ping_timeout : heard_at_ + options.ping_after;
}

void Http2Link::look(Clock::time_point now) {
  if (now < next_look()) return;
  static_cast<void>(read());  // we may have been the ones not running
  if (state_ != State::kOpen || now < next_look()) return;
  if (asked_at_ <= heard_at_) {
    asked_at_ = now;
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
    return;
  }
  const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(now - heard_at_);
  die(CURLE_RECV_ERROR, "nothing was heard for " + std::to_string(silent.count()) +
                            " ms, not even an answer to a PING");
}

Transfer* Http2Link::find(std::int32_t stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second;
}

void Http2Link::stream_closed(std::int32_t stream, std::uint32_t error) {
  Transfer* transfer = find(stream);
  if (transfer == nullptr) return;
  if (transfer->complete) return end(*transfer, CURLE_OK, {});
  const bool untouched = error == NGHTTP2_REFUSED_STREAM && transfer->response.status == 0;
  end(*transfer, CURLE_HTTP2_STREAM,
      std::string("the server ended the stream: ") + nghttp2_http2_strerror(error), untouched);
}

void Http2Link::end(Transfer& transfer, CURLcode code, std::string_view text, bool untouched) {
  streams_.erase(transfer.stream);
  transfer.link = nullptr;
  const std::size_t size = std::min(text.size(), transfer.error_text.size() - 1);
  std::copy_n(text.begin(), size, transfer.error_text.begin());
  transfer.error_text[size] = 0;
  ended_.push_back({transfer.id, code, untouched});
}

// The connection is unusable; the fate of its requests is unknown.
void Http2Link::die(CURLcode code, std::string_view text) {
  const std::string why(text);
  state_ = State::kDead;
  std::vector<Transfer*> all;
  all.swap(waiting_);
  for (const auto& [stream, transfer] : streams_) all.push_back(transfer);
  for (Transfer* transfer : all) end(*transfer, code, why);
}

bool Http2Link::takes_more() const {
  if (retired_ || (state_ != State::kConnecting && state_ != State::kOpen)) return false;
  std::size_t limit = std::max<std::size_t>(1, setup_.options.max_streams);
  if (state_ == State::kOpen) {
    limit = std::min<std::size_t>(limit, nghttp2_session_get_remote_settings(
                                             session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS));
  }
  return waiting_.size() + streams_.size() < std::max<std::size_t>(1, limit);
}

bool Http2Link::is_useless() const {
  return state_ == State::kDead ||
         (retired_ && state_ == State::kOpen && streams_.empty() && !wants_to_write());
}

bool Http2Link::is_of(const Credential& credential) const {
  if (handle_.credential.get() == &credential) return true;
  return handle_.credential->client_certificate_pem == credential.client_certificate_pem &&
         handle_.credential->client_key_pem == credential.client_key_pem &&
         handle_.credential->certificate_authority_pem == credential.certificate_authority_pem;
}

}  // namespace plimsoll::informer
