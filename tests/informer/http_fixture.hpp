#pragma once
// What most tests of this folder need: a client for a scripted server, and waiting for asynchronous
// answers.

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>

#include "informer/http/http_client.hpp"

namespace plimsoll::informer::test {

inline std::unique_ptr<HttpClient> client_for(const ServerAccess& access,
                                              const HttpClientOptions& options = {}) {
  auto client = HttpClient::create(access, std::make_shared<CredentialSource>(access), options);
  EXPECT_TRUE(client.has_value());
  return std::move(*client);
}

inline std::unique_ptr<HttpClient> client_for(const std::string& url) {
  ServerAccess access;
  access.server = url;
  access.source = "the test";
  return client_for(access);
}

// Sends, and does not wait. `id`: if not null, what it is cancelled by.
inline std::future<Result<HttpResponse>> begin(HttpClient& client, HttpRequest request,
                                               HttpClient::RequestId* id = nullptr) {
  auto promise = std::make_shared<std::promise<Result<HttpResponse>>>();
  HttpHandlers handlers;
  handlers.on_done = [promise](Result<HttpResponse> result) {
    promise->set_value(std::move(result));
  };
  const auto given = client.submit(std::move(request), std::move(handlers));
  if (id != nullptr) *id = given;
  return promise->get_future();
}

// Sends and waits.
inline Result<HttpResponse> fetch(HttpClient& client, HttpRequest request) {
  return call(client, std::move(request));
}

inline Result<HttpResponse> get(HttpClient& client, const std::string& path) {
  HttpRequest request;
  request.path = path;
  return fetch(client, std::move(request));
}

// A log that one thread writes and another waits on.
class Journal {
 public:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  // Waits until a line contains `part` for the `n`th time; false after half a minute.
  [[nodiscard]] bool wait_for(const std::string& part, std::size_t n = 1) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] {
      std::size_t found = 0;
      for (const std::string& line : lines_) {
        if (line.find(part) != std::string::npos) ++found;
      }
      return found >= n;
    });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> lines_;
};

}  // namespace plimsoll::informer::test
