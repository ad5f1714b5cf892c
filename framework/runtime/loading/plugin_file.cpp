#include "framework/runtime/loading/plugin_file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plimsoll/note.hpp>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/runtime/loading/trusted_path.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kNoteSizeV1 = offsetof(plimsoll_note, license) + 32;
constexpr uint32_t kPluginSizeV1 = offsetof(plimsoll_plugin, explain) + sizeof(void*);

std::string version_text(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string sanitizer_text(uint32_t flags) {
  return (flags & PLIMSOLL_BUILD_ASAN) != 0 ? "AddressSanitizer" : "ThreadSanitizer";
}

Result<void> judge_notes(const ElfNotes& notes) {
  static const std::string kHere = version_text(PLIMSOLL_ABI_MAJOR, PLIMSOLL_ABI_MINOR);
  if (!notes.has_note) {
    return fail(ErrorCode::kInvalid,
                "it carries no Plimsoll note: build it with the Plimsoll SDK, whose macro "
                "PLIMSOLL_PLUGIN writes one");
  }
  const plimsoll_note& note = notes.note;
  // Checks the version first: it decides the meaning of the rest.
  if (notes.descriptor_size >= 8 && note.abi_major != PLIMSOLL_ABI_MAJOR) {
    return fail(ErrorCode::kInvalid,
                "it was built for plugin ABI " + version_text(note.abi_major, note.abi_minor) +
                    ", this scheduler speaks " + kHere + ": build it with this scheduler's SDK");
  }
  if (notes.descriptor_size >= 8 && note.abi_minor > PLIMSOLL_ABI_MINOR) {
    return fail(ErrorCode::kInvalid,
                "it needs plugin ABI " + version_text(note.abi_major, note.abi_minor) +
                    " or later, this scheduler speaks " + kHere +
                    ": update the scheduler, or build it with this scheduler's SDK");
  }
  if (notes.descriptor_size < kNoteSizeV1 || note.size < kNoteSizeV1) {
    return fail(ErrorCode::kInvalid,
                "its note has " + std::to_string(std::min(notes.descriptor_size, note.size)) +
                    " bytes, ABI 1.0 has " + std::to_string(kNoteSizeV1) +
                    ": build it with this scheduler's SDK");
  }
  if (note.plugin_size < kPluginSizeV1) {
    return fail(ErrorCode::kInvalid, "its plugin table has " + std::to_string(note.plugin_size) +
                                         " bytes, ABI 1.0 has " + std::to_string(kPluginSizeV1) +
                                         ": build it with this scheduler's SDK");
  }
  const uint32_t foreign =
      note.build_flags & (PLIMSOLL_BUILD_ASAN | PLIMSOLL_BUILD_TSAN) & ~sdk::detail::build_flags();
  if (foreign != 0) {
    return fail(ErrorCode::kInvalid, "it was built with " + sanitizer_text(foreign) +
                                         ", this scheduler was not: build both alike");
  }
  if (note.name[0] == '\0') {
    return fail(ErrorCode::kInvalid, "its note has no plugin name: name it in PLIMSOLL_PLUGIN");
  }
  return {};
}

// The dynamic linker's text, without the text that Boost adds around it:
// "boost::dll::shared_library::load() failed (dlerror system message: TEXT): ... [...]".
std::string linker_text(std::string text, const std::string& file) {
  static constexpr std::string_view kBefore = "dlerror system message: ";
  if (const auto at = text.find(kBefore); at != std::string::npos) {
    text.erase(0, at + kBefore.size());
    if (const auto end = text.rfind("): "); end != std::string::npos) text.erase(end);
    if (text.ends_with(')')) text.pop_back();
  }
  const std::string prefix = file + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

// Sets the library's path in the linker's list; the linker only knows the path of the descriptor.
void name_library(void* handle, const std::string& path) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_name == path) return;
  // Neither is ever freed: the linker may read both as long as the process lives.
  static auto& names = *new std::vector<std::pair<char*, char*>>();
  names.emplace_back(map->l_name, ::strdup(path.c_str()));
  map->l_name = names.back().second;
}

}  // namespace

