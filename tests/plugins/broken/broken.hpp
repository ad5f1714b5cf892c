// Notes and create functions by hand, for modules that the SDK would not make.
#pragma once

#include <plimsoll/plugin.hpp>

// A note as the SDK writes it, then changed by `changes` (statements on `note`).
#define BROKEN_NOTE(name, changes)                                                           \
  namespace {                                                                                \
  consteval plimsoll::sdk::detail::ElfNote broken_note() {                                   \
    auto whole =                                                                             \
        plimsoll::sdk::detail::elf_note(name, "1.0.0", "Apache-2.0", PLIMSOLL_ABI_MINOR, 0); \
    [[maybe_unused]] plimsoll_note& note = whole.descriptor;                                 \
    changes;                                                                                 \
    return whole;                                                                            \
  }                                                                                          \
  [[gnu::section(".note.plimsoll"), gnu::used,                                               \
    gnu::aligned(8)]] PLIMSOLL_SDK_RETAIN constexpr plimsoll::sdk::detail::ElfNote kNote =   \
      broken_note();                                                                         \
  }

#define BROKEN_CREATE(body)                                                             \
  extern "C" [[gnu::visibility("default")]] int32_t plimsoll_plugin_create_v1(          \
      [[maybe_unused]] const plimsoll_host* host, plimsoll_str, plimsoll_plugin* out) { \
    body                                                                                \
  }

// A whole plugin that does nothing.
#define BROKEN_PLAIN_CREATE      \
  BROKEN_CREATE({                \
    *out = plimsoll_plugin{};    \
    out->size = sizeof *out;     \
    out->destroy = [](void*) {}; \
    return PLIMSOLL_SUCCESS;     \
  })
