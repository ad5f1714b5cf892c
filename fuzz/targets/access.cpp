// Address and credentials of the API server: kubeconfig files, and the output of an exec credential
// plugin.

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/target.hpp"
#include "informer/http/exec_plugin.hpp"
#include "informer/http/kubeconfig.hpp"

namespace plimsoll::fuzz {
namespace {

// A file with a path that only this process can see.
class HiddenFile {
 public:
  HiddenFile() : fd_(memfd_create("kubeconfig", 0)) { require(fd_ >= 0, "there is memory"); }
  ~HiddenFile() { close(fd_); }
  HiddenFile(const HiddenFile&) = delete;
  HiddenFile& operator=(const HiddenFile&) = delete;

  void write(std::string_view text) const {
    require(ftruncate(fd_, 0) == 0, "a file can be emptied");
    require(pwrite(fd_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
            "a file can be written");
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace

void kubeconfig(std::string_view input) {
  static const HiddenFile kFile;
  kFile.write(input);
  informer::KubeconfigOptions options;
  options.path = kFile.path();
  const auto access = informer::load_server_access(options);
  if (!access) return require(!access.error().message.empty(), "an error says something");
  require(access->server.starts_with("http"), "a server is an URL: ", access->server);
  require(!access->insecure_skip_tls_verify, "who did not allow it is not without TLS");
  for (const std::string& header : access->impersonation_headers) {
    require(header.find_first_of("\r\n") == std::string::npos, "a header is a line: ", header);
  }
  require(access->token.find_first_of("\r\n") == std::string::npos, "a token is a line");
}

void exec_credential(std::string_view input) {
  const bool beta = take_byte(input) % 2 == 1;
  const auto credential = informer::parse_exec_credential(
      std::string(input),
      beta ? "client.authentication.k8s.io/v1beta1" : "client.authentication.k8s.io/v1");
  if (!credential) return require(!credential.error().message.empty(), "an error says something");
  require(!credential->token.empty() || !credential->client_certificate_pem.empty(),
          "a credential proves something");
  require(credential->token.find_first_of("\r\n") == std::string::npos, "a token is a line");
}

}  // namespace plimsoll::fuzz
