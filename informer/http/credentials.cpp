#include "informer/http/credentials.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "framework/base/log.hpp"
#include "informer/http/exec_plugin.hpp"

namespace plimsoll::informer {
namespace {

using SteadyClock = std::chrono::steady_clock;
using SystemClock = std::chrono::system_clock;

constexpr auto kLookEvery = std::chrono::seconds(1);
constexpr auto kReadEvery = std::chrono::seconds(60);
constexpr auto kExecDeadline = std::chrono::seconds(60);

// The part of a file's identity that shows whether it was written or replaced.
struct Stamp {
  ino_t inode = 0;
  off_t size = 0;
  timespec changed{};

  bool operator==(const Stamp& other) const {
    return inode == other.inode && size == other.size && changed.tv_sec == other.changed.tv_sec &&
           changed.tv_nsec == other.changed.tv_nsec;
  }
};

Stamp stamp_of(const std::string& path) {
  struct stat info {};
  Stamp stamp;
  if (path.empty() || ::stat(path.c_str(), &info) != 0) return stamp;
  stamp.inode = info.st_ino;
  stamp.size = info.st_size;
  stamp.changed = info.st_mtim;
  return stamp;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

// Whether the certificate and the key do not match, because the two files were not replaced at the
// same moment. If OpenSSL cannot read them, returns false; TLS reports the error later.
bool is_torn(const std::string& certificate_pem, const std::string& key_pem) {
  const auto open = [](const std::string& text) {
    return std::unique_ptr<BIO, Free>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  };
  const std::unique_ptr<X509, Free> certificate(
      PEM_read_bio_X509(open(certificate_pem).get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<EVP_PKEY, Free> key(
      PEM_read_bio_PrivateKey(open(key_pem).get(), nullptr, nullptr, nullptr));
  const bool torn = certificate != nullptr && key != nullptr &&
                    X509_check_private_key(certificate.get(), key.get()) != 1;
  ERR_clear_error();
  return torn;
}

bool same_material(const Credential& a, const Credential& b) {
  return a.bearer_token == b.bearer_token && a.client_certificate_pem == b.client_certificate_pem &&
         a.client_key_pem == b.client_key_pem &&
         a.certificate_authority_pem == b.certificate_authority_pem;
}

}  // namespace

struct CredentialSource::Impl {
  Impl(const ServerAccess& from, const CredentialOptions& how) : access(from), options(how) {}

  const ServerAccess access;
  const CredentialOptions options;
  std::mutex mutex;                       // guards everything below
  bool refreshing = false;                // a plugin runs for a caller of refresh()
  std::condition_variable_any refreshed;  // the plugin has ended
  CredentialRef credential;               // null: there is none, or a new one has to be fetched
  std::uint64_t generation = 0;

  // The part from `access` and its files; without a plugin, everything.
  std::optional<Credential> base;
  Stamp token_stamp, certificate_stamp, key_stamp, authority_stamp;
  SteadyClock::time_point looked{};
  SteadyClock::time_point read{};

  // The plugin's part.
  std::optional<ExecCredential> fetched;
  bool was_expired = false;  // already when it was fetched
  std::optional<Error> failure;
  int useless = 0;  // successive runs without a usable credential
  SteadyClock::time_point ran{};
  SteadyClock::time_point next_run{};

  [[nodiscard]] bool has_files() const {
    return !access.token_file.empty() || !access.client_certificate_file.empty() ||
           !access.certificate_authority_file.empty();
  }

  [[nodiscard]] std::chrono::milliseconds pause() const {
    if (useless == 0) return std::chrono::milliseconds(0);
    return std::min(options.longest_pause, options.first_pause * (1 << std::min(useless - 1, 16)));
  }

  // Reads `base`. Called with `mutex` held.
  Result<void> load() {
    Credential next;
    next.bearer_token = access.token;
    next.username = access.username;
    next.password = access.password;
    next.client_certificate_pem = access.client_certificate_pem;
    next.client_key_pem = access.client_key_pem;
    next.certificate_authority_pem = access.certificate_authority_pem;
    take_stamps();
    looked = read = SteadyClock::now();
    const auto read_into = [](const std::string& file, const std::string& what,
                              std::string& into) -> Result<void> {
      if (file.empty()) return {};
      auto text = read_file(file, what);
      if (!text) return fail(ErrorCode::kUnauthorized, text.error().message);
      into = std::move(*text);
      return {};
    };
    auto done = read_into(access.token_file, access.source + ": token file", next.bearer_token);
    if (!done) return done;
    if (!access.token_file.empty()) next.bearer_token = trimmed(std::move(next.bearer_token));
    if (!access.token_file.empty() && next.bearer_token.empty()) {
      return fail(ErrorCode::kUnauthorized,
                  access.source + ": the token file " + access.token_file + " is empty");
    }
    done =
        check_header_text(next.bearer_token, access.source + ": token file " + access.token_file);
    if (!done) return fail(ErrorCode::kUnauthorized, done.error().message);
    done = read_into(access.client_certificate_file, "client certificate",
                     next.client_certificate_pem);
    if (!done) return done;
    done = read_into(access.client_key_file, "client key", next.client_key_pem);
    if (!done) return done;
    if (base && is_torn(next.client_certificate_pem, next.client_key_pem)) {
      return fail(ErrorCode::kUnauthorized, access.source +
                                                ": the client certificate and the client key do "
                                                "not belong together");
    }
    done = read_into(access.certificate_authority_file, "certificate authority",
                     next.certificate_authority_pem);
    if (!done) return done;
    if (!access.certificate_authority_file.empty() &&
        next.certificate_authority_pem.find("-----BEGIN ") == std::string::npos) {
      return fail(ErrorCode::kUnauthorized, access.source + ": " +
                                                access.certificate_authority_file +
                                                " holds no certificate in PEM format");
    }
    base = std::move(next);
    return {};
  }

  void take_stamps() {
    token_stamp = stamp_of(access.token_file);
    certificate_stamp = stamp_of(access.client_certificate_file);
    key_stamp = stamp_of(access.client_key_file);
    authority_stamp = stamp_of(access.certificate_authority_file);
  }

  // Builds a credential from the parts; keeps the old one if nothing differs. Called with `mutex`
  // held.
  CredentialRef compose() {
    Credential next = *base;
    if (fetched) {
      next.bearer_token = fetched->token;
      if (!fetched->client_certificate_pem.empty()) {
        next.client_certificate_pem = fetched->client_certificate_pem;
        next.client_key_pem = fetched->client_key_pem;
      }
    }
    if (credential == nullptr || !same_material(*credential, next)) {
      next.generation = ++generation;
      credential = std::make_shared<const Credential>(std::move(next));
    }
    return credential;
  }

  // Called with `mutex` held; there must be a credential.
  void look_at_files() {
    const auto now = SteadyClock::now();
    if (!has_files() || now - looked < kLookEvery) return;
    looked = now;
    const bool changed = !(stamp_of(access.token_file) == token_stamp) ||
                         !(stamp_of(access.client_certificate_file) == certificate_stamp) ||
                         !(stamp_of(access.client_key_file) == key_stamp) ||
                         !(stamp_of(access.certificate_authority_file) == authority_stamp);
    if (!changed && now - read < kReadEvery) return;
    if (auto loaded = load(); !loaded) {
      log_warn("keeping the previous credential", {{"error", loaded.error().message}});
      return;
    }
    compose();
  }

  // Drops a plugin's credential that has expired. Called with `mutex` held.
  void drop_expired() {
    if (credential == nullptr || !fetched || !fetched->expires) return;
    if (SystemClock::now() < *fetched->expires || SteadyClock::now() < next_run) return;
    if (!was_expired) useless = 0;  // it was usable
    credential = nullptr;
  }

  // Stores the result of a plugin. Called with `mutex` held.
  Result<CredentialRef> take(Result<ExecCredential> got) {
    failure.reset();
    ran = SteadyClock::now();
    was_expired = got && got->expires && SystemClock::now() >= *got->expires;
    if (!got || was_expired) ++useless;
    next_run = ran + pause();
    const std::string pause_text = std::to_string(pause().count()) + " ms";
    if (!got) {
      failure = got.error();
      log_warn("the exec credential plugin gave no credential",
               {{"error", failure->message}, {"next_run_in", pause_text}});
      return fail(*failure);
    }
    if (was_expired) {
      log_warn("the exec credential plugin gave a credential that has already expired; using it",
               {{"command", access.exec->command},
                {"next_run_in", pause_text},
                {"advice", "check this machine's clock, and log in again where the plugin does"}});
    }
    fetched = std::move(*got);
    return compose();
  }
};

CredentialSource::CredentialSource(const ServerAccess& access, const CredentialOptions& options)
    : impl_(std::make_unique<Impl>(access, options)) {}

CredentialSource::~CredentialSource() = default;

CredentialRef CredentialSource::current() {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->base && !impl_->load()) return nullptr;  // refresh() says why
  if (impl_->access.exec) {
    impl_->drop_expired();
  } else if (impl_->credential == nullptr) {
    impl_->compose();
  }
  if (impl_->credential != nullptr) impl_->look_at_files();
  return impl_->credential;
}

Result<CredentialRef> CredentialSource::refresh(std::stop_token stop) {
  {
    std::unique_lock lock(impl_->mutex);
    if (!impl_->refreshed.wait(lock, stop, [this] { return !impl_->refreshing; })) {
      return fail(ErrorCode::kCancelled, "the wait for a credential was given up");
    }
    impl_->refreshing = true;
  }
  const std::unique_ptr<Impl, void (*)(Impl*)> running(impl_.get(), [](Impl* impl) {
    {
      const std::lock_guard lock(impl->mutex);
      impl->refreshing = false;
    }
    impl->refreshed.notify_all();
  });
  if (CredentialRef ready = current(); ready != nullptr) return ready;  // another caller fetched it
  ServerAccess access = impl_->access;
  {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->base) {
      if (auto loaded = impl_->load(); !loaded) return fail(loaded.error());
    }
    if (!access.exec) return impl_->compose();
    if (impl_->failure && SteadyClock::now() < impl_->next_run) return fail(*impl_->failure);
    access.certificate_authority_pem = impl_->base->certificate_authority_pem;
  }
  auto got = run_exec_plugin(access, stop, kExecDeadline);
  if (!got && got.error().code == ErrorCode::kCancelled) return fail(got.error());
  const std::lock_guard lock(impl_->mutex);
  return impl_->take(std::move(got));
}

bool CredentialSource::reject(std::uint64_t generation) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->credential == nullptr || impl_->credential->generation != generation) {
    return impl_->access.exec || impl_->credential != nullptr;
  }
  if (impl_->access.exec) {
    const auto now = SteadyClock::now();
    if (now < impl_->next_run) return false;
    if (now - impl_->ran > 2 * impl_->options.longest_pause) impl_->useless = 0;  // it was usable
    ++impl_->useless;
    impl_->credential = nullptr;
    return true;
  }
  if (!impl_->has_files() || !impl_->load()) return false;
  return impl_->compose()->generation != generation;
}

}  // namespace plimsoll::informer
