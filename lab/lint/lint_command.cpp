#include "lab/lint/lint_command.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "cli/line/failure.hpp"
#include "config/manifest.hpp"
#include "config/profile/plugin_args.hpp"
#include "config/text/yaml_document.hpp"
#include "framework/base/quote.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "lab/lint/words.hpp"
#include "lab/sandbox/store/kinds.hpp"
#include "plugins/builtin/builtin.hpp"

namespace plimsoll::cli {
namespace {

constexpr int kFound = 1;
constexpr int kUnusable = 2;
constexpr int kNotTried = 3;

int fails(std::string_view message) {
  (void)failure("lint", message);
  return kUnusable;
}

// Memory that this process and the one that runs the plugins share.
class SharedNote {
 public:
  SharedNote() {
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) shared_ = new (memory) Shared;
  }
  ~SharedNote() {
    if (shared_ != nullptr) ::munmap(shared_, sizeof(Shared));
  }
  SharedNote(const SharedNote&) = delete;
  SharedNote& operator=(const SharedNote&) = delete;
  [[nodiscard]] bool exists() const { return shared_ != nullptr; }

  // The command came to its end.
  void done() { shared_->done = true; }
  [[nodiscard]] bool is_done() const { return shared_->done; }
  [[nodiscard]] std::span<char> text() const { return shared_->text; }
  [[nodiscard]] std::atomic<uint64_t>& calls() const { return shared_->calls; }
  void say(std::string_view what) const {
    const size_t length = std::min(what.size(), shared_->text.size() - 1);
    std::memcpy(shared_->text.data(), what.data(), length);
    shared_->text[length] = '\0';
    ++shared_->calls;
  }
  [[nodiscard]] std::string said() const { return shared_->text.data(); }

 private:
  struct Shared {
    std::atomic<uint64_t> calls{0};  // how many have begun
    std::atomic<bool> done{false};
    std::array<char, 4096> text{};  // of the last of them
  };
  Shared* shared_ = nullptr;
};

// Waits for the process to end. True: it had to be ended, since one call of a plugin had not
// returned after `limit` seconds.
bool hangs(pid_t child, const SharedNote& note, int64_t limit) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (handle < 0) return false;  // it is waited for without a limit
  uint64_t calls = 0;
  int64_t seconds = 0;
  pollfd end{handle, POLLIN, 0};
  while (seconds < limit && ::poll(&end, 1, 1000) <= 0) {
    ++seconds;
    if (calls != std::exchange(calls, note.calls())) seconds = 0;
  }
  ::close(handle);
  if (seconds < limit) return false;
  ::kill(child, SIGKILL);
  return true;
}

Result<std::vector<std::string>> load(const LintArguments& arguments, Modules& modules,
                                      const SharedNote& note) {
  std::vector<std::string> names;
  modules.add_builtin(builtin_modules());
  for (const std::string& name : arguments.builtin) {
    if (name == "all") {
      for (const StaticModule& module : builtin_modules()) names.push_back(module.name);
    } else if (modules.find(name) == nullptr) {
      return fail(ErrorCode::kNotFound, "there is no built-in plugin \"" + name +
                                            "\"; `plimsoll plugins` lists those that there are");
    } else {
      names.push_back(name);
    }
  }
  for (const std::string& file : arguments.files) {
    note.say(file + ": while it was loaded");
    const ModuleRecord& record = modules.load_file(file);
    if (!record.loaded) return fail(ErrorCode::kInvalid, record.refusal);
    names.push_back(record.name);
  }
  if (names.empty()) {
    return fail(ErrorCode::kInvalid,
                "nothing to look at: name a plugin file, or a built-in plugin with --builtin");
  }
  return names;
}

Result<std::string> args_of_file(const std::string& plugin, const std::string& file) {
  const auto text = config::read_text_file(file);
  if (!text) return fail(text.error());
  const config::ParsedText parsed = config::parse_single_document(*text);
  if (!parsed.problems.empty()) {
    return fail(ErrorCode::kInvalid,
                without_last_newlines(config::to_string(parsed.problems, file)));
  }
  const config::Value* value = parsed.documents.empty() ? nullptr : &parsed.documents.front();
  return config::passed_on_args(plugin, plugin, value);
}

std::string not_looked_at(const std::string& given, const std::string& plugin) {
  return "--args " + given + ": plugin \"" + plugin + "\" is not among those that are looked at";
}

Result<void> read_args(const LintArguments& arguments, const std::vector<std::string>& names,
                       std::map<std::string, std::string>& args) {
  for (const std::string& name : names) args[name] = "{}";
  for (const std::string& given : arguments.args) {
    const size_t equals = given.find('=');
    std::string name = equals == std::string::npos ? "" : given.substr(0, equals);
    if (name.empty()) {
      const std::vector<std::string>& meant =
          arguments.plugins.size() == 1 ? arguments.plugins : names;
      if (meant.size() != 1) {
        return fail(ErrorCode::kInvalid,
                    "--args " + given + " is of which plugin? Write --args NAME=FILE");
      }
      name = meant.front();
    }
    if (!args.contains(name)) {
      return fail(ErrorCode::kNotFound, not_looked_at(given, name));
    }
    auto read = args_of_file(name, equals == std::string::npos ? given : given.substr(equals + 1));
    if (!read) return fail(read.error());
    args[name] = std::move(*read);
  }
  return {};
}

