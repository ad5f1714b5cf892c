// A Lease in a scripted API server: what is asked and sent, what answers mean, and an election over
// HTTP with its fence.

#include "informer/lease/lease.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "informer/lease/leader_elector.hpp"
#include "informer/write/api_writer.hpp"
#include "tests/informer/http_fixture.hpp"
#include "tests/informer/scripted_server.hpp"

namespace plimsoll::informer {
namespace {

using nlohmann::json;
using test::Exchange;
using test::Journal;
using test::Received;
using test::ScriptedServer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

// Keeps one lease as the API server does.
class LeaseServer {
 public:
  void answer(const Received& request, Exchange& exchange) {
    const std::lock_guard lock(mutex_);
    if (failing_) {
      exchange.reply(503, R"({"message":"etcd is away"})");
    } else if (request.method == "GET") {
      lease_.is_null() ? exchange.reply(404, R"({"message":"leases \"x\" not found"})")
                       : exchange.reply(200, lease_.dump());
    } else if (request.method == "POST") {
      if (!lease_.is_null()) {
        exchange.reply(409, R"({"message":"leases \"x\" already exists"})");
        return;
      }
      store(json::parse(request.body), exchange, 201);
    } else {
      const json next = json::parse(request.body);
      if (next["metadata"].value("resourceVersion", "") != std::to_string(version_)) {
        exchange.reply(409, R"({"message":"the object has been modified"})");
        return;
      }
      store(next, exchange, 200);
    }
  }

  void change(const std::function<void(json&)>& edit) {
    const std::lock_guard lock(mutex_);
    edit(lease_);
    if (!lease_.is_null()) lease_["metadata"]["resourceVersion"] = std::to_string(++version_);
  }
  [[nodiscard]] json lease() const {
    const std::lock_guard lock(mutex_);
    return lease_;
  }
  void fail_from_now_on() {
    const std::lock_guard lock(mutex_);
    failing_ = true;
  }

 private:
  void store(json next, Exchange& exchange, int status) {
    lease_ = std::move(next);
    lease_["metadata"]["resourceVersion"] = std::to_string(++version_);
    exchange.reply(status, lease_.dump());
  }

  mutable std::mutex mutex_;
  json lease_;
  int version_ = 0;
  bool failing_ = false;
};

class LeaseTest : public ::testing::Test {
 protected:
  void TearDown() override {
    client_->stop();
    server_.stop();
  }

  [[nodiscard]] std::vector<std::string> asked() const {
    std::vector<std::string> lines;
    for (const Received& request : server_.received()) {
      lines.push_back(request.method + " " + request.target);
    }
    return lines;
  }

  LeaseServer leases_;
  ScriptedServer server_{
      [this](const Received& request, Exchange& exchange) { leases_.answer(request, exchange); }};
  std::unique_ptr<HttpClient> client_ = test::client_for(server_.url());
  ApiServerLease lease_{*client_, "kube-system", "plimsoll"};
  const LeaseRecord mine_{"me", 15, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:02.500000Z",
                          2};
};

TEST_F(LeaseTest, IsCreatedReadAndReplaced) {
  EXPECT_EQ(lease_.get(5s).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(lease_.create(mine_, 5s));
  EXPECT_EQ(json::parse(server_.received().back().body), json::parse(R"({
      "apiVersion":"coordination.k8s.io/v1","kind":"Lease",
      "metadata":{"namespace":"kube-system","name":"plimsoll"},
      "spec":{"holderIdentity":"me","leaseDurationSeconds":15,"leaseTransitions":2,
              "acquireTime":"2026-01-01T00:00:00.000000Z",
              "renewTime":"2026-01-01T00:00:02.500000Z"}})"));
  LeaseRecord next = mine_;
  next.renew_time = "2026-01-01T00:00:04.500000Z";
  ASSERT_TRUE(lease_.update(next, 5s)) << "without reading first";
  EXPECT_EQ(lease_.get(5s), next);
  EXPECT_THAT(asked(), ElementsAre("GET " + kLeases + "/plimsoll", "POST " + kLeases,
                                   "PUT " + kLeases + "/plimsoll", "GET " + kLeases + "/plimsoll"));
}

TEST_F(LeaseTest, ConflictsAreSaid) {
  leases_.change([](json& lease) { lease = {{"metadata", {{"name", "plimsoll"}}}}; });
  EXPECT_EQ(lease_.create(mine_, 5s).error().code, ErrorCode::kConflict);
  ASSERT_TRUE(lease_.get(5s));
  leases_.change([](json& lease) { lease["spec"]["holderIdentity"] = "other"; });
  const auto refused = lease_.update(mine_, 5s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("lease kube-system/plimsoll"),
                                             HasSubstr("the object has been modified")));
  EXPECT_EQ(lease_.get(5s)->holder, "other");
}

TEST_F(LeaseTest, WhatOthersPutIntoItStays) {
  leases_.change([](json& lease) {
    lease = {{"metadata", {{"name", "plimsoll"}, {"labels", {{"team", "a"}}}}},
             {"spec", {{"holderIdentity", ""}, {"strategy", "OldestEmulationVersion"}}}};
  });
  ASSERT_TRUE(lease_.get(5s));
  ASSERT_TRUE(lease_.update(mine_, 5s));
  EXPECT_EQ(leases_.lease()["metadata"]["labels"]["team"], "a");
  EXPECT_EQ(leases_.lease()["spec"]["strategy"], "OldestEmulationVersion");
  EXPECT_EQ(leases_.lease()["spec"]["holderIdentity"], "me");
}

