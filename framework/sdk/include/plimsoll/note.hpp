// Plimsoll plugin SDK, internal: the ELF note that the host reads before it loads the file.
#pragma once

#include <plimsoll/plugin_abi.h>

#include <cstddef>

#if defined(__has_attribute)
#if __has_attribute(retain)
#define PLIMSOLL_SDK_RETAIN __attribute__((retain))
#endif
#endif
#ifndef PLIMSOLL_SDK_RETAIN
#define PLIMSOLL_SDK_RETAIN
#endif

#define PLIMSOLL_SDK_TEXT_OF(number) #number
#define PLIMSOLL_SDK_TEXT(number) PLIMSOLL_SDK_TEXT_OF(number)
#define PLIMSOLL_SDK_VERSION            \
  PLIMSOLL_SDK_TEXT(PLIMSOLL_ABI_MAJOR) \
  "." PLIMSOLL_SDK_TEXT(PLIMSOLL_ABI_MINOR) "." PLIMSOLL_SDK_TEXT(PLIMSOLL_PATCH)

namespace plimsoll::sdk::detail {

struct ElfNote {
  uint32_t name_size;
  uint32_t descriptor_size;
  uint32_t type;
  char name[12];
  plimsoll_note descriptor;
};
static_assert(sizeof(ElfNote) == 24 + sizeof(plimsoll_note));

constexpr uint32_t build_flags() {
  uint32_t flags = 0;
#if defined(__SANITIZE_ADDRESS__)
  flags |= PLIMSOLL_BUILD_ASAN;
#endif
#if defined(__SANITIZE_THREAD__)
  flags |= PLIMSOLL_BUILD_TSAN;
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  flags |= PLIMSOLL_BUILD_ASAN;
#endif
#if __has_feature(thread_sanitizer)
  flags |= PLIMSOLL_BUILD_TSAN;
#endif
#endif
#if defined(_GLIBCXX_DEBUG)
  flags |= PLIMSOLL_BUILD_GLIBCXX_DEBUG;
#endif
  return flags;
}

template <size_t Size, size_t Len>
consteval void copy_text(char (&out)[Size], const char (&text)[Len]) {
  static_assert(Len <= Size, "name is at most 63, version and license at most 31 characters long");
  for (size_t i = 0; i < Len; ++i) out[i] = text[i];
}

template <size_t N, size_t V, size_t L>
consteval ElfNote elf_note(const char (&name)[N], const char (&version)[V],
                           const char (&license)[L], uint16_t least_abi_minor,
                           uint64_t capabilities) {
  static_assert(N > 1, "a plugin needs a name");
  ElfNote note{};
  note.name_size = sizeof PLIMSOLL_NOTE_NAME;
  note.descriptor_size = sizeof(plimsoll_note);
  note.type = PLIMSOLL_NOTE_TYPE;
  copy_text(note.name, PLIMSOLL_NOTE_NAME);
  note.descriptor.size = sizeof(plimsoll_note);
  note.descriptor.abi_major = PLIMSOLL_ABI_MAJOR;
  note.descriptor.abi_minor = least_abi_minor;
  note.descriptor.plugin_size = sizeof(plimsoll_plugin);
  note.descriptor.build_flags = build_flags();
  note.descriptor.capabilities = capabilities;
  copy_text(note.descriptor.name, name);
  copy_text(note.descriptor.version, version);
  copy_text(note.descriptor.sdk_version, PLIMSOLL_SDK_VERSION);
  copy_text(note.descriptor.license, license);
  return note;
}

}  // namespace plimsoll::sdk::detail
