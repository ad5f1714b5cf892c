#include "informer/http/http_extenders.hpp"

#include <utility>

#include "framework/base/log.hpp"

namespace plimsoll::informer {
namespace {

std::string trimmed(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  return url;
}

// From the file if one is named; its text otherwise.
Result<void> take_pem(const std::string& file, const std::string& text, std::string_view what,
                      std::string& pem, std::string& pem_file) {
  pem = text;
  if (!text.empty() || file.empty()) return {};
  auto read = read_file(file, what);
  if (!read) return fail(read.error());
  pem = std::move(*read);
  pem_file = file;
  return {};
}

// Kubernetes: makeTransport in pkg/scheduler/extender.go.
Result<ServerAccess> access_to(const ExtenderSpec& extender) {
  ServerAccess access;
  access.server = trimmed(extender.url_prefix);
  access.peer = "the extender";
  access.source = "extender " + extender.url_prefix;
  const ExtenderTls& tls = extender.tls;
  access.tls_server_name = tls.server_name;
  const Result<void> read =
      take_pem(tls.ca_file, tls.ca_pem, "certificate authority", access.certificate_authority_pem,
               access.certificate_authority_file)
          .and_then([&] {
            return take_pem(tls.cert_file, tls.cert_pem, "client certificate",
                            access.client_certificate_pem, access.client_certificate_file);
          })
          .and_then([&] {
            return take_pem(tls.key_file, tls.key_pem, "client key", access.client_key_pem,
                            access.client_key_file);
          });
  if (!read) return fail(read.error());
  const bool has_authority = !access.certificate_authority_pem.empty();
  access.insecure_skip_tls_verify = tls.insecure || (extender.enable_https && !has_authority);
  if (access.insecure_skip_tls_verify && has_authority) {
    return fail(ErrorCode::kInvalid,
                "tlsConfig has both insecure and a certificate authority; remove one");
  }
  if (access.insecure_skip_tls_verify && access.server.rfind("https://", 0) == 0) {
    log_warn("an extender is not verified: anybody could answer in its place",
             {{"extender", extender.url_prefix}});
  }
  return access;
}

}  // namespace

Result<std::unique_ptr<HttpExtenders>> HttpExtenders::create(
    const std::vector<ExtenderSpec>& extenders, const WriteFence* fence) {
  std::unique_ptr<HttpExtenders> made(new HttpExtenders(fence));
  for (const ExtenderSpec& extender : extenders) {
    const std::string what = "extender " + extender.url_prefix;
    auto access = access_to(extender);
    if (!access) return fail(access.error().within(what));
    HttpClientOptions options;
    options.thread_name = "plimsoll-extend";
    auto client = HttpClient::create(*access, std::make_shared<CredentialSource>(*access), options);
    if (!client) return fail(client.error().within(what));
    made->all_.push_back({trimmed(extender.url_prefix), extender.timeout, std::move(*client)});
  }
  return made;
}

void HttpExtenders::call(std::size_t extender, std::string_view verb, std::string body,
                         std::size_t most, Done done) {
  One& one = all_[extender];
  HttpRequest request;
  request.method = "POST";
  request.path = "/" + std::string(verb);
  request.body = std::move(body);
  request.timeout = one.timeout;
  request.max_body = most;
  request.fence = fence_;
  const std::string url = one.url_prefix + request.path;
  HttpHandlers handlers;
  handlers.on_done = [url, verb = std::string(verb),
                      done = std::move(done)](Result<HttpResponse> response) {
    if (!response) return done(fail(response.error().within("POST " + url)));
    if (response->status != 200) {
      return done(fail(ErrorCode::kUnavailable, "failed " + verb + " with extender at URL " + url +
                                                    ", code " + std::to_string(response->status)));
    }
    done(std::move(response->body));
  };
  one.client->submit(std::move(request), std::move(handlers));
}

void HttpExtenders::stop() {
  for (One& one : all_) one.client->stop();
}

}  // namespace plimsoll::informer