// Events about the lease name it, or `kubectl describe lease` does not find them.
TEST_F(LeaseTest, ItsUidIsKnownOnceItWasSeen) {
  EXPECT_EQ(lease_.uid(), "");
  EXPECT_FALSE(lease_.get(5s));
  EXPECT_EQ(lease_.uid(), "");
  leases_.change([](json& lease) {
    lease = {{"metadata", {{"name", "plimsoll"}, {"uid", "u1"}}}};
  });
  ASSERT_TRUE(lease_.get(5s));
  EXPECT_EQ(lease_.uid(), "u1");
  leases_.change([](json& lease) { lease["metadata"]["uid"] = "made again"; });
  ASSERT_TRUE(lease_.get(5s));
  EXPECT_EQ(lease_.uid(), "made again");
}

TEST_F(LeaseTest, AnEmptyLeaseIsNobodys) {
  leases_.change([](json& lease) { lease = {{"metadata", {{"name", "plimsoll"}}}}; });
  EXPECT_EQ(lease_.get(5s), LeaseRecord{});
  leases_.change([](json& lease) { lease["spec"] = {{"holderIdentity", nullptr}}; });
  EXPECT_EQ(lease_.get(5s), LeaseRecord{});
}

TEST_F(LeaseTest, WaitingIsBounded) {
  ScriptedServer silent([](const Received&, Exchange& exchange) { exchange.hang(10s); });
  const auto client = test::client_for(silent.url());
  ApiServerLease lease(*client, "a", "b");
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(lease.get(50ms).error().code, ErrorCode::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  std::thread stopper([&] {
    EXPECT_TRUE(silent.wait_for("GET", 2));
    client->stop();
  });
  EXPECT_EQ(lease.get(60s).error().code, ErrorCode::kCancelled);
  stopper.join();
  silent.stop();
}

TEST_F(LeaseTest, WaitingIsBoundedEvenIfTheClientIsHeldUp) {
  std::promise<void> release;
  client_->post([held = release.get_future().share()] { held.wait(); });
  const auto begun = std::chrono::steady_clock::now();
  const auto read = lease_.get(50ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  release.set_value();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(lease_.get(5s).error().code, ErrorCode::kNotFound) << "the next one is as ever";
}

// The whole of it, on the real clock: nothing is written before it leads, everything while it does,
// and not one request more once the deadline has passed.
TEST_F(LeaseTest, AWriterWritesOnlyWhileItLeads) {
  ScriptedServer writes([](const Received&, Exchange& exchange) { exchange.reply(201, "{}"); });
  const auto write_client = test::client_for(writes.url());
  WriteFence fence(200ms);
  WriteOptions write_options;
  write_options.fence = &fence;
  ServerWriter writer(*write_client, *write_client, write_options);
  const auto bind = [&] {
    std::promise<Result<void>> promise;
    writer.bind({"ns", "pod", "uid", "node", {}},
                [&](Result<void> done) { promise.set_value(std::move(done)); });
    return promise.get_future().get();
  };
  const auto early = bind();
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kCancelled);
  EXPECT_THAT(early.error().message, HasSubstr("does not lead"));

  LeaderElectionOptions options{"me", "kube-system/plimsoll", 800ms, 600ms, 50ms};
  std::promise<void> leading;
  LeaderElector elector(lease_, fence, options, {[&] { leading.set_value(); }, [](auto&) {}});
  LeaderElector::End end = LeaderElector::End::kStopped;
  std::jthread thread([&](const std::stop_token& stop) { end = elector.run(stop); });
  leading.get_future().wait();
  EXPECT_TRUE(bind());
  EXPECT_TRUE(server_.wait_for("PUT", 3)) << "it renews";
  EXPECT_TRUE(bind());
  leases_.fail_from_now_on();
  thread.join();
  EXPECT_EQ(end, LeaderElector::End::kLost);
  // The last try may have run out of time before it was sent.
  EXPECT_THAT(elector.loss(), AllOf(HasSubstr("not renewed for 0.6s"), HasSubstr("last error")));
  const auto before = writes.received().size();
  EXPECT_FALSE(bind());
  writer.record_event({});
  writer.patch_condition({}, nullptr);
  EXPECT_TRUE(writer.drain(5s));
  EXPECT_TRUE(writer.all_ended());
  EXPECT_EQ(writes.received().size(), before);
  writer.stop();
  write_client->stop();
  writes.stop();
}

// What is waiting when the fence closes ends there, however much it is.
TEST_F(LeaseTest, AClosedFenceEndsWhatWaits) {
  std::atomic<bool> open{false};
  ScriptedServer writes([&](const Received&, Exchange& exchange) {
    while (!open) std::this_thread::sleep_for(1ms);
    exchange.reply(201, "{}");
  });
  const auto write_client = test::client_for(writes.url());
  WriteFence fence(10s);
  fence.extend(BootClock::now() + 1h);
  WriteOptions write_options;
  write_options.fence = &fence;
  write_options.in_flight = {1, 1, 1, 1};
  write_options.timeout = 10min;  // the first is not sent again, however long the others take
  ServerWriter writer(*write_client, *write_client, write_options);
  constexpr int kBinds = 20'000;
  std::atomic<int> bound{0}, cancelled{0};
  for (int i = 0; i < kBinds; ++i) {
    writer.bind({"ns", "pod", "uid", "node", {}}, [&](const Result<void>& done) {
      if (done) ++bound;
      if (!done && done.error().code == ErrorCode::kCancelled) ++cancelled;
    });
  }
  ASSERT_TRUE(writes.wait_for("POST", 1));
  EXPECT_FALSE(writer.all_ended());
  fence.close();
  open = true;
  while (bound + cancelled < kBinds) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(bound, 1) << "the one that had been sent";
  EXPECT_EQ(writes.received().size(), 1u);
  writer.stop();
  write_client->stop();
  writes.stop();
}

}  // namespace
}  // namespace plimsoll::informer
