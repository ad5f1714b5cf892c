#pragma once
// A request with all that may be in one, whatever carries it: what is sent, and what comes back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/informer/http_fixture.hpp"
#include "tests/informer/scripted_server.hpp"

namespace plimsoll::informer::test {

// To a server that answers 201, "got " and the body, and "retry-after: 7". `access`: how to get
// there. `seen`: what the server was sent.
template <typename Server>
void send_full_request(const Server& server, ServerAccess access, Received& seen) {
  access.server += "/prefix";
  access.token = "secret";
  access.impersonation_headers = {"Impersonate-User: jane"};
  auto client = client_for(access);
  HttpRequest request;
  request.method = "POST";
  request.path = "/api?x=1";
  request.body = std::string(3000, 'x');
  const auto answer = fetch(*client, request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_TRUE(answer->ok());
  EXPECT_EQ(answer->body, "got " + request.body);
  EXPECT_EQ(answer->content_type, "application/json");
  EXPECT_EQ(answer->retry_after, std::chrono::seconds(7));
  seen = server.received().at(0);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.target, "/prefix/api?x=1");
  EXPECT_EQ(seen.header("content-type"), "application/json");
  EXPECT_EQ(seen.header("accept"), "application/json");
  EXPECT_EQ(seen.header("authorization"), "Bearer secret");
  EXPECT_EQ(seen.header("impersonate-user"), "jane");
  EXPECT_EQ(seen.header("expect"), "");
  EXPECT_EQ(seen.header("accept-encoding"), "");
  EXPECT_THAT(seen.header("user-agent"), ::testing::StartsWith("plimsoll/"));
}

}  // namespace plimsoll::informer::test
