#include "informer/credentials.hpp"

#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "framework/base/log.hpp"
#include "informer/exec_plugin.hpp"

namespace plimsoll::informer {
namespace {

using SteadyClock = std::chrono::steady_clock;
using SystemClock = std::chrono::system_clock;

constexpr auto kLookEvery = std::chrono::seconds(1);
constexpr auto kReadEvery = std::chrono::seconds(60);
constexpr auto kExecDeadline = std::chrono::seconds(60);

// Enough of a file's identity to notice that it was written or replaced.
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

}  // namespace

struct CredentialSource::Impl {
  explicit Impl(const ServerAccess& from) : access(from) {}

  const ServerAccess access;
  std::mutex mutex;                       // guards everything below
  bool refreshing = false;                // a plugin runs, for one caller of refresh()
  std::condition_variable_any refreshed;  // it has ended
  CredentialRef credential;
  std::optional<SystemClock::time_point> expires;
  std::uint64_t generation = 0;
  Stamp token_stamp, certificate_stamp, key_stamp;
  SteadyClock::time_point looked{};
  SteadyClock::time_point read{};

  [[nodiscard]] bool has_files() const {
    return !access.token_file.empty() || !access.client_certificate_file.empty();
  }

  // The credential that needs no plugin, from `access` and its files. Called with `mutex` held.
  Result<CredentialRef> load() {
    auto next = std::make_shared<Credential>();
    next->bearer_token = access.token;
    next->username = access.username;
    next->password = access.password;
    next->client_certificate_pem = access.client_certificate_pem;
    next->client_key_pem = access.client_key_pem;
    token_stamp = stamp_of(access.token_file);
    certificate_stamp = stamp_of(access.client_certificate_file);
    key_stamp = stamp_of(access.client_key_file);
    looked = read = SteadyClock::now();
    if (!access.token_file.empty()) {
      auto token = read_file(access.token_file, access.source + ": token file");
      if (!token) return fail(ErrorCode::kUnauthorized, token.error().message);
      next->bearer_token = trimmed(std::move(*token));
      if (next->bearer_token.empty()) {
        return fail(ErrorCode::kUnauthorized,
                    access.source + ": the token file " + access.token_file + " is empty");
      }
    }
    if (!access.client_certificate_file.empty() && !access.client_key_file.empty()) {
      auto certificate = read_file(access.client_certificate_file, "client certificate");
      auto key = read_file(access.client_key_file, "client key");
      if (!certificate) return fail(ErrorCode::kUnauthorized, certificate.error().message);
      if (!key) return fail(ErrorCode::kUnauthorized, key.error().message);
      next->client_certificate_pem = std::move(*certificate);
      next->client_key_pem = std::move(*key);
    }
    return adopt(std::move(next));
  }

  // Makes `next` the current credential; keeps the old one if nothing differs. Called with `mutex`
  // held.
  CredentialRef adopt(std::shared_ptr<Credential> next) {
    if (credential != nullptr && credential->bearer_token == next->bearer_token &&
        credential->client_certificate_pem == next->client_certificate_pem &&
        credential->client_key_pem == next->client_key_pem) {
      return credential;
    }
    next->generation = ++generation;
    credential = std::move(next);
    return credential;
  }

  // Called with `mutex` held.
  void look_at_files() {
    const auto now = SteadyClock::now();
    if (!has_files() || now - looked < kLookEvery) return;
    looked = now;
    const bool changed = !(stamp_of(access.token_file) == token_stamp) ||
                         !(stamp_of(access.client_certificate_file) == certificate_stamp) ||
                         !(stamp_of(access.client_key_file) == key_stamp);
    if (!changed && now - read < kReadEvery) return;
    if (auto loaded = load(); !loaded) {
      log_warn("keeping the previous credential", {{"error", loaded.error().message}});
    }
  }
};

CredentialSource::CredentialSource(const ServerAccess& access)
    : impl_(std::make_unique<Impl>(access)) {}

CredentialSource::~CredentialSource() = default;

CredentialRef CredentialSource::current() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->access.exec) {
    if (impl_->expires && SystemClock::now() >= *impl_->expires) impl_->credential = nullptr;
    return impl_->credential;
  }
  if (impl_->credential == nullptr) {
    if (auto loaded = impl_->load(); !loaded) return nullptr;  // refresh() says why
  } else {
    impl_->look_at_files();
  }
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
  if (!impl_->access.exec) {
    const std::lock_guard lock(impl_->mutex);
    return impl_->load();
  }
  auto fetched = run_exec_plugin(impl_->access, stop, kExecDeadline);
  if (!fetched) return fail(fetched.error());
  auto next = std::make_shared<Credential>();
  next->bearer_token = std::move(fetched->token);
  next->client_certificate_pem = fetched->client_certificate_pem.empty()
                                     ? impl_->access.client_certificate_pem
                                     : std::move(fetched->client_certificate_pem);
  next->client_key_pem = fetched->client_key_pem.empty() ? impl_->access.client_key_pem
                                                         : std::move(fetched->client_key_pem);
  const std::lock_guard lock(impl_->mutex);
  impl_->expires = fetched->expires;
  return impl_->adopt(std::move(next));
}

bool CredentialSource::reject(std::uint64_t generation) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->credential != nullptr && impl_->credential->generation != generation) return true;
  if (impl_->access.exec) {
    impl_->credential = nullptr;
    return true;
  }
  if (!impl_->has_files()) return false;
  const auto loaded = impl_->load();
  return loaded && (*loaded)->generation != generation;
}

}  // namespace plimsoll::informer
