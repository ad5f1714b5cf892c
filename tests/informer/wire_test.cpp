// Framing and decoding of lists and watch streams, and what arbitrary bytes do to them.

#include "informer/wire/wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/seed.hpp"

namespace plimsoll::informer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A text with the readable bytes behind it that the readers ask for.
class Padded {
 public:
  explicit Padded(std::string text) : text_(std::move(text)), size_(text_.size()) {
    text_.resize(size_ + kJsonPadding);
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::string text_;
  std::size_t size_;
};

std::vector<std::string> lines_of(const std::string& stream, std::size_t chunk) {
  LineFramer framer;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < stream.size(); at += chunk) {
    EXPECT_TRUE(framer.feed(std::string_view(stream).substr(at, chunk),
                            [&](std::string_view line) { lines.emplace_back(line); }));
  }
  return lines;
}

struct Listed {
  std::vector<std::string> items;
  Result<void> fed;
  Result<ListFramer::Meta> meta = ListFramer::Meta{};
};

Listed list_of(const std::string& text, std::size_t chunk) {
  ListFramer framer;
  Listed listed;
  for (std::size_t at = 0; at < text.size() && listed.fed; at += chunk) {
    listed.fed = framer.feed(std::string_view(text).substr(at, chunk),
                             [&](std::string_view item) { listed.items.emplace_back(item); });
  }
  listed.meta = framer.finish();
  return listed;
}

TEST(LineFramer, FindsTheSameLinesHoweverTheChunksAreCut) {
  for (std::size_t chunk = 1; chunk < 20; ++chunk) {
    EXPECT_THAT(lines_of("{\"a\":1}\n\r\n\n{\"b\":\"x\"}\r\n{\"cut off", chunk),
                ElementsAre("{\"a\":1}", "{\"b\":\"x\"}"))
        << "chunks of " << chunk;
  }
}

TEST(LineFramer, RefusesALineWithoutEnd) {
  LineFramer framer;
  framer.max_line = 10;
  const auto fed = framer.feed("0123456789abc", [](std::string_view) {});
  ASSERT_FALSE(fed);
  EXPECT_THAT(fed.error().message, HasSubstr("longer than 10 bytes"));
}

TEST(ListFramer, CutsAListIntoItsItems) {
  const std::string text =
      R"({"kind":"items","metadata":{"resourceVersion":"42","continue":"tok","items":[1]},)"
      R"( "items" : [ {"metadata":{"name":"a]}\"\\"}}, {"x":[{"y":{}}],"z":"é"} ,7, "s,]"],"more":"\\\"]"})";
  for (std::size_t chunk = 1; chunk < text.size() + 1; ++chunk) {
    const Listed listed = list_of(text, chunk);
    ASSERT_TRUE(listed.meta) << listed.meta.error().message << ", chunks of " << chunk;
    EXPECT_THAT(listed.items, ElementsAre(R"({"metadata":{"name":"a]}\"\\"}})",
                                          R"({"x":[{"y":{}}],"z":"é"})", "7", "\"s,]\""));
    EXPECT_EQ(listed.meta->resource_version, "42");
    EXPECT_EQ(listed.meta->continue_token, "tok");
  }
}

TEST(ListFramer, AListMayBeEmpty) {
  for (const char* items : {"[]", "null", "[ ]"}) {
    const Listed listed =
        list_of(R"({"items":)" + std::string(items) + R"(,"metadata":{"resourceVersion":"1"}})", 3);
    EXPECT_TRUE(listed.meta) << items;
    EXPECT_THAT(listed.items, IsEmpty()) << items;
  }
}

TEST(ListFramer, RefusesWhatIsNoList) {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case cases[] = {
      {"", "cut off"},
      {R"({"items":[{"a":1},)", "cut off"},
      {R"({"items":[{"a":1}],"metadata":{"resourceVersion":"1")", "cut off"},
      {R"({"items":[}])", "cut off"},
      {R"({"items":[]})", "metadata.resourceVersion is missing"},
      {R"({"items":[],"metadata":{"resourceVersion":7}})", "metadata.resourceVersion is missing"},
      {R"({"items":[],"metadata":{"resourceVersion":"1"}} trailing)", "not valid JSON"},
      {"<html>", "cut off"},
      {"[]", "not a Kubernetes list"},
  };
  for (const Case& c : cases) {
    const Listed listed = list_of(c.text, 4);
    ASSERT_FALSE(listed.meta) << c.text;
    EXPECT_THAT(listed.meta.error().message, HasSubstr(c.error)) << c.text;
  }
  EXPECT_FALSE(list_of(R"({"items":[}])", 100).fed);
}

