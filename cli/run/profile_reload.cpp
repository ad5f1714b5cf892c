#include "cli/run/profile_reload.hpp"

#include <linux/close_range.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/run_program.hpp"
#include "framework/base/split.hpp"

namespace plimsoll::cli {
namespace {

constexpr const char* kProgram = "/proc/self/exe";
constexpr const char* kReloads = "PLIMSOLL_RELOADS";  // handed to the next start
constexpr std::size_t kLongestProfile = 16 << 20;

// How often this process was started anew.
uint32_t reloads_so_far() {
  const char* text = std::getenv(kReloads);
  uint32_t count = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), count);
  return count;
}

// The words of this process's command line.
std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size();) {
    words.emplace_back(all.c_str() + at);
    at += words.back().size() + 1;
  }
  return words;
}

// What a person should read of it.
std::string refusal(const ProgramEnd& end) {
  switch (end.how) {
    case ProgramEnd::How::kExited:
      break;
    case ProgramEnd::How::kKilled:
      return "the check was ended by signal " + std::to_string(end.code) + ": " + end.err;
    case ProgramEnd::How::kNotStarted:
      return std::string("the check could not be started: ") + std::strerror(end.code);
    case ProgramEnd::How::kTimedOut:
      return "the check took longer than a minute: a plugin hangs";
    default:
      return "the check printed too much";
  }
  return end.err;
}

// "plimsoll run: the profile file is not usable:\nFILE:3:1: ...\n" -> "FILE:3:1: ..."
std::string in_one_line(std::string_view text) {
  constexpr std::string_view kBefore = "plimsoll run: ";
  constexpr std::string_view kHeading = "the profile file is not usable:\n";
  if (text.starts_with(kBefore)) text.remove_prefix(kBefore.size());
  if (text.starts_with(kHeading)) text.remove_prefix(kHeading.size());
  std::string line;
  for (std::string& part : split(text, "\n")) {
    part.erase(0, part.find_first_not_of(' '));
    if (part.empty()) continue;
    if (!line.empty()) line += line.ends_with(':') ? " " : "; ";
    line += part;
  }
  return line;
}

// Of an effective configuration: the profiles are its only list with such an entry.
std::set<std::string> schedulers_of(std::string_view yaml) {
  constexpr std::string_view kEntry = "- schedulerName: ";
  std::set<std::string> names;
  for (const std::string& line : split(yaml, "\n")) {
    if (line.starts_with(kEntry)) names.insert(line.substr(kEntry.size()));
  }
  return names;
}

}  // namespace

FileWatch::FileWatch(std::string path) : path_(std::move(path)), taken_(look()), seen_(taken_) {}

FileWatch::State FileWatch::look() const {
  struct stat found {};
  if (::stat(path_.c_str(), &found) != 0) return {};
  return {true,          found.st_dev,         found.st_ino,
          found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

bool FileWatch::changed() {
  const State now = look();
  const bool settled = std::exchange(seen_, now) == now;
  if (!settled || now == taken_) return false;
  taken_ = now;
  return true;
}

bool has_private_key(const config::Validation& configuration) {
  return std::ranges::any_of(configuration.config.extenders, [](const ExtenderSpec& extender) {
    return !extender.tls.key_pem.empty();
  });
}

std::string meaning_of(const config::Validation& configuration) {
  std::string hidden;
  for (const ExtenderSpec& extender : configuration.config.extenders) {
    for (const std::string* pem :
         {&extender.tls.ca_pem, &extender.tls.cert_pem, &extender.tls.key_pem}) {
      hidden += std::to_string(pem->size()) + ':' + *pem;
    }
  }
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(hidden.data()), hidden.size(), hash.data());
  std::string meaning = configuration.effective_yaml() + "# caData, certData and keyData:";
  for (const unsigned char byte : hash) meaning += ' ' + std::to_string(byte);
  return meaning + '\n';
}

ProfileCheck check_profile_file(const std::string& in_force, const std::stop_token& stop) {
  std::vector<std::string> words = own_command_line();
  if (!words.empty()) words.erase(words.begin());
  // Only what is wrong is wanted of its log.
  for (const char* word :
       {"--log-level", "error", "--log-format", "text", "--write-config-to", "-", "--as-a-reload"})
    words.emplace_back(word);
  Program program{kProgram, std::move(words), own_environment()};
  program.most_output = kLongestProfile;
  ProgramEnd end = run_program(std::move(program), stop);
  if (stop.stop_requested()) return {ProfileCheck::Result::kStopped};
  if (end.how != ProgramEnd::How::kExited || end.code != 0) {
    return {ProfileCheck::Result::kRefused, in_one_line(refusal(end))};
  }
  if (end.out == in_force) return {ProfileCheck::Result::kUnchanged};
  return {ProfileCheck::Result::kUsable, {}, std::move(end.out)};
}

std::string schedulers_left_out(std::string_view before, std::string_view now) {
  const std::set<std::string> kept = schedulers_of(now);
  std::string left_out;
  for (const std::string& name : schedulers_of(before)) {
    if (kept.contains(name)) continue;
    left_out += (left_out.empty() ? "" : ", ") + name;
  }
  return left_out;
}

ProfileMetrics::ProfileMetrics(metrics::Registry& registry)
    : reloads_(registry.counters({"plimsoll_profile_reloads_total",
                                  "Changed profile files, by what became of them: loaded, refused, "
                                  "or unchanged (they mean what the one in force means).",
                                  {"result"}})),
      refused_(registry
                   .gauges({"plimsoll_profile_refused",
                            "1 while the profile file was refused, so that another one is in "
                            "force.",
                            {}})
                   .with({})) {
  reloads_.with({"loaded"}).raise_to(reloads_so_far());
  for (const char* result : {"refused", "unchanged"}) reloads_.with({result}).raise_to(0);
}

void ProfileMetrics::count(ProfileCheck::Result result) const {
  const bool refused = result == ProfileCheck::Result::kRefused;
  refused_.set(refused ? 1 : 0);
  if (refused) reloads_.with({"refused"}).add(1);
  if (result == ProfileCheck::Result::kUnchanged) reloads_.with({"unchanged"}).add(1);
}

std::string start_anew() {
  std::vector<std::string> words = own_command_line();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::setenv(kReloads, std::to_string(reloads_so_far() + 1).c_str(), 1);
  // Whatever a library or a plugin has left open stays behind.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execv(kProgram, arguments.data());
  return std::strerror(errno);
}

}  // namespace plimsoll::cli
