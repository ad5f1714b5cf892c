// What the documents show of the SDK is so: their examples compile and run, their profiles are
// valid, and docs/sdk.md names all that the headers offer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <plimsoll/args.hpp>
#include <plimsoll/duration.hpp>
#include <plimsoll/fake_host.hpp>
#include <plimsoll/join.hpp>
#include <plimsoll/nearest.hpp>
#include <plimsoll/plugin.hpp>
#include <plimsoll/resource_names.hpp>
#include <plimsoll/shared.hpp>
#include <plimsoll/time_text.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

using namespace plimsoll;

// The examples that are plugins.
std::map<std::string, plimsoll_plugin_create_fn>& plugins() {
  static std::map<std::string, plimsoll_plugin_create_fn> all;
  return all;
}

// What examples that are statements find: a pod that asks for some of what the node has.
class Docs : public testing::Test {
 protected:
  Docs() {
    pod_.request("memory", 1 << 20).request("example.com/gpu", 1);
    node_.allocatable("memory", 1 << 30).allocatable("example.com/gpu", 4).add(victim_);
    fake_.add(node_);
    pod = pod_;
    victim = victim_;
    node = sdk::Node(&node_.get());
  }

  sdk::FakeHost fake_;
  sdk::FakeCycle cycle_;
  sdk::FakePod pod_{"team/a"}, victim_{"team/b"};
  sdk::FakeNode node_{"n1", 0};

  sdk::Host host = fake_.handle(), host_ = host;
  plimsoll_cycle& cycle = *cycle_.get();
  sdk::Pod pod, victim;
  sdk::Node node;
};

#undef PLIMSOLL_PLUGIN
#define PLIMSOLL_PLUGIN(Class, name, version, license)                                \
  static_assert(::plimsoll::sdk::detail::check_names<Class>());                       \
  const bool kIsPlugin =                                                              \
      ::plugins()                                                                     \
          .emplace(                                                                   \
              name,                                                                   \
              +[](const plimsoll_host* host, plimsoll_str args,                       \
                  plimsoll_plugin* out) noexcept -> int32_t {                         \
                return ::plimsoll::sdk::detail::create<Class>(host, args, out, name); \
              })                                                                      \
          .second;

#include "examples.inc"

namespace plimsoll::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::smatch> all_in(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return {std::sregex_iterator(text.begin(), text.end(), regex), {}};
}

TEST(DocsPlugins, AreMade) {
  EXPECT_GE(plugins().size(), 9U);
  for (const auto& [name, create] : plugins()) {
    sdk::FakeHost host;
    plimsoll_plugin plugin{};
    plugin.size = sizeof plugin;
    ASSERT_EQ(create(host.table(), sdk::str("{}"), &plugin), PLIMSOLL_SUCCESS)
        << name << ": " << host.error;
    plugin.destroy(plugin.self);
  }
}

// A profile that a document shows is a whole file, or says with `args=PLUGIN` that it is arguments.
TEST(DocsProfiles, AreValid) {
  std::vector<fs::path> documents = {"README.md", "examples/plugins/zone-balance/README.md"};
  for (const auto& entry : fs::directory_iterator("docs"))
    if (entry.path().extension() == ".md") documents.push_back(entry.path());
  const TempDir temp;
  int profiles = 0;
  for (const fs::path& document : documents) {
    const std::string text = text_of(document);
    for (const auto& fence : all_in(text, "\n( *)```yaml( args=([A-Za-z]+))?\n([^`]*)```")) {
      std::string yaml =
          std::regex_replace("\n" + fence[4].str(), std::regex("\n" + fence[1].str()), "\n");
      if (fence[3].matched) {
        yaml =
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            "profiles:\n- plugins: {multiPoint: {enabled: [{name: " +
            fence[3].str() +
            "}]}}\n"
            "  schedulerName: shown\n  pluginConfig:\n  - name: " +
            fence[3].str() +
            "\n    args:" + std::regex_replace(yaml, std::regex("\n"), "\n      ") + "\n";
      } else if (yaml.find("pluginConfig:") == std::string::npos &&
                 yaml.find("profiles:") == std::string::npos) {
        continue;
      }
      ++profiles;
      const fs::path file = temp.path() / "profile.yaml";
      std::ofstream(file) << yaml;
      const auto ran = run({.argv = {fs::path(std::getenv("PLIMSOLL_BIN_DIR")) / "plimsoll",
                                     "validate", "--plugin-dir", PLIMSOLL_DOCS_MODULES, file}});
      ASSERT_TRUE(ran) << ran.error().message;
      EXPECT_EQ(ran->status, ExitStatus::exited(0))
          << document << ":" << yaml << ran->out << ran->err;
    }
  }
  EXPECT_GE(profiles, 8);
}

