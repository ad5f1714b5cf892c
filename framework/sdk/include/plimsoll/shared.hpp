// Plimsoll plugin SDK: what all instances of a plugin file share.
//
//   Shared<Seats> seats_(host, "example.com/seats", [&] { return std::make_unique<Seats>(host); });
//   if (seats_.feeds()) seats_->pod_assigned(pod, node);
//
// A plugin has an instance for each profile that enables it, and several plugins of one file may
// need the same facts. They share one store: the first that asks makes it, and it goes with the
// last. Each event reaches every instance, so one of them, the feeder, passes it on. Loop only.
#pragma once

#include <plimsoll/host.hpp>

#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::sdk {

// An instance's part in the store; none until it is assigned one.
template <typename Store>
class Shared {
 public:
  Shared() = default;
  // The store that the instances of this scheduler share under `name`; `make()`, a unique_ptr
  // or a shared_ptr, makes it if nobody has it. Throws what `make` throws, and if another plugin
  // file has taken the name.
  template <typename Make>
  Shared(const Host& host, std::string_view name, const Make& make)
      : part_(std::make_unique<Part>(body_of(host, name, make))) {}

  // Whether this plugin file has the name.
  [[nodiscard]] static bool is_here(const Host& host, std::string_view name) {
    const Entry* known = host.find_service<Entry>(name, 1);
    return known != nullptr && known->file == &kFile;
  }

  explicit operator bool() const { return part_ != nullptr; }
  Store& operator*() const { return *part_->body->store; }
  Store* operator->() const { return part_->body->store.get(); }

  // Whether this instance passes on such events: the first that asks does, and another when it is
  // gone. `what` tells apart kinds of events that not all instances get.
  [[nodiscard]] bool feeds(std::string_view what = {}) const {
    std::vector<Feed>& feeds = part_->body->feeds;
    for (Feed& each : feeds) {
      if (each.what != what) continue;
      if (each.feeder == nullptr) each.feeder = part_.get();
      return each.feeder == part_.get();
    }
    feeds.push_back({std::string(what), part_.get()});
    return true;
  }

 private:
  struct Feed {
    std::string what;
    const void* feeder;  // null: nobody
  };
  struct Body {
    std::shared_ptr<Store> store;
    std::vector<Feed> feeds;
  };
  struct Part {
    explicit Part(std::shared_ptr<Body> shared) : body(std::move(shared)) {}
    ~Part() {
      for (Feed& each : body->feeds) {
        if (each.feeder == this) each.feeder = nullptr;
      }
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    std::shared_ptr<Body> body;
  };
  // What is published: it stays as long as the process, as every service does.
  struct Entry {
    const void* file;  // which plugin file's
    std::weak_ptr<Body> body;
  };
  // Of this file alone, whatever visibility its symbols have otherwise.
  [[gnu::visibility("hidden")]] static inline const char kFile = 0;
  [[gnu::visibility("hidden")]] static inline std::deque<Entry> entries;

  template <typename Make>
  static std::shared_ptr<Body> body_of(const Host& host, std::string_view name, const Make& make) {
    const Entry* known = host.find_service<Entry>(name, 1);
    if (known != nullptr && known->file != &kFile) {
      throw std::runtime_error("another plugin file has " + std::string(name) +
                               " already; load only one of them");
    }
    if (known != nullptr) {
      if (auto body = known->body.lock()) return body;
    }
    auto body = std::make_shared<Body>(Body{make(), {}});
    // The entry is this file's own, and not constant.
    Entry& entry = known == nullptr ? entries.emplace_back() : *const_cast<Entry*>(known);
    entry = {&kFile, body};
    // A host that keeps no services has one instance.
    if (known == nullptr) static_cast<void>(host.publish(name, 1, &entry));
    return body;
  }

  std::unique_ptr<Part> part_;
};

}  // namespace plimsoll::sdk
