#include "node/kubelet/grpc_client.hpp"

#include <curl/curl.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <system_error>

namespace plimsoll::node {
namespace {

constexpr std::size_t kPrefix = 5;  // of a gRPC message: whether it is compressed, and its length
constexpr std::size_t kMostAnswer = std::size_t{64} << 20;

// Status codes of gRPC ("Status codes and their use in gRPC").
constexpr int kOk = 0;
constexpr int kResourceExhausted = 8;
constexpr int kUnimplemented = 12;
constexpr int kUnavailable = 14;
constexpr int kNone = -1;  // none came

struct Exchange {
  std::string answer;
  std::string message;  // grpc-message
  int status = kNone;
  bool too_long = false;
};

// Headers and trailers.
std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  std::string_view line(data, size * count);
  line = line.substr(0, line.find_last_not_of("\r\n") + 1);
  constexpr std::string_view kMessage = "grpc-message: ";
  constexpr std::string_view kStatus = "grpc-status: ";
  if (line.starts_with(kMessage)) exchange.message = line.substr(kMessage.size());
  if (line.starts_with(kStatus)) {
    line.remove_prefix(kStatus.size());
    std::from_chars(line.data(), line.data() + line.size(), exchange.status);
  }
  return size * count;
}

std::size_t on_data(char* data, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::size_t length = size * count;
  exchange.too_long = exchange.answer.size() + length > kMostAnswer + kPrefix;
  if (exchange.too_long) return 0;
  exchange.answer.append(data, length);
  return length;
}

std::string framed(std::string_view message) {
  std::string frame(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame += static_cast<char>(message.size() >> shift & 0xff);
  }
  return frame.append(message);
}

ErrorCode code_of(int status) {
  switch (status) {
    case kResourceExhausted:
      return ErrorCode::kThrottled;
    case kUnimplemented:
      return ErrorCode::kNotFound;
    case kUnavailable:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInvalid;
  }
}

std::string text_of(CURL* easy, CURLcode code) {
  if (code == CURLE_OPERATION_TIMEDOUT) return "no answer in time";
  long error = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &error);
  if (code == CURLE_COULDNT_CONNECT && error != 0) {
    return std::error_code(static_cast<int>(error), std::generic_category()).message();
  }
  return std::string("the connection was lost: ") + curl_easy_strerror(code);
}

// The one message of a unary answer.
Result<std::string> message_of(const Exchange& exchange, long http_status) {
  if (exchange.status == kNone) {
    return fail(ErrorCode::kUnavailable, "the call ended without a gRPC status (HTTP status " +
                                             std::to_string(http_status) + ")");
  }
  if (exchange.status != kOk) {
    return fail(code_of(exchange.status), "gRPC status " + std::to_string(exchange.status) +
                                              (exchange.message.empty() ? "" : ": ") +
                                              exchange.message);
  }
  if (exchange.answer.size() < kPrefix || exchange.answer[0] != '\0') {
    return fail(ErrorCode::kInvalid, "the answer is no plain gRPC message");
  }
  std::string message = exchange.answer.substr(kPrefix);
  if (exchange.answer.compare(0, kPrefix, framed(message), 0, kPrefix) != 0) {
    return fail(ErrorCode::kInvalid, "the answer is not one gRPC message");
  }
  return message;
}

Result<std::string> call(const std::string& socket, std::string_view method,
                         std::string_view request, std::chrono::milliseconds deadline) {
  if (socket.size() >= sizeof(sockaddr_un::sun_path)) {
    return fail(ErrorCode::kInvalid, "the path of a socket has at most 107 bytes");
  }
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(),
                                                                   curl_easy_cleanup);
  CURL* easy = handle.get();
  if (easy == nullptr) return fail(ErrorCode::kInternal, "HTTP/2 could not be started");
  curl_slist* lines = curl_slist_append(nullptr, "Content-Type: application/grpc");
  lines = curl_slist_append(lines, "TE: trailers");
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(lines,
                                                                            curl_slist_free_all);
  const std::string body = framed(request);
  Exchange exchange;
  curl_easy_setopt(easy, CURLOPT_URL, ("http://localhost" + std::string(method)).c_str());
  curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                   std::max<long>(1, static_cast<long>(deadline.count())));
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "plimsoll-node");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
  const CURLcode code = curl_easy_perform(easy);
  if (exchange.too_long) return fail(ErrorCode::kInvalid, "the answer is longer than 64 MiB");
  if (code != CURLE_OK) return fail(ErrorCode::kUnavailable, text_of(easy, code));
  long http_status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &http_status);
  return message_of(exchange, http_status);
}

}  // namespace

Result<std::string> grpc_call(const std::filesystem::path& socket, std::string_view method,
                              std::string_view request, std::chrono::milliseconds deadline) {
  auto answer = call(socket.string(), method, request, deadline);
  if (answer) return answer;
  return fail(answer.error().within(socket.string() + " " + std::string(method)));
}

}  // namespace plimsoll::node
