// Which files are loaded, and what is said of those that are not.

#include "framework/runtime/plugin/modules.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <tuple>

#include "framework/base/log.hpp"
#include "framework/runtime/loading/elf_note.hpp"
#include "framework/runtime/loading/plugin_file.hpp"
#include "framework/runtime/plugin/prepared_plugins.hpp"
#include "tests/runtime/support.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const fs::path kModules = fs::absolute(PLIMSOLL_BROKEN_MODULES);

class ModulesTest : public ::testing::Test {
 protected:
  ModulesTest() {
    set_log_level(LogLevel::kOff);  // every refusal is logged
    ::umask(022);                   // or all folders that are made here are refused
    std::string pattern = (fs::temp_directory_path() / "plimsoll-modules-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ModulesTest() override {
    ::chmod(folder_.c_str(), 0700);
    fs::remove_all(folder_);
  }

  fs::path write(const std::string& name, std::string_view bytes) {
    fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    ::chmod(path.c_str(), 0644);
    return path;
  }
  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // What is said of the file, without its name in front.
  static std::string refusal(const fs::path& path) {
    Modules modules;
    const ModuleRecord& record = modules.load_file(path);
    EXPECT_FALSE(record.loaded) << path;
    EXPECT_EQ(record.create, nullptr);
    const std::string prefix = path.string() + ": ";
    EXPECT_THAT(record.refusal, StartsWith(prefix));
    return record.refusal.substr(std::min(prefix.size(), record.refusal.size()));
  }

  fs::path folder_;
};

TEST_F(ModulesTest, LoadsAGoodOne) {
  Modules modules;
  const ModuleRecord& record = modules.load_file(kModules / "good.so");
  ASSERT_TRUE(record.loaded) << record.refusal;
  EXPECT_EQ(record.name, "Good");
  EXPECT_EQ(record.version, "1.2.3");
  EXPECT_EQ(record.license, "Apache-2.0");
  EXPECT_EQ(record.sdk_version, PLIMSOLL_SDK_VERSION);
  EXPECT_EQ(record.build_id.size(), 40U);
  EXPECT_EQ(modules.find("Good"), &record);
  auto points = modules.extension_points("Good");
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_THAT(*points, ElementsAre(ExtensionPoint::kFilter, ExtensionPoint::kScore));
}

TEST_F(ModulesTest, NoPluginIsMadeToSayWhatItsNoteStates) {
  Modules modules;
  ASSERT_TRUE(modules.load_file(kModules / "aborts_when_made.so").loaded);
  const auto points = modules.extension_points("AbortsWhenMade");
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_THAT(*points, ElementsAre(ExtensionPoint::kFilter, ExtensionPoint::kPostBind));
}

struct Defect {
  const char* file;
  const char* message;
};

class DefectTest : public ModulesTest, public ::testing::WithParamInterface<Defect> {};

TEST_P(DefectTest, IsRefusedWithItsOwnSentence) {
  EXPECT_EQ(refusal(kModules / (std::string(GetParam().file) + ".so")), GetParam().message);
}

const Defect kDefects[] = {
    {"no_note",
     "it carries no Plimsoll note: build it with the Plimsoll SDK, whose macro PLIMSOLL_PLUGIN "
     "writes one"},
    {"other_major",
     "it was built for plugin ABI 2.4, this scheduler speaks 1.4: build it with this scheduler's "
     "SDK"},
    {"static_constructor_aborts",
     "it was built for plugin ABI 2.4, this scheduler speaks 1.4: build it with this scheduler's "
     "SDK"},
    {"newer_minor",
     "it needs plugin ABI 1.9 or later, this scheduler speaks 1.4: update the scheduler, or build "
     "it with this scheduler's SDK"},
    {"short_note", "its note has 24 bytes, ABI 1.0 has 184: build it with this scheduler's SDK"},
    {"short_table",
     "its plugin table has 16 bytes, ABI 1.0 has 232: build it with this scheduler's SDK"},
    {"no_name", "its note has no plugin name: name it in PLIMSOLL_PLUGIN"},
    {"missing_symbol",
     "it does not export plimsoll_plugin_create_v1: keep the symbol visible, as the macro "
     "PLIMSOLL_PLUGIN declares it"},
#if !defined(__SANITIZE_ADDRESS__)
    {"asan_built", "it was built with AddressSanitizer, this scheduler was not: build both alike"},
#endif
#if !defined(__SANITIZE_THREAD__)
    {"tsan_built", "it was built with ThreadSanitizer, this scheduler was not: build both alike"},
#endif
    {"undefined_symbol",
     "it cannot be loaded: undefined symbol: _Z27plimsoll_function_of_nobodyv; link it against "
     "what it uses (plimsoll_add_plugin checks that)"},
    {"does_not_exist", "cannot be read: No such file or directory"},
};

INSTANTIATE_TEST_SUITE_P(All, DefectTest, ::testing::ValuesIn(kDefects),
                         [](const auto& param) { return std::string(param.param.file); });

TEST_F(ModulesTest, RefusesWhatIsNoElfFile) {
  EXPECT_EQ(refusal(write("text.so", "not a library at all")),
            "not an ELF file: a plugin is a shared object, as plimsoll_add_plugin builds it");
  EXPECT_EQ(refusal(write("empty.so", "")),
            "not an ELF file: a plugin is a shared object, as plimsoll_add_plugin builds it");
  EXPECT_EQ(refusal(write("object.so",
                          [] {
                            std::string bytes = read(kModules / "good.so");
                            bytes[16] = 1;  // ET_REL
                            return bytes;
                          }())),
            "not a shared object: a plugin is a shared object, as plimsoll_add_plugin builds it");
  EXPECT_EQ(refusal(write("other.so",
                          [] {
                            std::string bytes = read(kModules / "good.so");
                            bytes[18] = 8;  // EM_MIPS
                            return bytes;
                          }())),
            "built for another kind of machine: build it for this one");
  fs::create_directory(folder_ / "folder.so");
  EXPECT_EQ(refusal(folder_ / "folder.so"), "not a regular file");
}

TEST_F(ModulesTest, RefusesFilesAndFoldersThatOthersMayWrite) {
  const fs::path file = write("open.so", read(kModules / "good.so"));
  const auto said = [](const std::string& what, const char* who, const char* mode,
                       const char* change) {
    return what + " is writable by " + who + " (mode " + mode +
           "), who could change what the scheduler runs: chmod " + change + " it";
  };
  ::chmod(file.c_str(), 0646);
  EXPECT_EQ(refusal(file), said("the file", "others", "0646", "o-w"));
  ::chmod(file.c_str(), 0666);
  EXPECT_EQ(refusal(file), said("the file", "others", "0666", "go-w"));
  ::chmod(file.c_str(), 0664);
  EXPECT_EQ(refusal(file), said("the file", "its group", "0664", "g-w"));
  ::chmod(file.c_str(), 0644);
  for (const auto& [mode, who, text, change] :
       {std::tuple(0777, "others", "0777", "go-w"), std::tuple(01777, "others", "1777", "go-w"),
        std::tuple(0775, "its group", "0775", "g-w")}) {
    ::chmod(folder_.c_str(), static_cast<mode_t>(mode));
    EXPECT_EQ(refusal(file), said("the folder", who, text, change));
    Modules modules;
    auto loaded = modules.load_directory(folder_);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().message, "plugin directory " + folder_.string() + ": " +
                                          said("the folder", who, text, change));
    EXPECT_TRUE(modules.records().empty());
  }
}

