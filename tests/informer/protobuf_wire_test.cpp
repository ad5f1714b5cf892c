// Lists and watch streams in protobuf: cut anywhere, cut off, damaged.

#include "informer/wire/protobuf_wire.hpp"

#include <gmock/gmock.h>

#include <protozero/pbf_writer.hpp>
#include <random>

#include "informer/http/http_client.hpp"
#include "tests/informer/protobuf_bytes.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::informer {
namespace {

using protobuf_bytes::envelope;
using protobuf_bytes::frame;
using protobuf_bytes::list;
using protobuf_bytes::pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A refusal in the encoding that was asked for.
TEST(ProtobufStatus, SpeaksInErrors) {
  std::string details;
  protozero::pbf_writer details_writer(details);
  details_writer.add_string(1, "pods");
  details_writer.add_int32(5, 7);
  std::string status;
  protozero::pbf_writer writer(status);
  writer.add_string(2, "Failure");
  writer.add_string(3, "too many requests\n");
  writer.add_string(4, "TooManyRequests");
  writer.add_message(5, details);
  writer.add_int32(6, 429);
  HttpResponse response;
  response.status = 429;
  response.body = envelope(status);
  const Error error = response_error("listing pods", response);
  EXPECT_EQ(error.code, ErrorCode::kThrottled);
  EXPECT_EQ(error.message, "listing pods: the API server answered 429 (too many requests)");
  EXPECT_EQ(retry_after(response), std::chrono::seconds(7));

  for (std::size_t size = 0; size < response.body.size(); ++size) {  // cut off anywhere
    HttpResponse part;
    part.status = 429;
    part.body = response.body.substr(0, size);
    const std::string message = response_error("listing pods", part).message;
    if (size >= 4) {
      EXPECT_EQ(message.find('\0'), std::string::npos) << size;
    }
    EXPECT_TRUE(!retry_after(part) || retry_after(part) == std::chrono::seconds(7));
  }
  EXPECT_FALSE(read_protobuf_status("{}"));
}

TEST(ProtobufList, MayBeCutAnywhere) {
  const std::string whole = list({pod("a", "1"), pod("b", "2"), pod("c", "3")}, "7", "more");
  for (std::size_t step = 1; step <= whole.size(); ++step) {
    ProtobufListFramer framer;
    std::vector<std::string> names;
    for (std::size_t at = 0; at < whole.size(); at += step) {
      const auto fed =
          framer.feed(std::string_view(whole).substr(at, step), [&](std::string_view item) {
            const auto key = read_protobuf_object(item);
            ASSERT_TRUE(key) << key.error().message;
            names.push_back(std::string(key->ns) + "/" + std::string(key->name) + " " +
                            std::string(key->uid) + " " + std::string(key->resource_version));
          });
      ASSERT_TRUE(fed) << fed.error().message;
    }
    const auto meta = framer.finish();
    ASSERT_TRUE(meta) << "in pieces of " << step << ": " << meta.error().message;
    EXPECT_EQ(meta->resource_version, "7");
    EXPECT_EQ(meta->continue_token, "more");
    EXPECT_THAT(names, ElementsAre("shop/a u-a 1", "shop/b u-b 2", "shop/c u-c 3"));
  }
}

TEST(ProtobufList, WithoutItems) {
  ProtobufListFramer framer;
  ASSERT_TRUE(framer.feed(list({}), [](std::string_view) { FAIL(); }));
  const auto meta = framer.finish();
  ASSERT_TRUE(meta) << meta.error().message;
  EXPECT_EQ(meta->resource_version, "7");
}

TEST(ProtobufList, ThatIsCutOffIsNotComplete) {
  const std::string whole = list({pod("a", "1"), pod("b", "2")});
  // The last four bytes are the empty texts behind the list.
  for (std::size_t size = 0; size + 4 < whole.size(); ++size) {
    ProtobufListFramer framer;
    ASSERT_TRUE(framer.feed(whole.substr(0, size), [](std::string_view) {}));
    EXPECT_FALSE(framer.finish()) << size;
  }
}

TEST(ProtobufList, WhatIsNoListIsAnError) {
  ProtobufListFramer framer;
  const auto fed = framer.feed("<html>not found</html>", [](std::string_view) { FAIL(); });
  ASSERT_FALSE(fed);
  EXPECT_THAT(fed.error().message, HasSubstr("not a Kubernetes list"));
  ProtobufListFramer without_version;
  ASSERT_TRUE(without_version.feed(list({}, ""), [](std::string_view) {}));
  ASSERT_FALSE(without_version.finish());
}

TEST(ProtobufWatch, FramesAreEvents) {
  std::string status;
  protozero::pbf_writer writer(status);
  writer.add_string(3, "too old resource version");
  writer.add_int32(6, 410);
  const std::string whole = frame("ADDED", pod("a", "1")) + frame("MODIFIED", pod("a", "2")) +
                            frame("BOOKMARK", pod("", "9", true)) +
                            frame("DELETED", pod("a", "3")) + frame("ERROR", status) +
                            frame("SURPRISE", pod("a", "4")) + frame("ADDED", pod("", "5"));
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{50}, whole.size()}) {
    ProtobufFrameCutter cutter;
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < whole.size(); at += step) {
      ASSERT_TRUE(cutter.feed(std::string_view(whole).substr(at, step), [&](std::string_view one) {
        const auto event = read_protobuf_event(one);
        if (!event) {
          seen.push_back(event.error().message);
        } else if (event->type == WatchEventType::kError) {
          seen.push_back(std::to_string(event->error.code) + " " + event->error.message);
        } else {
          seen.push_back(std::to_string(static_cast<int>(event->type)) + " " +
                         std::string(event->key.name) + " " +
                         std::string(event->key.resource_version) +
                         (event->initial_events_end ? " end" : ""));
        }
      }));
    }
    EXPECT_THAT(
        seen,
        ElementsAre("0 a 1", "1 a 2", "3  9 end", "2 a 3", "410 too old resource version",
                    "a watch event of the unknown type 'SURPRISE'", "metadata.name is missing"));
  }
}

TEST(ProtobufWatch, AFrameThatIsTooLongEndsTheStream) {
  ProtobufFrameCutter cutter;
  cutter.max_frame = 1000;
  const auto fed =
      cutter.feed(std::string("\x01\x00\x00\x00", 4), [](std::string_view) { FAIL(); });
  ASSERT_FALSE(fed);
  EXPECT_THAT(fed.error().message, HasSubstr("longer than 1000 bytes"));
}

TEST(ProtobufWire, DamagedBytesNeverCrash) {
  std::mt19937 random(plimsoll::test::test_seed());
  const std::string a_list = list({pod("a", "1"), pod("b", "2")});
  const std::string a_watch = frame("ADDED", pod("a", "1")) + frame("BOOKMARK", pod("", "9"));
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = round % 2 == 0 ? a_list : a_watch;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    ProtobufListFramer framer;
    const bool listed = framer
                            .feed(bytes,
                                  [](std::string_view item) {
                                    static_cast<void>(read_protobuf_object(item).has_value());
                                  })
                            .has_value();
    EXPECT_TRUE(framer.finish().has_value() <= listed);
    ProtobufFrameCutter cutter;
    static_cast<void>(cutter
                          .feed(bytes,
                                [](std::string_view one) {
                                  static_cast<void>(read_protobuf_event(one).has_value());
                                })
                          .has_value());
  }
}

}  // namespace
}  // namespace plimsoll::informer
