#include "framework/runtime/modules.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "framework/api/symbols.hpp"
#include "framework/base/log.hpp"
#include "framework/runtime/elf_note.hpp"
#include "framework/runtime/environment.hpp"
#include "framework/runtime/plugin_instance.hpp"

namespace plimsoll {

namespace {

namespace fs = std::filesystem;

constexpr uint32_t kNoteSizeV1 = offsetof(plimsoll_note, license) + 32;
constexpr uint32_t kPluginSizeV1 = offsetof(plimsoll_plugin, explain) + sizeof(void*);

constexpr uint32_t host_sanitizers() {
  uint32_t flags = 0;
#if defined(__SANITIZE_ADDRESS__)
  flags |= PLIMSOLL_BUILD_ASAN;
#endif
#if defined(__SANITIZE_THREAD__)
  flags |= PLIMSOLL_BUILD_TSAN;
#endif
  return flags;
}

// A file mapped for reading, or why not.
class MappedFile {
 public:
  static Result<MappedFile> open(const fs::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail(ErrorCode::kNotFound, "cannot be read: " + error_text());
    struct stat info {};
    MappedFile file;
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(fd);
      return fail(ErrorCode::kInvalid, "not a regular file");
    }
    file.mode_ = info.st_mode;
    file.size_ = static_cast<size_t>(info.st_size);
    if (file.size_ != 0) {
      void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd, 0);
      if (data == MAP_FAILED) {
        std::string text = error_text();
        ::close(fd);
        return fail(ErrorCode::kUnavailable, "cannot be read: " + text);
      }
      file.data_ = data;
    }
    ::close(fd);
    return file;
  }

  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_), mode_(other.mode_) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(data_), data_ == nullptr ? 0 : size_};
  }
  [[nodiscard]] mode_t mode() const { return mode_; }

 private:
  MappedFile() = default;
  static std::string error_text() { return std::strerror(errno); }

  void* data_ = nullptr;
  size_t size_ = 0;
  mode_t mode_ = 0;
};

std::string octal(mode_t mode) {
  std::string text = "0000";
  for (size_t i = 0; i < 4; ++i) text[3 - i] = static_cast<char>('0' + ((mode >> (3 * i)) & 7));
  return text;
}

Result<void> not_writable_by_others(mode_t mode, std::string_view what) {
  if ((mode & S_IWOTH) == 0) return {};
  return fail(ErrorCode::kInvalid, std::string(what) + " is writable by others (mode " +
                                       octal(mode & 07777) +
                                       "), who could change what the scheduler runs: chmod o-w it");
}

Result<void> check_directory(const fs::path& directory) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) {
    return fail(ErrorCode::kNotFound, std::string("cannot be used: ") + std::strerror(errno) +
                                          "; name a plugin directory that exists");
  }
  if (!S_ISDIR(info.st_mode)) return fail(ErrorCode::kInvalid, "not a directory");
  return not_writable_by_others(info.st_mode, "the folder");
}