TEST_F(ModulesTest, RefusesWhatLiesBehindAFolderThatOthersMayWrite) {
  const fs::path above = folder_ / "above";
  fs::create_directories(above / "plugins");
  const fs::path file = write("above/plugins/a.so", read(kModules / "good.so"));
  const std::string on_the_way = "the folder " + above.string() + " on the way to it ";
  ::chmod(above.c_str(), 0777);
  EXPECT_THAT(refusal(file), StartsWith(on_the_way + "is writable by others (mode 0777)"));
  ::chmod(above.c_str(), 0770);
  EXPECT_THAT(refusal(file), StartsWith(on_the_way + "is writable by its group (mode 0770)"));
  Modules modules;
  EXPECT_FALSE(modules.load_directory(above / "plugins"));
  // As /tmp: what is there belongs to its owner, and nobody else can put anything in its place.
  ::chmod(above.c_str(), 01777);
  EXPECT_TRUE(modules.load_directory(above / "plugins"));
  ASSERT_EQ(modules.records().size(), 1U);
  EXPECT_TRUE(modules.records()[0]->loaded) << modules.records()[0]->refusal;
}

TEST_F(ModulesTest, RefusesWhatALinkLeadsToBehindSuchAFolder) {
  fs::create_directories(folder_ / "open");
  fs::create_directories(folder_ / "plugins");
  write("open/real.so", read(kModules / "good.so"));
  const std::string on_the_way = "the folder " + (folder_ / "open").string() + " on the way to it ";
  for (const fs::path& target : {fs::path("../open/real.so"), folder_ / "open/real.so"}) {
    const fs::path link = folder_ / "plugins/a.so";
    fs::remove(link);
    fs::create_symlink(target, link);
    ::chmod((folder_ / "open").c_str(), 0777);
    EXPECT_THAT(refusal(link), StartsWith(on_the_way + "is writable by others"));
    ::chmod((folder_ / "open").c_str(), 0755);
    Modules modules;
    const ModuleRecord& record = modules.load_file(link);
    EXPECT_TRUE(record.loaded) << record.refusal;
    EXPECT_EQ(record.path, link.string());
  }
  // A folder that is a link itself.
  fs::create_directory_symlink("open", folder_ / "alias");
  ::chmod((folder_ / "open").c_str(), 0777);
  Modules modules;
  const auto loaded = modules.load_directory(folder_ / "alias");
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("the folder is writable by others (mode 0777)"));
  fs::create_symlink("round.so", folder_ / "plugins/round.so");
  EXPECT_EQ(refusal(folder_ / "plugins/round.so"), "Too many levels of symbolic links");
}

