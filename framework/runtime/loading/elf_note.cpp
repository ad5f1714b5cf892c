#include "framework/runtime/loading/elf_note.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace plimsoll {

namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "Plimsoll's plugin loader knows x86-64 and aarch64"
#endif

using Bytes = std::span<const std::byte>;

template <typename T>
std::optional<T> read_at(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Nothing if the range is not within the file.
std::optional<Bytes> part(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

tl::unexpected<Error> truncated(size_t size) {
  return fail(ErrorCode::kInvalid, "the file is truncated, its headers speak of more than its " +
                                       std::to_string(size) +
                                       " bytes: copy it again or build it again");
}

std::string hex(Bytes bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

uint64_t round_up(uint64_t value, uint64_t align) {
  return (value + align - 1) / align * align;
}

void take_note(std::string_view name, uint32_t type, Bytes descriptor, ElfNotes& out) {
  if (name == PLIMSOLL_NOTE_NAME && type == PLIMSOLL_NOTE_TYPE && !out.has_note) {
    out.has_note = true;
    out.descriptor_size = static_cast<uint32_t>(descriptor.size());
    std::memcpy(&out.note, descriptor.data(), std::min(descriptor.size(), sizeof out.note));
    out.note.name[sizeof out.note.name - 1] = '\0';
    out.note.version[sizeof out.note.version - 1] = '\0';
    out.note.sdk_version[sizeof out.note.sdk_version - 1] = '\0';
    out.note.license[sizeof out.note.license - 1] = '\0';
  }
  if (name == "GNU" && type == NT_GNU_BUILD_ID) out.build_id = hex(descriptor);
}

void walk_notes(Bytes segment, uint64_t align, ElfNotes& out) {
  if (align != 8) align = 4;
  uint64_t at = 0;
  while (auto header = read_at<Elf64_Nhdr>(segment, at)) {
    at += sizeof(Elf64_Nhdr);
    auto name = part(segment, at, header->n_namesz);
    at = round_up(at + header->n_namesz, align);
    auto descriptor = part(segment, at, header->n_descsz);
    if (!name || !descriptor) return;
    at = round_up(at + header->n_descsz, align);
    std::string_view text(reinterpret_cast<const char*>(name->data()), name->size());
    if (!text.empty() && text.back() == '\0') text.remove_suffix(1);
    take_note(text, header->n_type, *descriptor, out);
  }
}

}  // namespace

Result<ElfNotes> read_elf_notes(Bytes file) {
  static constexpr char kAdvice[] =
      ": a plugin is a shared object, as plimsoll_add_plugin builds it";
  if (file.size() < SELFMAG || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) {
    return fail(ErrorCode::kInvalid, std::string("not an ELF file") + kAdvice);
  }
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header) return truncated(file.size());
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != kMachine) {
    return fail(ErrorCode::kInvalid, "built for another kind of machine: build it for this one");
  }
  if (header->e_type != ET_DYN || header->e_phentsize != sizeof(Elf64_Phdr)) {
    return fail(ErrorCode::kInvalid, std::string("not a shared object") + kAdvice);
  }
  const uint64_t sections = uint64_t{header->e_shnum} * header->e_shentsize;
  if (sections != 0 && !part(file, header->e_shoff, sections)) return truncated(file.size());

  ElfNotes notes;
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return truncated(file.size());
    if (segment->p_type != PT_LOAD && segment->p_type != PT_NOTE && segment->p_type != PT_DYNAMIC) {
      continue;
    }
    const auto bytes = part(file, segment->p_offset, segment->p_filesz);
    if (!bytes) return truncated(file.size());
    if (segment->p_type == PT_NOTE) walk_notes(*bytes, segment->p_align, notes);
  }
  return notes;
}

}  // namespace plimsoll
