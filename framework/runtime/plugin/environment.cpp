#include "framework/runtime/plugin/environment.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "framework/base/log.hpp"

namespace plimsoll {

struct ServiceTable::Impl {
  struct Service {
    uint32_t version;
    const void* table;
  };
  std::map<std::string, Service, std::less<>> services;
};

ServiceTable::ServiceTable() : impl_(std::make_unique<Impl>()) {}
ServiceTable::~ServiceTable() = default;

bool ServiceTable::publish(std::string_view name, uint32_t version, const void* table) {
  return impl_->services.emplace(std::string(name), Impl::Service{version, table}).second;
}

const void* ServiceTable::find(std::string_view name, uint32_t min_version) const {
  auto found = impl_->services.find(name);
  if (found == impl_->services.end() || found->second.version < min_version) return nullptr;
  return found->second.table;
}

struct TokenTable::Impl {
  struct Pending {
    std::string plugin;
    Then then;
  };
  std::mutex mutex;
  std::condition_variable ended;
  size_t ending = 0;  // steps that are being ended
  uintptr_t next = 1;
  std::unordered_map<uintptr_t, Pending> pending;

  bool take(plimsoll_token* token, Pending& out) {
    std::lock_guard lock(mutex);
    auto found = pending.find(reinterpret_cast<uintptr_t>(token));
    if (found == pending.end()) return false;
    out = std::move(found->second);
    pending.erase(found);
    ++ending;
    return true;
  }
  void taken() {
    const std::lock_guard lock(mutex);
    if (--ending == 0) ended.notify_all();
  }
};

TokenTable::TokenTable() : impl_(std::make_unique<Impl>()) {}
TokenTable::~TokenTable() = default;

plimsoll_token* TokenTable::issue(std::string_view plugin, Then then) {
  std::lock_guard lock(impl_->mutex);
  const uintptr_t id = impl_->next++;
  impl_->pending.emplace(id, Impl::Pending{std::string(plugin), std::move(then)});
  return reinterpret_cast<plimsoll_token*>(id);
}

bool TokenTable::complete(plimsoll_token* token, int32_t code, std::string_view message) {
  Impl::Pending pending;
  if (!impl_->take(token, pending)) {
    log_warn("a token was completed twice or is unknown; ignored",
             {{"token", reinterpret_cast<uintptr_t>(token)}, {"message", message}});
    return false;
  }
  pending.then(code, message);
  pending = {};  // with what it holds of plugins: close() waits for that too
  impl_->taken();
  return true;
}

void TokenTable::close() {
  std::unordered_map<uintptr_t, Impl::Pending>
      dropped;  // outlives the lock: a plugin's code may go
  std::unique_lock lock(impl_->mutex);
  dropped.swap(impl_->pending);
  impl_->ended.wait(lock, [this] { return impl_->ending == 0; });
}

bool TokenTable::withdraw(plimsoll_token* token) {
  Impl::Pending pending;
  if (!impl_->take(token, pending)) return false;
  pending = {};
  impl_->taken();
  return true;
}

}  // namespace plimsoll
