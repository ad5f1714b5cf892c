#pragma once
// Reads the parts of an ELF file by which a plugin file is checked. Pure; never reads outside of
// `file`, whatever bytes it holds.

#include <plimsoll/plugin_abi.h>

#include <cstddef>
#include <span>
#include <string>

#include "framework/base/result.hpp"

namespace plimsoll {

struct ElfNotes {
  bool has_note = false;
  uint32_t descriptor_size = 0;  // as the note states it; a later version's is longer
  plimsoll_note note{};          // the part of the descriptor that fits
  std::string build_id;          // hex
};

// Fails if this is not a complete shared object for this machine. The error does not name the file.
[[nodiscard]] Result<ElfNotes> read_elf_notes(std::span<const std::byte> file);

}  // namespace plimsoll
