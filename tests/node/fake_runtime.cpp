#include "tests/node/fake_runtime.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace plimsoll::node::test {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

constexpr int kPatience = 60'000;

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16 & 0xff),
          static_cast<char>(value >> 8 & 0xff), static_cast<char>(value & 0xff)};
}

std::uint32_t number(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i)
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

std::string exactly(int fd, std::size_t size) {
  std::string bytes;
  while (bytes.size() < size) {
    pollfd ready{fd, POLLIN, 0};
    std::string part(size - bytes.size(), '\0');
    if (poll(&ready, 1, kPatience) <= 0) break;
    const ssize_t got = read(fd, part.data(), part.size());
    if (got <= 0) break;
    bytes.append(part, 0, static_cast<std::size_t>(got));
  }
  EXPECT_EQ(bytes.size(), size) << "the plugin has ended";
  bytes.resize(size);
  return bytes;
}

void add_map(pbf_writer& out, std::uint32_t field, const std::map<std::string, std::string>& map) {
  for (const auto& [key, value] : map) {
    pbf_writer entry(out, field);
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
}

void add_pod(pbf_writer& out, const RuntimePod& pod) {
  pbf_writer in(out, 1);
  in.add_string(1, "sandbox-" + pod.uid);
  in.add_string(2, "name-" + pod.uid);
  in.add_string(3, pod.uid);
  in.add_string(4, "default");
  add_map(in, 6, pod.annotations);
}

void add_container(pbf_writer& out, const RuntimePod& pod, bool marked, std::size_t padding) {
  pbf_writer in(out, 2);
  in.add_string(1, "container-" + pod.uid);
  in.add_string(2, "sandbox-" + pod.uid);
  in.add_string(3, "main");
  if (marked) add_map(in, 6, {{"plimsoll.io/devices-given", "true"}});
  in.add_string(7, std::string(padding, 'x'));
}

std::pair<std::string, std::string> pair_of(pbf_reader in) {
  std::pair<std::string, std::string> pair;
  while (in.next()) (in.tag() == 1 ? pair.first : pair.second) = in.get_string();
  return pair;
}

std::string device_of(pbf_reader in) {
  std::string path, type;
  std::int64_t major = 0, minor = 0;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        path = in.get_string();
        break;
      case 2:
        type = in.get_string();
        break;
      case 3:
        major = in.get_int64();
        break;
      case 4:
        minor = in.get_int64();
        break;
      default:
        in.skip();
    }
  }
  return path + " " + type + " " + std::to_string(major) + ":" + std::to_string(minor);
}

}  // namespace

FakeRuntime::FakeRuntime() {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket().c_str(), sizeof address.sun_path - 1);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(listener_, 1), 0);
}

FakeRuntime::~FakeRuntime() {
  drop();
  close(listener_);
}

void FakeRuntime::drop() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  bytes_.clear();
}

void FakeRuntime::send(std::uint32_t connection, std::uint32_t stream, std::uint8_t type,
                       const std::string& data) {
  std::string message = big_endian(static_cast<std::uint32_t>(data.size())) + big_endian(stream);
  message += static_cast<char>(type);
  message += '\0';
  message += data;
  for (std::size_t at = 0; at < message.size(); at += frame_) {
    const std::string part = message.substr(at, frame_);
    const std::string out =
        big_endian(connection) + big_endian(static_cast<std::uint32_t>(part.size())) + part;
    ASSERT_EQ(::send(fd_, out.data(), out.size(), MSG_NOSIGNAL), ssize_t(out.size()));
  }
}

std::string FakeRuntime::receive(std::uint32_t connection) {
  for (;;) {
    std::string& bytes = bytes_[connection];
    if (bytes.size() >= 10 && bytes.size() >= 10 + number(bytes, 0)) {
      const std::string data = bytes.substr(10, number(bytes, 0));
      bytes.erase(0, 10 + data.size());
      return data;
    }
    const std::string head = exactly(fd_, 8);
    if (::testing::Test::HasFailure()) return {};
    bytes_[number(head, 0)] += exactly(fd_, number(head, 4));
  }
}

std::string FakeRuntime::call(const std::string& method, const std::string& payload) {
  std::string request;
  pbf_writer out(request);
  out.add_string(1, "nri.pkg.api.v1alpha1.Plugin");
  out.add_string(2, method);
  out.add_bytes(3, payload);
  out.add_int64(4, 2'000'000'000);
  send(1, stream_, 1, request);
  stream_ += 2;
  return receive(1);
}

std::string FakeRuntime::accept(const std::vector<std::pair<RuntimePod, bool>>& there) {
  pollfd ready{listener_, POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, kPatience), 1) << "no plugin connects";
  fd_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  const std::string registered = receive(2);  // must outlive its readers
  pbf_reader request(registered);
  std::string said;
  while (request.next()) {
    if (request.tag() != 3) {
      request.skip();
      continue;
    }
    pbf_reader payload = request.get_message();
    while (payload.next()) {
      if (payload.tag() < 3) {
        said += payload.get_string() + " ";
      } else {
        payload.skip();
      }
    }
  }
  send(2, 1, 2, "");
  const std::string configured = call("Configure", "");
  pbf_reader response(configured);
  while (response.next(2)) {
    pbf_reader payload = response.get_message();
    while (payload.next(2)) said += std::to_string(payload.get_int32());
  }
  std::string first;
  std::string second;
  {
    pbf_writer pods(first);
    pbf_writer containers(second);
    for (const auto& [pod, marked] : there) {
      add_pod(pods, pod);
      add_container(containers, pod, marked, 1000);
    }
    pods.add_bool(3, true);
  }
  EXPECT_NE(call("Synchronize", first), "") << "there is more to come";
  (void)call("Synchronize", second);
  return said;
}

Adjusted FakeRuntime::create(const RuntimePod& pod) {
  std::string payload;
  {
    pbf_writer out(payload);
    add_pod(out, pod);
    add_container(out, pod, false, 65536);
  }
  const std::string answer = call("CreateContainer", payload);
  Adjusted adjusted;
  pbf_reader response(answer);
  while (response.next()) {
    pbf_reader part = response.get_message();
    if (response.tag() == 1) {
      while (part.next()) {
        if (part.tag() == 2) {
          adjusted.error = part.get_string();
        } else {
          part.skip();
        }
      }
      continue;
    }
    while (part.next(1)) {  // adjust
      pbf_reader adjust = part.get_message();
      while (adjust.next()) {
        switch (adjust.tag()) {
          case 2:
            adjusted.annotations.insert(pair_of(adjust.get_message()));
            break;
          case 4:
            adjusted.variables.insert(pair_of(adjust.get_message()));
            break;
          case 6: {
            pbf_reader linux_part = adjust.get_message();
            while (linux_part.next(1)) {
              adjusted.devices.push_back(device_of(linux_part.get_message()));
            }
            break;
          }
          default:
            adjust.skip();
        }
      }
    }
  }
  return adjusted;
}

}  // namespace plimsoll::node::test