std::string version_text(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string sanitizer_text(uint32_t flags) {
  return (flags & PLIMSOLL_BUILD_ASAN) != 0 ? "AddressSanitizer" : "ThreadSanitizer";
}

Result<void> judge(const ElfNotes& notes) {
  static const std::string kHere = version_text(PLIMSOLL_ABI_MAJOR, PLIMSOLL_ABI_MINOR);
  if (!notes.has_note) {
    return fail(ErrorCode::kInvalid,
                "it carries no Plimsoll note: build it with the Plimsoll SDK, whose macro "
                "PLIMSOLL_PLUGIN writes one");
  }
  const plimsoll_note& note = notes.note;
  // The version comes first: it says how the rest is to be read.
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
      note.build_flags & (PLIMSOLL_BUILD_ASAN | PLIMSOLL_BUILD_TSAN) & ~host_sanitizers();
  if (foreign != 0) {
    return fail(ErrorCode::kInvalid, "it was built with " + sanitizer_text(foreign) +
                                         ", this scheduler was not: build both alike");
  }
  if (note.name[0] == '\0') {
    return fail(ErrorCode::kInvalid, "its note has no plugin name: name it in PLIMSOLL_PLUGIN");
  }
  return {};
}

struct Judged {
  ElfNotes notes;
  Result<void> verdict;
};

// Everything that can be said without running the file.
Judged judge_file(const fs::path& file) {
  Judged judged;
  if (auto folder = check_directory(file.parent_path()); !folder) {
    judged.verdict = fail(folder.error());
    return judged;
  }
  auto mapped = MappedFile::open(file);
  if (!mapped) {
    judged.verdict = fail(mapped.error());
    return judged;
  }
  auto notes = read_elf_notes(mapped->bytes());
  if (!notes) {
    judged.verdict = fail(notes.error());
    return judged;
  }
  judged.notes = *notes;
  judged.verdict = judge(*notes);
  // Last: a file that is no plugin should be called that.
  if (judged.verdict) judged.verdict = not_writable_by_others(mapped->mode(), "the file");
  return judged;
}

// What the dynamic linker said, without what Boost puts round it:
// "boost::dll::shared_library::load() failed (dlerror system message: TEXT): ... [...]".
std::string linker_text(std::string text, const fs::path& file) {
  static constexpr std::string_view kBefore = "dlerror system message: ";
  if (const auto at = text.find(kBefore); at != std::string::npos) {
    text.erase(0, at + kBefore.size());
    if (const auto end = text.rfind("): "); end != std::string::npos) text.erase(end);
    if (text.ends_with(')')) text.pop_back();
  }
  const std::string prefix = file.string() + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

// Loads the library, for ever.
Result<plimsoll_plugin_create_fn> load_library(const fs::path& file) {
  // Never destroyed: plugins' threads and statics may outlive main.
  static auto& libraries = *new std::vector<boost::dll::shared_library>();
  try {
    boost::dll::shared_library library(
        file, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
    libraries.push_back(std::move(library));
  } catch (const std::exception& e) {
    return fail(ErrorCode::kInvalid,
                "it cannot be loaded: " + linker_text(e.what(), file) +
                    "; link it against what it uses (plimsoll_add_plugin checks that)");
  }
  boost::dll::shared_library& library = libraries.back();
  if (!library.has(PLIMSOLL_CREATE_SYMBOL)) {
    return fail(ErrorCode::kInvalid,
                "it does not export " PLIMSOLL_CREATE_SYMBOL
                ": keep the symbol visible, as the macro PLIMSOLL_PLUGIN declares it");
  }
  return &library.get<int32_t(const plimsoll_host*, plimsoll_str, plimsoll_plugin*)>(
      PLIMSOLL_CREATE_SYMBOL);
}

// A host that answers nothing, for a look at a plugin.
class NoBackend final : public HostBackend {
 public:
  const plimsoll_node_info* node_by_name(std::string_view) override { return nullptr; }
  const plimsoll_node_info* node_by_slot(uint32_t) override { return nullptr; }
  uint32_t slot_count() override { return 0; }
  void touch_node(uint32_t, uint32_t) override {}
  Result<void> watch(std::string_view, std::string_view, std::string_view) override { return {}; }
  void requeue_rejected(std::string_view) override {}
  void emit_event(std::string_view, const plimsoll_pod&, bool, std::string_view, std::string_view,
                  std::string_view) override {}
  void allow_waiting(std::string_view, std::string_view) override {}
  void reject_waiting(std::string_view, std::string_view, std::string_view) override {}
  void post_binding(BindingPost, std::function<void(Result<void>)> done) override {
    done(fail(ErrorCode::kUnavailable, "there is no API server here"));
  }
  int64_t now_ms() override { return 0; }
  const plimsoll_pod* pod_by_uid(std::string_view) override { return nullptr; }
  std::vector<WaitingPod> waiting_pods() override { return {}; }
  std::unique_ptr<plimsoll_what_if> what_if(const plimsoll_cycle&, const plimsoll_pod&,
                                            uint32_t) override {
    return nullptr;
  }
  void nominate(const plimsoll_pod&, std::string_view) override {}
  std::vector<const plimsoll_pod*> nominated_pods(std::string_view) override { return {}; }
  bool cancel_binding(std::string_view, std::string_view) override { return false; }
  void activate(std::string_view) override {}
  void run_on_loop(int64_t, std::function<void()>) override {}
  void api_request(PluginRequest, ApiAnswer done) override {
    done(0, "there is no API server here");
  }
};

}  // namespace

Modules::Modules() = default;
Modules::~Modules() = default;
Modules::Modules(Modules&&) noexcept = default;
Modules& Modules::operator=(Modules&&) noexcept = default;

Result<plimsoll_note> read_plugin_note(const fs::path& file) {
  std::error_code ignored;
  const Judged judged = judge_file(fs::absolute(file, ignored));
  if (!judged.verdict) return fail(judged.verdict.error().within(file.string()));
  return judged.notes.note;
}

void Modules::add_builtin(std::span<const StaticModule> modules) {
  for (const StaticModule& module : modules) {
    ModuleRecord record;
    record.name = module.name;
    record.version = module.version;
    record.create = module.create;
    record.loaded = true;
    add(std::move(record));
  }
}

Result<void> Modules::load_directory(const fs::path& directory,
                                     std::span<const StaticModule> instead) {
  if (auto usable = check_directory(directory); !usable) {
    return fail(usable.error().within("plugin directory " + directory.string()));
  }
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".so") files.push_back(it->path());
  }
  if (error) {
    return fail(ErrorCode::kUnavailable,
                "plugin directory " + directory.string() + ": cannot be read: " + error.message());
  }
  std::sort(files.begin(), files.end());
  const auto is_replaced = [instead](const fs::path& file) {
    if (instead.empty()) return false;  // then no note need be read twice
    const auto note = read_plugin_note(file);
    return note && std::any_of(instead.begin(), instead.end(), [&note](const StaticModule& module) {
             return module.name == note->name;
           });
  };
  for (const fs::path& file : files) {
    if (!is_replaced(file)) load_file(file);
  }
  return {};
}