TEST_F(ModulesTest, RefusesWhatBelongsToSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can give files away";
  constexpr uid_t kOther = 12345;
  const std::string belongs =
      " belongs to user 12345, who could change what the scheduler runs: chown it to root or to "
      "the user who runs the scheduler";
  fs::create_directories(folder_ / "above/plugins");
  const fs::path file = write("above/plugins/a.so", read(kModules / "good.so"));
  const auto given = [](const fs::path& path) { return ::lchown(path.c_str(), kOther, 0) == 0; };
  const auto taken = [](const fs::path& path) { return ::lchown(path.c_str(), 0, 0) == 0; };
  ASSERT_TRUE(given(file));
  EXPECT_EQ(refusal(file), "the file" + belongs);
  ASSERT_TRUE(taken(file));
  ASSERT_TRUE(given(folder_ / "above/plugins"));
  EXPECT_EQ(refusal(file), "the folder" + belongs);
  ASSERT_TRUE(taken(folder_ / "above/plugins"));
  ASSERT_TRUE(given(folder_ / "above"));
  EXPECT_EQ(refusal(file),
            "the folder " + (folder_ / "above").string() + " on the way to it" + belongs);
  ASSERT_TRUE(taken(folder_ / "above"));
  const fs::path link = folder_ / "above/plugins/b.so";
  fs::create_symlink("a.so", link);
  ASSERT_TRUE(given(link));
  EXPECT_THAT(refusal(link), HasSubstr("the link"));
  ASSERT_TRUE(taken(link));
  Modules modules;
  const ModuleRecord& record = modules.load_file(link);
  EXPECT_TRUE(record.loaded) << record.refusal;
}

// The file is replaced between the look at it and its loading, as an upgrade might do.
TEST_F(ModulesTest, WhatWasJudgedIsWhatIsLoaded) {
  const fs::path file = write("a.so", read(kModules / "good.so"));
  PluginFile judged(file);
  ASSERT_TRUE(judged.verdict());
  fs::rename(write("new", read(kModules / "static_constructor_aborts.so")), file);
  const auto create = judged.load();
  ASSERT_TRUE(create) << create.error().message;
  EXPECT_EQ(refusal(file).substr(0, 10), "it was bui") << "the new one would not be taken";
}

// By the path, not by the descriptor that it was loaded through.
TEST_F(ModulesTest, ALibraryIsCalledByItsPath) {
  const fs::path file = write("named.so", read(kModules / "good.so"));
  Modules modules;
  const ModuleRecord& record = modules.load_file(file);
  ASSERT_TRUE(record.loaded) << record.refusal;
  Dl_info info{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(record.create), &info), 0);
  EXPECT_EQ(info.dli_fname, file.string());
}

// A descriptor's number is used again; a library's name is not.
TEST_F(ModulesTest, OneLibraryIsNotTakenForAnother) {
  std::vector<plimsoll_plugin_create_fn> made;
  Modules modules;
  static_cast<void>(modules.load_file(kModules / "undefined_symbol.so"));
  for (const char* name : {"good", "create_throws", "create_without_text", "filter_throws"}) {
    const ModuleRecord& record = modules.load_file(
        write(std::string(name) + ".so", read(kModules / (std::string(name) + ".so"))));
    ASSERT_TRUE(record.loaded) << record.refusal;
    for (const auto other : made) EXPECT_NE(record.create, other) << name;
    made.push_back(record.create);
  }
}

TEST_F(ModulesTest, RefusesASecondPluginOfOneName) {
  const std::string good = read(kModules / "good.so");
  const fs::path first = write("a.so", good);
  const fs::path second = write("b.so", good);
  Modules modules;
  ASSERT_TRUE(modules.load_directory(folder_));
  ASSERT_EQ(modules.records().size(), 2U);
  EXPECT_TRUE(modules.records()[0]->loaded);
  EXPECT_EQ(modules.records()[1]->refusal,
            second.string() + ": a plugin of the name \"Good\" is already loaded from " +
                first.string() + ": remove or rename one of the two");

  Modules with_builtin;
  const StaticModule builtin[] = {{"Good", "9", modules.records()[0]->create}};
  with_builtin.add_builtin(builtin);
  EXPECT_EQ(with_builtin.load_file(first).refusal,
            first.string() +
                ": a plugin of the name \"Good\" is already built in: remove or rename one of the "
                "two");
}

