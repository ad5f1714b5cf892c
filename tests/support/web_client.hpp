#pragma once
// One request with libcurl, and raw connections for what no proper client would send.

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::test {

struct WebAnswer {
  int status = 0;  // 0: there was none, and `error` says why
  std::string body;
  std::string content_type;
  std::string error;
};

// Who asks, besides.
struct WebCaller {
  std::vector<std::string> headers = {};  // "Authorization: Bearer x"
  std::string cert_file = {};             // of a client certificate
  std::string key_file = {};
  bool trusts_anybody = false;  // with https, without a CA
};

// `ca_file`: whom to trust with https.
WebAnswer web_request(const std::string& method, const std::string& url,
                      const std::string& body = {}, const std::string& ca_file = {},
                      const WebCaller& caller = {});
inline WebAnswer web_get(const std::string& url, const std::string& ca_file = {}) {
  return web_request("GET", url, {}, ca_file);
}

// A TCP connection to 127.0.0.1.
class RawConnection {
 public:
  explicit RawConnection(std::uint16_t port);
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool send(const std::string& bytes);
  // What arrives until the server closes the connection; `closed` is false if it does not within
  // the time.
  std::string read_to_end(int timeout_ms, bool& closed);

 private:
  int socket_ = -1;
};

}  // namespace plimsoll::test