const ModuleRecord& Modules::load_file(const fs::path& file) {
  ModuleRecord record;
  record.path = file.string();
  std::error_code ignored;
  const fs::path absolute = fs::absolute(file, ignored);
  const Judged judged = judge_file(absolute);
  record.name = judged.notes.note.name;
  record.version = judged.notes.note.version;
  record.license = judged.notes.note.license;
  record.sdk_version = judged.notes.note.sdk_version;
  record.build_id = judged.notes.build_id;
  const auto refuse = [&](const std::string& why) -> const ModuleRecord& {
    record.refusal = record.path + ": " + why;
    log_warn("a plugin file is refused", {{"reason", record.refusal}});
    return add(std::move(record));
  };
  if (!judged.verdict) return refuse(judged.verdict.error().message);
  if (const ModuleRecord* other = find(record.name)) {
    return refuse("a plugin of the name \"" + record.name + "\" is already " +
                  (other->path.empty() ? "built in" : "loaded from " + other->path) +
                  ": remove or rename one of the two");
  }
  auto create = load_library(absolute);
  if (!create) return refuse(create.error().message);
  record.create = *create;
  record.loaded = true;
  log_info("plugin loaded", {{"plugin", record.name},
                             {"version", record.version},
                             {"path", record.path},
                             {"build_id", record.build_id}});
  return add(std::move(record));
}

const ModuleRecord* Modules::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Result<std::vector<ExtensionPoint>> Modules::extension_points(std::string_view name,
                                                              std::string_view args_json) const {
  const ModuleRecord* module = find(name);
  if (module == nullptr) {
    return fail(ErrorCode::kNotFound, "plugin \"" + std::string(name) + "\" does not exist");
  }
  SymbolTable symbols;
  NoBackend backend;
  Environment env(symbols, backend);
  auto instance = PluginInstance::create(*module, args_json, "", env);
  if (!instance) {
    return fail(instance.error().within("initializing plugin \"" + std::string(name) + "\""));
  }
  std::vector<ExtensionPoint> points;
  for (size_t i = 0; i < kExtensionPoints; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    if ((*instance)->implements(point)) points.push_back(point);
  }
  return points;
}

ModuleRecord& Modules::add(ModuleRecord record) {
  records_.push_back(std::make_unique<ModuleRecord>(std::move(record)));
  ModuleRecord& kept = *records_.back();
  if (kept.loaded) by_name_.emplace(kept.name, &kept);
  return kept;
}

}  // namespace plimsoll