TEST_F(ModulesTest, OneBadFileDoesNotHinderTheOthers) {
  write("a.so", "nonsense");
  write("b.so", read(kModules / "good.so"));
  write("notes.txt", "no plugin, and not looked at");
  Modules modules;
  ASSERT_TRUE(modules.load_directory(folder_));
  ASSERT_EQ(modules.records().size(), 2U);
  EXPECT_FALSE(modules.records()[0]->loaded);
  EXPECT_TRUE(modules.records()[1]->loaded);
}

TEST_F(ModulesTest, SaysThatADirectoryIsMissing) {
  Modules modules;
  auto loaded = modules.load_directory(folder_ / "nowhere");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message,
            "plugin directory " + (folder_ / "nowhere").string() +
                ": cannot be used: No such file or directory; name a plugin directory that exists");
  auto file = modules.load_directory(write("file", ""));
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("not a directory"));
}

TEST_F(ModulesTest, EveryTruncatedCopyIsRefused) {
  const std::string good = read(kModules / "good.so");
  const auto bytes = std::as_bytes(std::span(good));
  ASSERT_TRUE(read_elf_notes(bytes));
  for (size_t size = 0; size < good.size(); ++size) {
    // A copy of its own, so that reading beyond its end is found by AddressSanitizer.
    const bool head = size < 4096 || size + 4096 > good.size();
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + (head ? size : 0));
    auto notes = read_elf_notes(head ? std::span<const std::byte>(cut) : bytes.first(size));
    ASSERT_FALSE(notes) << "cut at " << size << " of " << good.size();
    const std::string& why = notes.error().message;
    ASSERT_TRUE(why.starts_with("the file is truncated") || why.starts_with("not an ELF file"))
        << "cut at " << size << " of " << good.size() << ": " << why;
  }
  for (size_t size : {size_t{5}, size_t{64}, size_t{1000}, good.size() / 2, good.size() - 1}) {
    EXPECT_EQ(refusal(write("cut.so", good.substr(0, size))),
              "the file is truncated, its headers speak of more than its " + std::to_string(size) +
                  " bytes: copy it again or build it again");
  }
}

TEST_F(ModulesTest, NoteReaderSurvivesAnyDamage) {
  const std::string good = read(kModules / "good.so");
  std::mt19937 random(test::test_seed());
  size_t refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = good;
    for (int n = 0; n < 8; ++n) bytes[random() % 1024] = static_cast<char>(random());
    const auto notes = read_elf_notes(std::as_bytes(std::span(bytes)));
    if (notes) continue;
    ++refused;
    EXPECT_FALSE(notes.error().message.empty());
  }
  EXPECT_GT(refused, 0U);
}

TEST_F(ModulesTest, ConstructionErrorsAreTheirs) {
  Modules modules;
  for (const char* file : {"create_throws", "create_throws_oddly", "create_without_text",
                           "fills_short_table", "fills_no_size", "no_destroy", "does_nothing"}) {
    ASSERT_TRUE(modules.load_file(kModules / (std::string(file) + ".so")).loaded) << file;
  }
  const auto error = [&](std::string_view name) {
    SymbolTable symbols;
    const auto made = PreparedPlugins(symbols).make(modules, {}, std::string(name), "7");
    return made ? "no error" : made.error().message;
  };
  EXPECT_EQ(error("CreateThrows"), "args.seats: must be a number, is 7");
  EXPECT_EQ(error("CreateThrowsOddly"), "an exception that is no std::exception");
  EXPECT_EQ(error("CreateWithoutText"), "it failed without saying why");
  EXPECT_EQ(error("FillsShortTable"),
            "it filled in a table of 16 bytes, ABI 1.0 "
            "has 232: build it with this scheduler's SDK");
  EXPECT_EQ(error("FillsNoSize"),
            "it filled in a table of 0 bytes, ABI 1.0 has "
            "232: build it with this scheduler's SDK");
  EXPECT_EQ(error("NoDestroy"),
            "it has no destroy function: build it with the "
            "SDK's macro");
  EXPECT_EQ(error("DoesNothing"),
            "the plugin would do nothing: it has none of the functions that a scheduler calls. Are "
            "their names misspelt? docs/plugins.md has them");
  EXPECT_EQ(error("Nobody"), "plugin \"Nobody\" does not exist");
}

}  // namespace
}  // namespace plimsoll
