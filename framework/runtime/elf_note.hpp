#pragma once
// The bytes of an ELF file, as far as a plugin file is judged by them. Pure; never reads outside of
// `file`, whatever it holds.

#include <plimsoll/plugin_abi.h>

#include <cstddef>
#include <span>
#include <string>

#include "framework/base/result.hpp"

namespace plimsoll {

struct ElfNotes {
  bool has_note = false;
  uint32_t descriptor_size = 0;  // as the note says; a longer one is a later version's
  plimsoll_note note{};          // what of it fits
  std::string build_id;          // hex
};

// Fails, with what is wrong but not with the file's name, if this is not a complete shared object
// for this machine.
[[nodiscard]] Result<ElfNotes> read_elf_notes(std::span<const std::byte> file);

}  // namespace plimsoll
