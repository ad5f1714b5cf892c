#pragma once
// A ServerWriter in front of a scripted API server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "informer/write/api_writer.hpp"
#include "tests/informer/http_fixture.hpp"
#include "tests/informer/scripted_server.hpp"

namespace plimsoll::informer::test {

using nlohmann::json;
using namespace std::chrono_literals;

inline BindRequest some_bind() {
  return {"ns", "pod", "uid-1", "node-a", {{"alloc", R"({"gpu":[0]})"}}};
}

inline std::string pod(const std::string& uid, const std::string& node, const std::string& alloc) {
  return json{{"metadata", {{"uid", uid}, {"annotations", {{"alloc", alloc}}}}},
              {"spec", {{"nodeName", node}}}}
      .dump();
}

class ApiWriterTest : public ::testing::Test {
 protected:
  using Answer = std::function<void(int call, const Received&, Exchange&)>;

  void start(Answer answer) {
    answer_ = std::move(answer);
    server_ = std::make_unique<ScriptedServer>([this](const Received& request, Exchange& exchange) {
      answer_(++calls_, request, exchange);
    });
    binds_ = client_for(server_->url());
    others_ = client_for(server_->url());
    options.first_delay = 10ms;
    options.max_delay = 40ms;
    options.reporting_instance = "plimsoll-host";
    writer_ = std::make_unique<ServerWriter>(*binds_, *others_, options);
  }

  void TearDown() override {
    if (writer_) writer_->stop();
    if (binds_) binds_->stop();
    if (others_) others_->stop();
    if (server_) server_->stop();
  }

  Result<void> bind(BindRequest request = some_bind()) {
    std::promise<Result<void>> promise;
    writer_->bind(std::move(request),
                  [&](Result<void> done) { promise.set_value(std::move(done)); });
    return promise.get_future().get();
  }

  Result<HttpResponse> send(WriteClass write_class, HttpRequest request) {
    std::promise<Result<HttpResponse>> promise;
    writer_->send(write_class, std::move(request),
                  [&](Result<HttpResponse> done) { promise.set_value(std::move(done)); });
    return promise.get_future().get();
  }

  // What was asked, as "METHOD target".
  [[nodiscard]] std::vector<std::string> asked() const {
    std::vector<std::string> lines;
    for (const Received& request : server_->received()) {
      lines.push_back(request.method + " " + request.target);
    }
    return lines;
  }

  WriteOptions options;
  Answer answer_;
  std::atomic<int> calls_{0};
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<HttpClient> binds_, others_;
  std::unique_ptr<ServerWriter> writer_;
};

inline const std::string kBindCall = "POST /api/v1/namespaces/ns/pods/pod/binding";
inline const std::string kGetCall = "GET /api/v1/namespaces/ns/pods/pod";

// An API server's pod: a patch of another version than its own is refused.
class ConditionTest : public ApiWriterTest {
 protected:
  void start_with_pod() {
    start([this](int, const Received& request, Exchange& exchange) {
      if (request.method == "GET") {
        exchange.reply(gone ? 404 : 200,
                       json{{"metadata", {{"uid", uid.load()}, {"resourceVersion", version()}}},
                            {"spec", {{"nodeName", bound ? "node-a" : ""}}}}
                           .dump());
      } else if (request.method == "PATCH") {
        if (moving) ++number;
        const json metadata = json::parse(request.body)["metadata"];
        const bool same = metadata["uid"] == uid.load() && !gone &&
                          metadata.value("resourceVersion", version()) == version();
        if (same) ++number;
        exchange.reply(same ? 200 : 409, R"({"message":"the object has been modified"})");
      } else {
        exchange.reply(201, "{}");
      }
    });
  }

  [[nodiscard]] std::string version() const { return std::to_string(number); }

  // A patch by somebody who saw version 7.
  Result<void> patch() {
    std::promise<Result<void>> promise;
    writer_->patch_condition({"ns", "pod", "u", "7", "Unschedulable", "none fits", 0, false, ""},
                             [&](Result<void> done) { promise.set_value(std::move(done)); });
    return promise.get_future().get();
  }

  std::atomic<const char*> uid{"u"};
  std::atomic<int> number{7};
  std::atomic<bool> bound{false}, gone{false}, moving{false};
};

}  // namespace plimsoll::informer::test