TEST(ObjectReader, ReadsTheKeyWhereverItStands) {
  ObjectReader reader;
  const Padded json(
      R"({"spec":{"metadata":{"name":"no"}},"metadata":{"labels":{"uid":"no"},"uid":"u-1",)"
      R"("resourceVersion":"9","namespace":"ns","name":"pod"},"status":{}})");
  const auto key = reader.read_object(json.view());
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->ns, "ns");
  EXPECT_EQ(key->name, "pod");
  EXPECT_EQ(key->uid, "u-1");
  EXPECT_EQ(key->resource_version, "9");
}

TEST(ObjectReader, SaysWhatIsWrongWithAnObject) {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case cases[] = {{"7", "not valid JSON"},
                        {"{", "not valid JSON"},
                        {"{}", "metadata.name is missing"},
                        {R"({"metadata":{}})", "metadata.name is missing"},
                        {R"({"metadata":[]})", "not valid JSON"},
                        {R"({"metadata":{"name":5}})", "not valid JSON"},
                        {"{\"metadata\":{\"name\":\"\xff\"}}", "not valid JSON"}};
  ObjectReader reader;
  for (const Case& c : cases) {
    const Padded json(c.text);
    const auto key = reader.read_object(json.view());
    ASSERT_FALSE(key) << c.text;
    EXPECT_THAT(key.error().message, HasSubstr(c.error)) << c.text;
  }
}

TEST(ObjectReader, ReadsEveryKindOfWatchEvent) {
  ObjectReader reader;
  const Padded added(R"({"type":"ADDED","object":{"metadata":{"name":"a","uid":"u"}}})");
  auto event = reader.read_event(added.view());
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->type, WatchEventType::kAdded);
  EXPECT_EQ(event->object, R"({"metadata":{"name":"a","uid":"u"}})");
  EXPECT_EQ(event->key.name, "a");

  const Padded reversed(R"({"object":{"metadata":{"name":"b"}},"type":"DELETED"})");
  event = reader.read_event(reversed.view());
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, WatchEventType::kDeleted);
  EXPECT_EQ(event->key.name, "b");

  const Padded bookmark(
      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"77","annotations":)"
      R"({"k8s.io/initial-events-end":"true"}}}})");
  event = reader.read_event(bookmark.view());
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->type, WatchEventType::kBookmark);
  EXPECT_EQ(event->key.resource_version, "77");
  EXPECT_TRUE(event->initial_events_end);

  const Padded error(R"({"type":"ERROR","object":{"code":410,"message":"too old"}})");
  event = reader.read_event(error.view());
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, WatchEventType::kError);
  EXPECT_EQ(event->error.code, 410);
  EXPECT_EQ(event->error.message, "too old");

  for (const char* bad :
       {R"({"type":"ODD","object":{}})", R"({"type":"ADDED"})", R"({"object":{}})",
        R"({"type":"BOOKMARK","object":{"metadata":{}}})", "null", "[]"}) {
    EXPECT_FALSE(reader.read_event(Padded(bad).view())) << bad;
  }
}

// Bytes of all kinds, half of them taken from real streams and damaged: nothing crashes, and what
// comes out of a list is never more than went in.
TEST(Wire, ArbitraryBytesNeverCrash) {
  const std::string seeds[] = {
      R"({"type":"ADDED","object":{"metadata":{"name":"a","annotations":{"k":"v"}},"x":[1,{"y":"\u00e9"}]}})"
      "\n",
      R"({"type":"ERROR","object":{"code":410,"message":"gone"}})"
      "\n",
      R"({"kind":"List","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}},{}]})",
      "{}[]\",:\\\n\t0123456789eE+-.truefalsnl\xc3\xa9\xff\x00"};
  std::mt19937 random(plimsoll::test::test_seed());
  ObjectReader reader;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = seeds[random() % 4] + seeds[random() % 4];
    for (unsigned damage = random() % 8; damage > 0 && !bytes.empty(); --damage) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 9);
          break;
        default:
          bytes.insert(at, std::string(1 + random() % 4, seeds[3][random() % seeds[3].size()]));
      }
    }
    const std::size_t chunk = 1 + random() % 40;
    LineFramer lines;
    ListFramer list;
    bool list_good = true;
    std::size_t taken = 0;
    for (std::size_t at = 0; at < bytes.size(); at += chunk) {
      const std::string_view piece = std::string_view(bytes).substr(at, chunk);
      ASSERT_TRUE(lines.feed(piece, [&](std::string_view line) { (void)reader.read_event(line); }));
      if (!list_good) continue;
      list_good = list.feed(piece,
                            [&](std::string_view item) {
                              taken += item.size();
                              (void)reader.read_object(item);
                            })
                      .has_value();
    }
    (void)list.finish();
    ASSERT_LE(taken, bytes.size());
  }
}

}  // namespace
}  // namespace plimsoll::informer
