#include "cli/control_socket.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <semaphore>
#include <thread>

#include "tests/support/temp_dir.hpp"

namespace plimsoll::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

// A client that says what it likes.
class RawClient {
 public:
  explicit RawClient(const std::string& path) : socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    const timeval patience{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  }
  ~RawClient() { close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  bool say(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Up to the next newline; without one if the server hangs up first.
  std::string line() const {
    std::string text;
    char byte = 0;
    while (recv(socket_, &byte, 1, 0) == 1 && byte != '\n') text += byte;
    return text;
  }

 private:
  int socket_;
  bool connected_ = false;
};

class ControlSocketTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_.path() / "own" / "s.sock").string(); }
  static void echo(std::string_view question, const ControlSocket::Reply& reply) {
    reply([text = std::string(question)] { return "<" + text + ">"; });
  }
  test::TempDir folder_;
};

TEST_F(ControlSocketTest, AnswersOnlyItsUserAndKeepsTheFolderClosed) {
  const auto server = ControlSocket::listen(path(), echo);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  const auto answer = ask_scheduler(path(), R"({"command":"x"})", 10s);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(*answer, R"(<{"command":"x"}>)");
  struct stat found {};
  ASSERT_EQ(stat(path().c_str(), &found), 0);
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((folder_.path() / "own").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
  (*server)->stop();
  EXPECT_NE(stat(path().c_str(), &found), 0) << "it is removed";
  const auto gone = ask_scheduler(path(), "{}", 10s);
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(gone.error().message, HasSubstr(path()));
}

TEST_F(ControlSocketTest, ADeadProcessesSocketIsReplacedALivingOneIsNot) {
  ASSERT_EQ(mkdir((folder_.path() / "own").c_str(), 0700), 0);
  {  // bound, and never listened on again
    const int left = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path().c_str(), path().size());
    ASSERT_EQ(bind(left, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    close(left);
  }
  auto first = ControlSocket::listen(path(), echo);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  const auto second = ControlSocket::listen(path(), echo);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_TRUE(ask_scheduler(path(), "still there", 10s).has_value());
  first->reset();
  EXPECT_TRUE(ControlSocket::listen(path(), echo).has_value());
}

TEST_F(ControlSocketTest, ALivingSocketOfAnotherProgramIsNotReplaced) {
  ASSERT_EQ(mkdir((folder_.path() / "own").c_str(), 0700), 0);
  const int other = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path().c_str(), path().size());
  ASSERT_EQ(bind(other, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(other, 1), 0);
  const auto ours = ControlSocket::listen(path(), echo);
  ASSERT_FALSE(ours.has_value());
  EXPECT_EQ(ours.error().code, ErrorCode::kConflict);
  close(other);
}

TEST_F(ControlSocketTest, PlacesThatWillNotDo) {
  const auto refused = [](const std::string& place) {
    const auto server = ControlSocket::listen(place, echo);
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
}

TEST_F(ControlSocketTest, ManyQuestionsOnOneConnectionAndManyAtOnce) {
  const auto server = ControlSocket::listen(path(), echo);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  const RawClient client(path());
  ASSERT_TRUE(client.say("one\ntwo\nthr"));
  EXPECT_EQ(client.line(), "<one>");
  EXPECT_EQ(client.line(), "<two>");
  ASSERT_TRUE(client.say("ee\n"));
  EXPECT_EQ(client.line(), "<three>");
  std::atomic<int> good{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&, i] {
      const std::string question(static_cast<size_t>(1000 * i + 1), static_cast<char>('a' + i));
      const auto answer = ask_scheduler(path(), question, 10s);
      if (answer && *answer == "<" + question + ">") ++good;
    });
  }
  for (std::thread& each : clients) each.join();
  EXPECT_EQ(good, 16);
}

TEST_F(ControlSocketTest, LargeAnswersArriveWhole) {
  const auto server = ControlSocket::listen(path(), [](std::string_view, const auto& reply) {
    reply([] { return std::string(20 << 20, 'x'); });
  });
  ASSERT_TRUE(server.has_value()) << server.error().message;
  const auto answer = ask_scheduler(path(), "{}", 30s);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->size(), size_t{20} << 20);
}

TEST_F(ControlSocketTest, OversizeGarbageAndVanishingClientsDoNoHarm) {
  const auto server = ControlSocket::listen(path(), echo);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  const RawClient big(path());
  static_cast<void>(big.say(std::string(kMaxQuestion + 10, 'x')));
  EXPECT_THAT(big.line(), HasSubstr("too long"));
  EXPECT_EQ(big.line(), "") << "it is disconnected";
  const std::string bytes("\0\xff\xfe{]\r\n", 7);
  const RawClient garbage(path());
  ASSERT_TRUE(garbage.say(bytes));
  EXPECT_EQ(garbage.line().size(), bytes.size() - 1 + 2);
  for (int i = 0; i < 100; ++i) {
    const RawClient hurried(path());
    ASSERT_TRUE(hurried.say("question\nhalf a quest"));
  }
  EXPECT_TRUE(ask_scheduler(path(), "still there", 10s).has_value());
}

TEST_F(ControlSocketTest, ThoseTooManyAreToldSo) {
  const auto server = ControlSocket::listen(path(), echo);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (size_t i = 0; i < kMaxClients; ++i) {
    clients.push_back(std::make_unique<RawClient>(path()));
    ASSERT_TRUE(clients.back()->say("here\n"));
    ASSERT_EQ(clients.back()->line(), "<here>");
  }
  EXPECT_THAT(RawClient(path()).line(), HasSubstr("too many clients"));
  EXPECT_TRUE(clients.front()->say("again\n"));
  EXPECT_EQ(clients.front()->line(), "<again>");
}

TEST_F(ControlSocketTest, RepliesFromOtherThreadsLateOrNever) {
  std::mutex mutex;
  std::vector<ControlSocket::Reply> kept;  // guarded by mutex
  std::counting_semaphore<> came(0);
  auto server = ControlSocket::listen(path(), [&](std::string_view question, auto reply) {
    if (question == "never") return;
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(reply));
    came.release();
  });
  ASSERT_TRUE(server.has_value()) << server.error().message;
  const auto hung_up = ask_scheduler(path(), "never", 10s);
  ASSERT_FALSE(hung_up.has_value());
  EXPECT_EQ(hung_up.error().code, ErrorCode::kUnavailable);

  const RawClient first(path());
  ASSERT_TRUE(first.say("first\n"));
  came.acquire();
  const RawClient second(path());
  ASSERT_TRUE(second.say("second\n"));
  came.acquire();
  const std::lock_guard lock(mutex);
  std::thread([reply = std::move(kept[0])] { reply([] { return "at last"; }); }).join();
  EXPECT_EQ(first.line(), "at last");
  (*server)->stop();
  EXPECT_EQ(second.line(), "") << "a stop disconnects those who still wait";
  kept[1]([] { return std::string("too late"); });
  server->reset();
  kept[1]([] { return std::string("far too late"); });
}

TEST_F(ControlSocketTest, ASilentSchedulerIsGivenUp) {
  std::mutex mutex;
  std::vector<ControlSocket::Reply> kept;
  const auto server = ControlSocket::listen(path(), [&](std::string_view, auto reply) {
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(reply));
  });
  ASSERT_TRUE(server.has_value()) << server.error().message;
  const auto answer = ask_scheduler(path(), "{}", 50ms);
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("did not answer within"));
  EXPECT_THAT(default_socket_path(), StartsWith("/"));
}

}  // namespace
}  // namespace plimsoll::cli
