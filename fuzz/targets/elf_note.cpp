// The bytes of a plugin's file.

#include "framework/runtime/loading/elf_note.hpp"

#include <cstring>
#include <span>

#include "fuzz/target.hpp"

namespace plimsoll::fuzz {

void elf_note(std::string_view input) {
  const auto notes = read_elf_notes(std::as_bytes(std::span(input.data(), input.size())));
  if (!notes) return require(!notes.error().message.empty(), "an error says something");
  if (!notes->has_note) return;
  for (const auto& [text, size] :
       {std::pair<const char*, std::size_t>{notes->note.name, sizeof notes->note.name},
        {notes->note.version, sizeof notes->note.version},
        {notes->note.sdk_version, sizeof notes->note.sdk_version},
        {notes->note.license, sizeof notes->note.license}}) {
    require(std::memchr(text, 0, size) != nullptr, "texts of a note end");
  }
}

}  // namespace plimsoll::fuzz
