// An HttpServer on a local socket.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "serving/http_server.hpp"
#include "serving/local_names.hpp"
#include "serving/socket_place.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::serving {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

int local_socket(const std::string& path, int (*use)(int, const sockaddr*, socklen_t)) {
  const int made = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  EXPECT_EQ(use(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return made;
}

// Sends a request and returns what the server sends until it hangs up.
std::string get(const std::string& path, const std::string& target) {
  const int client = local_socket(path, &connect);
  const timeval patience{60, 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const std::string request =
      "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(send(client, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string all;
  char piece[65536];
  for (ssize_t n = 0; (n = recv(client, piece, sizeof piece, 0)) > 0;)
    all.append(piece, static_cast<size_t>(n));
  close(client);
  return all;
}

Response who_asks(const Request& request) {
  return {200, request.path + " by " + std::to_string(request.local_user.value_or(-1))};
}

class LocalSocket : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_.path() / "own" / "s.sock").string(); }
  template <typename Answer>
  static Result<std::unique_ptr<HttpServer>> listen(const std::string& path, Answer answer) {
    ServerOptions options;
    options.local_socket = path;
    options.gate = require_own_user;
    return HttpServer::start(std::move(options), std::move(answer));
  }
  test::TempDir folder_;
};

TEST_F(LocalSocket, KeepsTheFolderClosedAndKnowsWhoAsks) {
  const auto server = listen(path(), who_asks);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  EXPECT_EQ((*server)->url(), path());
  EXPECT_THAT(get(path(), "/a"), EndsWith("/a by " + std::to_string(geteuid())));
  struct stat found {};
  ASSERT_EQ(stat(path().c_str(), &found), 0);
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((folder_.path() / "own").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
  (*server)->stop();
  EXPECT_NE(stat(path().c_str(), &found), 0) << "it is removed";
}

TEST_F(LocalSocket, OthersAreNotAnswered) {
  const auto verdict = [](std::optional<uint32_t> user) {
    Request request;
    request.local_user = user;
    int status = 200;
    require_own_user(request, [&](const std::function<Response()>& instead) {
      if (instead) status = instead().status;
    });
    return status;
  };
  EXPECT_EQ(verdict(geteuid()), 200);
  EXPECT_EQ(verdict(0), 200);
  EXPECT_EQ(verdict(geteuid() + 1), 403);
  EXPECT_EQ(verdict({}), 403) << "over TCP nobody has a user";
}

TEST_F(LocalSocket, ADeadProcessesSocketIsReplacedALivingOneIsNot) {
  ASSERT_EQ(mkdir((folder_.path() / "own").c_str(), 0700), 0);
  close(local_socket(path(), &bind));  // bound, and never listened on again
  auto first = listen(path(), who_asks);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  const auto second = listen(path(), who_asks);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(get(path(), "/"), HasSubstr("200 OK"));
  first->reset();
  EXPECT_TRUE(listen(path(), who_asks).has_value());
}

TEST_F(LocalSocket, ALivingSocketOfAnotherProgramIsNotReplaced) {
  ASSERT_EQ(mkdir((folder_.path() / "own").c_str(), 0700), 0);
  const int other = local_socket(path(), &bind);
  ASSERT_EQ(::listen(other, 1), 0);
  const auto ours = listen(path(), who_asks);
  ASSERT_FALSE(ours.has_value());
  EXPECT_EQ(ours.error().code, ErrorCode::kConflict);
  close(other);
}

TEST_F(LocalSocket, PlacesThatWillNotDo) {
  const auto refused = [](const std::string& place) {
    const auto server = listen(place, who_asks);
    return server ? "" : server.error().message;
  };
  EXPECT_THAT(refused(std::string(200, 'a')), HasSubstr("1 to 107 bytes"));
  EXPECT_THAT(refused((folder_.path() / "a/b/s.sock").string()), HasSubstr("cannot be made"));
  const auto shared = folder_.path() / "shared";
  ASSERT_EQ(mkdir(shared.c_str(), 0700), 0);
  ASSERT_EQ(chmod(shared.c_str(), 0777), 0);
  EXPECT_THAT(refused((shared / "s.sock").string()), HasSubstr("can be written by others"));
  ASSERT_EQ(chmod(shared.c_str(), 0700), 0);
  const auto link = folder_.path() / "link";
  ASSERT_EQ(symlink(shared.c_str(), link.c_str()), 0);
  EXPECT_THAT(refused((link / "s.sock").string()), HasSubstr("is not a folder"));
  ASSERT_TRUE(test::write_file(shared / "file", "precious"));
  EXPECT_THAT(refused((shared / "file").string()), HasSubstr("is no socket"));
  EXPECT_EQ(access((shared / "file").c_str(), F_OK), 0);
  EXPECT_THAT(default_socket_path(), StartsWith("/"));
}

TEST_F(LocalSocket, LargeAnswersArriveWhole) {
  const auto server = listen(path(), [](const Request&) {
    return Response{200, std::string(20 << 20, 'x')};
  });
  ASSERT_TRUE(server.has_value()) << server.error().message;
  EXPECT_GE(get(path(), "/").size(), size_t{20} << 20);
}

// The loop answers when it can; a server that stops waits for nobody.
TEST_F(LocalSocket, AnswersComeFromOtherThreadsLateOrNever) {
  std::mutex mutex;
  std::vector<Reply> kept;  // guarded by mutex
  std::counting_semaphore<> came(0);
  auto server = listen(path(), [&](const Request&, Reply reply) {
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(reply));
    came.release();
  });
  ASSERT_TRUE(server.has_value()) << server.error().message;
  auto first = std::async(std::launch::async, [&] { return get(path(), "/first"); });
  came.acquire();
  auto second = std::async(std::launch::async, [&] { return get(path(), "/second"); });
  came.acquire();
  const std::lock_guard lock(mutex);
  std::thread([&] { kept[0](ready({200, "at last"})); }).join();
  EXPECT_THAT(first.get(), EndsWith("at last"));
  (*server)->stop();
  EXPECT_EQ(second.get(), "") << "a stop disconnects those who still wait";
  kept[1](ready({200, "too late"}));
  server->reset();
  kept[1](ready({200, "far too late"}));
}

}  // namespace
}  // namespace plimsoll::serving
