#pragma once
// A small blocking REST client with which tests set up and look at a real API server, independent
// of the scheduler's own client code.
//
//   KubeClient client(cluster.admin());
//   KubeReply reply = client.post("/api/v1/nodes", node);
//   ASSERT_EQ(reply.status, 201) << reply.body;

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::test {

// Where a server is and as whom to talk to it. TLS is always verified against ca_file.
struct KubeAccess {
  std::string server = {};  // "https://127.0.0.1:6443"
  std::string ca_file = {};
  std::string cert_file = {};  // a client certificate and its key, or
  std::string key_file = {};
  std::string token = {};  // a bearer token
};

// The server's answer, whatever its status; status 0: no answer, and body says why.
struct KubeReply {
  long status = 0;
  std::string body = {};

  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
  // The body as JSON; a discarded value (is_discarded()) if it is none.
  [[nodiscard]] nlohmann::json json() const;
  // A Status object's "reason", such as AlreadyExists; empty if there is none.
  [[nodiscard]] std::string reason() const;
};

// One keep-alive connection; for one thread at a time. Every call blocks, for 30 s at most.
class KubeClient {
 public:
  explicit KubeClient(KubeAccess access);
  ~KubeClient();
  KubeClient(KubeClient&&) noexcept;
  KubeClient& operator=(KubeClient&&) noexcept;
  KubeClient(const KubeClient&) = delete;
  KubeClient& operator=(const KubeClient&) = delete;

  // The path begins with a slash and may carry a query.
  KubeReply get(std::string_view path);
  KubeReply post(std::string_view path, const nlohmann::json& body);
  KubeReply put(std::string_view path, const nlohmann::json& body);
  // A merge patch unless another content type is named, such as
  // application/strategic-merge-patch+json.
  KubeReply patch(std::string_view path, const nlohmann::json& body,
                  std::string_view content_type = "application/merge-patch+json");
  // The body, if any, is a DeleteOptions object.
  KubeReply del(std::string_view path);
  KubeReply del(std::string_view path, const nlohmann::json& body);
  // Any other request; the body is sent as it is.
  KubeReply request(std::string_view method, std::string_view path, std::string_view body = {},
                    std::string_view content_type = "application/json");

  // All objects of a collection, page by page (limit, continue); the first failure ends it. `query`
  // is added to each request ("fieldSelector=spec.nodeName%3Da").
  [[nodiscard]] Result<std::vector<nlohmann::json>> list(std::string_view path,
                                                         std::string_view query = {});

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

// One object and the collection that it is posted to.
struct KubeObject {
  std::string path = {};
  std::string body = {};
};

// Posts all objects over `threads` keep-alive connections, in no particular order; kInternal with
// the server's answer for the first one that was not created.
[[nodiscard]] Result<void> create_all(const KubeAccess& access,
                                      const std::vector<KubeObject>& objects, int threads = 8);

}  // namespace plimsoll::test
