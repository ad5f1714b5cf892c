#include "tests/support/web_client.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace plimsoll::test {

WebAnswer web_request(const std::string& method, const std::string& url, const std::string& body,
                      const std::string& ca_file, const WebCaller& caller) {
  WebAnswer answer;
  CURL* curl = curl_easy_init();
  std::array<char, CURL_ERROR_SIZE> error{};
  const auto append = +[](char* data, size_t size, size_t count, void* to) {
    static_cast<std::string*>(to)->append(data, size * count);
    return size * count;
  };
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method.c_str());
  if (method == "HEAD") curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  if (!body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  }
  if (!ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file.c_str());
  curl_slist* headers = nullptr;
  for (const std::string& header : caller.headers) {
    headers = curl_slist_append(headers, header.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  if (!caller.cert_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_SSLCERT, caller.cert_file.c_str());
    curl_easy_setopt(curl, CURLOPT_SSLKEY, caller.key_file.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, caller.trusts_anybody ? 0L : 1L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, caller.trusts_anybody ? 0L : 2L);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error.data());
  if (curl_easy_perform(curl) == CURLE_OK) {
    long status = 0;
    const char* type = nullptr;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    answer.status = static_cast<int>(status);
    if (type != nullptr) answer.content_type = type;
  } else {
    answer.error = error.data();
  }
  curl_easy_cleanup(curl);
  curl_slist_free_all(headers);
  return answer;
}

RawConnection::RawConnection(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0) {
    close(socket_);
    socket_ = -1;
  }
}

RawConnection::~RawConnection() {
  if (socket_ >= 0) close(socket_);
}

bool RawConnection::send(const std::string& bytes) {
  return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

std::string RawConnection::read_to_end(int timeout_ms, bool& closed) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::string all;
  closed = false;
  while (Clock::now() < deadline) {
    pollfd wait{socket_, POLLIN, 0};
    if (poll(&wait, 1, 50) <= 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t got = recv(socket_, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      closed = true;
      break;
    }
    all.append(buffer.data(), static_cast<size_t>(got));
  }
  return all;
}

}  // namespace plimsoll::test