const fs::path kHeaders = "framework/sdk/include/plimsoll";

std::string without_comments(const std::string& text) {
  return std::regex_replace(text, std::regex("//[^\n]*|/\\*[^*]*(\\*[^/][^*]*)*\\*/"), "");
}

// The names that a header offers: of structs, fields, functions in tables, constants, and public
// functions of classes.
std::set<std::string> offered(const fs::path& header) {
  std::string text = text_of(header);
  if (text.substr(0, text.find('\n')).find("internal") != std::string::npos) return {};
  const std::string begin = "namespace detail {", end = "}  // namespace detail";
  for (size_t at; (at = text.find(begin)) != std::string::npos;)
    text.erase(at, text.find(end) - at + end.size());
  text = without_comments(text);
  std::set<std::string> names;
  const auto add = [&](const std::string& pattern) {
    for (const auto& found : all_in(text, pattern)) names.insert(found[1]);
  };
  add("\\b(PLIMSOLL_[A-Z0-9_]+) *(?:=|\\()");
  add("\\bstruct (plimsoll_[a-z_]+)");
  if (header.extension() == ".h") {
    add("\n#define (PLIMSOLL_[A-Z0-9_]+) [^\\\\]");
    add("\n  [^()\n]*\\b([a-z_]+);");
    add("\n  [a-z][^()\n]*\\(\\*([a-z_]+)\\)\\(");
    names.erase("reserved");
    return names;
  }
  const std::regex in_class("  (?:[^ (].*[ &*>])?([a-z_]+[a-z])\\(.*"),
      outside("[^ (#].*[ &*>]([a-z_]+[a-z])\\(.*");
  bool open = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == " public:" || line.starts_with("struct ")) open = true;
    if (line == " private:" || line == " protected:" || line == "};" || line.starts_with("class "))
      open = false;
    std::smatch found;
    if (std::regex_match(line, found, open ? in_class : outside) && found[1] != "operator")
      names.insert(found[1]);
  }
  return names;
}

TEST(DocsReference, NamesAllThatTheHeadersOffer) {
  const std::string text = text_of("docs/sdk.md");
  std::set<std::string> words;
  for (const auto& word : all_in(text, "\\b([A-Za-z_0-9]+)\\b")) words.insert(word[1]);
  int names = 0;
  // What a fake host is made of is not for the author.
  const std::set<fs::path> inner = {"cycle.hpp", "metrics.hpp", "names.hpp", "storage.hpp"};
  for (const auto& entry : fs::recursive_directory_iterator(kHeaders)) {
    const fs::path& header = entry.path();
    const bool fake = header.parent_path().filename() == "fake";
    if (entry.is_directory() || header.parent_path().filename() == "detail") continue;
    if (fake && inner.contains(header.filename())) continue;
    for (const std::string& name : offered(header)) {
      ++names;
      EXPECT_TRUE(words.contains(name)) << header << " has " << name;
    }
  }
  EXPECT_GE(names, 400);
}

// A row for each struct, with its fields; only texts and lists stand there without their type.
TEST(DocsReference, HasTheTypesOfFields) {
  const std::string text = text_of("docs/sdk.md");
  int structs = 0;
  for (const char* header : {"objects.h", "kinds.h", "claims.h"}) {
    const std::string code = without_comments(text_of(kHeaders / header));
    for (const auto& found : all_in(code, "struct (plimsoll_[a-z_]+) \\{([^}]*)\\}")) {
      ++structs;
      std::smatch row;
      const std::regex wanted("\n\\|[^\n]* `" + found[1].str() + "` \\|[^\n]*");
      ASSERT_TRUE(std::regex_search(text, row, wanted)) << found[1];
      const std::string fields = found[2];
      for (const auto& field : all_in(fields, "([a-z][a-z0-9_* ]*[ *]|[a-z0-9_]+\\s+)([a-z_]+);")) {
        const std::string name = field[2];
        if (name == "size" || name == "reserved" || name == "reserved2" || name == "object")
          continue;
        const std::string type = std::regex_replace(field[1].str(), std::regex("\\s+$"), "");
        const bool plain = type == "plimsoll_str" || type == "plimsoll_list";
        EXPECT_THAT(row.str(), HasSubstr("`" + (plain ? "" : type + " ") + name + "`"));
      }
    }
  }
  EXPECT_GE(structs, 30);
}

}  // namespace
}  // namespace plimsoll::test