Result<void> check_plugin_directory(const fs::path& directory) {
  std::error_code ignored;
  const auto opened = TrustedPath::open(fs::absolute(directory, ignored));
  if (!opened && opened.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kNotFound, "cannot be used: " + opened.error().message +
                                          "; name a plugin directory that exists");
  }
  if (!opened) return fail(opened.error());
  if (!S_ISDIR(opened->info().st_mode)) return fail(ErrorCode::kInvalid, "not a directory");
  return opened->judge("the folder");
}

PluginFile::PluginFile(const fs::path& file) : verdict_(judge(file)) {}

PluginFile::~PluginFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> PluginFile::judge(const fs::path& file) {
  if (auto folder = check_plugin_directory(file.parent_path()); !folder) return folder;
  const auto trusted = TrustedPath::open(file);
  if (!trusted) {
    const bool absent = trusted.error().code == ErrorCode::kNotFound;
    return absent ? fail(ErrorCode::kNotFound, "cannot be read: " + trusted.error().message)
                  : fail(trusted.error());
  }
  if (!S_ISREG(trusted->info().st_mode)) return fail(ErrorCode::kInvalid, "not a regular file");
  if (auto own = trusted->judge("the file"); !own) return own;
  real_path_ = trusted->real_path();
  descriptor_ = ::open(descriptor_path(trusted->descriptor()).c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &info) != 0) {
    return fail(ErrorCode::kUnavailable, std::string("cannot be read: ") + std::strerror(errno));
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = nullptr;
  if (size != 0) data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (data == MAP_FAILED) {
    return fail(ErrorCode::kUnavailable, std::string("cannot be read: ") + std::strerror(errno));
  }
  const std::string_view text(static_cast<const char*>(data), size);
  auto notes = read_elf_notes(std::as_bytes(std::span(text)));
  uses_origin_ = text.find("$ORIGIN") != text.npos || text.find("${ORIGIN}") != text.npos;
  if (data != nullptr) ::munmap(data, size);
  if (!notes) return fail(notes.error());
  notes_ = *notes;
  return judge_notes(notes_);
}

Result<plimsoll_plugin_create_fn> PluginFile::load() {
  // Never destroyed: plugins' threads and statics may outlive main.
  static auto& libraries = *new std::vector<boost::dll::shared_library>();
  // The linker resolves $ORIGIN from the given path, so a library that uses it is loaded by its
  // real path. That this path still leads to the checked file is as certain as its directories are.
  struct stat judged {};
  struct stat there {};
  if (uses_origin_ &&
      (::fstat(descriptor_, &judged) != 0 || ::stat(real_path_.c_str(), &there) != 0 ||
       judged.st_ino != there.st_ino || judged.st_dev != there.st_dev)) {
    return fail(ErrorCode::kUnavailable, "it was replaced while it was looked at: start again");
  }
  const std::string name = uses_origin_ ? real_path_ : descriptor_path(descriptor_);
  try {
    boost::dll::shared_library library(
        name, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
    libraries.push_back(std::move(library));
  } catch (const std::exception& e) {
    return fail(ErrorCode::kInvalid,
                "it cannot be loaded: " + linker_text(e.what(), name) +
                    "; link it against what it uses (plimsoll_add_plugin checks that)");
  }
  // Never closed: the linker also knows the library by the descriptor's path, so no other file may
  // get that path.
  descriptor_ = -1;
  boost::dll::shared_library& library = libraries.back();
  name_library(library.native(), real_path_);
  if (!library.has(PLIMSOLL_CREATE_SYMBOL)) {
    return fail(ErrorCode::kInvalid,
                "it does not export " PLIMSOLL_CREATE_SYMBOL
                ": keep the symbol visible, as the macro PLIMSOLL_PLUGIN declares it");
  }
  return &library.get<int32_t(const plimsoll_host*, plimsoll_str, plimsoll_plugin*)>(
      PLIMSOLL_CREATE_SYMBOL);
}

}  // namespace plimsoll
