// Selectors against what kube-scheduler's own code says (tests/vectors/cel.jsonl.gz).
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "plugins/dynamicresources/cel/selector.hpp"
#include "tests/conformance/vector_file.hpp"

namespace plimsoll::dra::cel {
namespace {

using Json = nlohmann::json;

AttributeValue attribute_of(const Json& json) {
  const auto versions = [](const Json& texts) {
    std::vector<Version> all;
    for (const auto& text : texts) all.push_back({text.get<std::string>()});
    return all;
  };
  if (json.contains("int")) return json["int"].get<int64_t>();
  if (json.contains("bool")) return json["bool"].get<bool>();
  if (json.contains("string")) return json["string"].get<std::string>();
  if (json.contains("version")) return Version{json["version"].get<std::string>()};
  if (json.contains("ints")) return json["ints"].get<std::vector<int64_t>>();
  if (json.contains("bools")) return json["bools"].get<std::vector<bool>>();
  if (json.contains("strings")) return json["strings"].get<std::vector<std::string>>();
  return versions(json.at("versions"));
}

Device device_of(const Json& json) {
  Device device;
  device.allow_multiple_allocations = json.value("allowMultipleAllocations", false);
  const Json none = Json::object();
  for (const auto& [name, value] :
       (json.contains("attributes") ? json["attributes"] : none).items())
    device.attributes[name] = attribute_of(value);
  for (const auto& [name, value] : (json.contains("capacity") ? json["capacity"] : none).items())
    device.capacity[name].value = Quantity::parse(value["value"].get<std::string>()).value();
  return device;
}

struct Answer {
  Json result;
  std::string text;
  bool unsupported = false;
};

Answer answer_to(const Json& c) {
  const auto selector = Selector::compile(c["expression"].get<std::string>());
  if (!selector)
    return {"compile_error", selector.error().text,
            selector.error().kind == CompileError::Kind::kUnsupported};
  const std::string driver = c["device"].value("driver", "");
  const auto matches = selector->matches(driver, device_of(c["device"]));
  if (!matches) return {"runtime_error", matches.error(), false};
  return {*matches, "", false};
}

// What is left out, as the errors name it.
std::string left_out_by(const std::string& error) {
  const std::string before = "not supported by this scheduler: ";
  const size_t at = error.find(before);
  return at == std::string::npos ? error : error.substr(at + before.size());
}

TEST(SelectorVectors, AgreeWithKubernetes) {
  int compared = 0;
  std::map<std::string, int> left_out;
  const auto read = conformance::for_each_line("tests/vectors/cel.jsonl.gz", [&](auto line) {
    const Json c = Json::parse(line);
    const Answer mine = answer_to(c);
    if (mine.unsupported) {
      ++left_out[left_out_by(mine.text)];
      return true;
    }
    ++compared;
    EXPECT_EQ(mine.result, c["result"])
        << c["id"] << ": " << c["expression"] << "\n  here: " << mine.text
        << "\n  there: " << c.value("error", "") << "\n  device: " << c["device"].dump();
    return true;
  });
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(compared, 1683);
  const std::map<std::string, int> known = {{"cidr", 3},
                                            {"containsCIDR", 6},
                                            {"containsIP", 6},
                                            {"exists with 3 arguments", 4},
                                            {"family", 3},
                                            {"format", 6},
                                            {"getFullYear", 1},
                                            {"getHost", 1},
                                            {"ip", 5},
                                            {"isGlobalUnicast", 4},
                                            {"isIP", 5},
                                            {"isLinkLocalMulticast", 2},
                                            {"isLinkLocalUnicast", 3},
                                            {"isLoopback", 3},
                                            {"isURL", 5},
                                            {"isUnspecified", 2},
                                            {"masked", 1},
                                            {"prefixLength", 2},
                                            {"transformList with 3 arguments", 1},
                                            {"transformList with 4 arguments", 7},
                                            {"transformMap with 4 arguments", 3},
                                            {"validate", 19}};
  EXPECT_EQ(left_out, known);
}

}  // namespace
}  // namespace plimsoll::dra::cel
