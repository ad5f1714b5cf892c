#pragma once
// What is asked over HTTP, and what is answered.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::serving {

// A user as Kubernetes knows users (UserInfo of authentication.k8s.io/v1).
struct User {
  std::string name = {};
  std::string uid = {};
  std::vector<std::string> groups = {};
  std::map<std::string, std::vector<std::string>> extra = {};
};

struct Request {
  std::string method;
  std::string path;   // decoded, without the query
  std::string query;  // as sent, without the '?'
  std::string body;
  std::string verb = {};          // the method as sent, in small letters: "get", "head"
  std::string bearer_token = {};  // empty: none
  // Of a client certificate that --client-ca-file vouches for.
  std::optional<User> certificate_user = {};
  std::string host = {};  // the header, as sent
  // On a local socket: the user id of the process that connected (SO_PEERCRED).
  std::optional<std::uint32_t> local_user = {};

  // The values of a parameter, decoded; one empty text for "?verbose".
  [[nodiscard]] std::vector<std::string> parameters(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return !parameters(name).empty(); }
};

struct Response {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};  // further ones
};

// Takes what makes an answer; that is called on the server's thread. To be called once, on any
// thread; it may outlive the server.
using Reply = std::function<void(std::function<Response()> make)>;

// Called on the server's thread; must not block. The request is only there during the call.
using Handler = std::function<Response(const Request&)>;
using LateHandler = std::function<void(const Request&, Reply reply)>;  // the answer may come later

// Decides before the handler is called: who may ask for what, and what somebody else answers. The
// reply with nothing lets the request in; otherwise it is the answer.
using Gate = LateHandler;

// An answer that is there already.
[[nodiscard]] inline std::function<Response()> ready(Response response) {
  return [response = std::move(response)] { return response; };
}

// Text with its %XX decoded.
[[nodiscard]] std::string decode_url(std::string_view text, bool plus_is_space);

}  // namespace plimsoll::serving