Result<std::vector<lint::Object>> read_objects(const std::vector<std::string>& files) {
  std::vector<lint::Object> objects;
  for (const std::string& file : files) {
    auto manifests = config::load_manifests(file);
    if (!manifests) return fail(manifests.error());
    for (config::ManifestObject& manifest : *manifests) {
      const nlohmann::json json = nlohmann::json::parse(manifest.json, nullptr, false);
      const auto metadata = json.is_object() ? json.find("metadata") : json.end();
      if (metadata == json.end() || !metadata->is_object() || !metadata->contains("name") ||
          !metadata->at("name").is_string()) {
        return fail(ErrorCode::kInvalid, manifest.source() + ": an object without metadata.name");
      }
      const auto [group, version] = sandbox::split_api_version(manifest.api_version);
      lint::Object object;
      object.resource = sandbox::guess_plural(manifest.kind);
      if (!group.empty()) object.resource.append(".").append(version).append(".").append(group);
      object.name = metadata->at("name").get<std::string>();
      object.ns = metadata->value("namespace", "");
      object.json = std::move(manifest.json);
      objects.push_back(std::move(object));
    }
  }
  return objects;
}

// --plugin names none, or this one.
bool is_meant(const LintArguments& arguments, const std::string& name) {
  const std::vector<std::string>& meant = arguments.plugins;
  return meant.empty() || std::find(meant.begin(), meant.end(), name) != meant.end();
}

// In the process of its own.
int lint_here(const LintArguments& arguments, SharedNote& note) {
  Modules modules;
  const auto names = load(arguments, modules, note);
  if (!names) return fails(names.error().message);
  for (const std::string& name : arguments.plugins) {
    if (std::find(names->begin(), names->end(), name) == names->end()) {
      return fails("--plugin " + name + ": no such plugin was given; there are " +
                   nlohmann::json(*names).dump());
    }
  }
  lint::Options options;
  options.rounds = arguments.rounds;
  options.seed = arguments.seed;
  options.call_note = note.text();
  options.calls = &note.calls();
  if (auto read = read_args(arguments, *names, options.args); !read) {
    return fails(read.error().message);
  }
  auto objects = read_objects(arguments.objects);
  if (!objects) return fails(objects.error().message);
  options.objects = std::move(*objects);
  std::vector<lint::Report> reports;
  bool clean = true;
  bool tried = true;
  for (const std::string& name : *names) {
    if (!is_meant(arguments, name)) continue;
    options.words = arguments.words;
    options.companions.clear();
    for (const std::string& other : *names) {
      // Built-in plugins need no one, and nobody needs them.
      if (other != name && !modules.find(other)->path.empty()) options.companions.push_back(other);
    }
    if (const std::string& file = modules.find(name)->path; !file.empty()) {
      const auto words = lint::words_in_file(file);
      if (!words) return fails(words.error().message);
      options.words.insert(options.words.end(), words->begin(), words->end());
    }
    auto report = lint::lint_plugin(modules, name, options);
    if (!report) return fails(report.error().message);
    clean = clean && report->findings.empty();
    tried = tried && report->untried.empty();
    reports.push_back(std::move(*report));
  }
  std::cout << (arguments.output == "json" ? lint_json(reports, arguments)
                                           : lint_text(reports, arguments));
  if (!clean) return kFound;
  return tried ? 0 : kNotTried;
}

// The plugin took its process with it, or held it up.
int ended(const LintArguments& arguments, bool held_up, const std::string& how,
          const std::string& during) {
  const std::string what = "the plugin " + how + (held_up ? " from " : " in ") + during;
  if (arguments.output == "json") {
    const nlohmann::ordered_json all = {
        {"seed", arguments.seed},
        {"rounds", arguments.rounds},
        {held_up ? "hung" : "crashed", {{"how", how}, {"during", during}}}};
    std::cout << all.dump(2) << "\n";
  } else {
    std::cout << "FOUND: " << what << "\n  do: run it again with --seed " << arguments.seed
              << " --rounds " << arguments.rounds
              << (held_up
                      ? " and a longer --call-timeout, and look with a debugger where the child "
                        "process is\n"
                      : " under a debugger that follows the child, or built with "
                        "AddressSanitizer as the program is\n");
  }
  return kFound;
}

}  // namespace

int lint_plugins(const LintArguments& arguments) {
  SharedNote note;
  if (!note.exists()) return fails(std::string("cannot share memory: ") + std::strerror(errno));
  std::cout.flush();
  const pid_t child = ::fork();
  if (child < 0) return fails(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    int status = kUnusable;
    try {
      status = lint_here(arguments, note);
    } catch (const std::exception& error) {
      status = fails(error.what());
    }
    std::cout.flush();
    std::cerr.flush();
    note.done();
    ::_exit(status);
  }
  const bool held_up = hangs(child, note, arguments.call_timeout_s);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fails(std::string("cannot wait: ") + std::strerror(errno));
  }
  if (WIFEXITED(status) && note.is_done()) return WEXITSTATUS(status);
  if (held_up) {
    return ended(arguments, true,
                 "has not returned for " + std::to_string(arguments.call_timeout_s) + " s",
                 note.said());
  }
  const std::string how =
      WIFSIGNALED(status)
          ? std::string("crashed (") + ::strsignal(WTERMSIG(status)) + ")"
          : "ended the process (exit status " + std::to_string(WEXITSTATUS(status)) + ")";
  return ended(arguments, false, how, note.said());
}

}  // namespace plimsoll::cli
