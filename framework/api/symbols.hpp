#pragma once
// Names as small integers. One table per process, made by main and handed to those who decode.
//
// What is interned: label keys, values of node labels and of selectors, resource names, taints,
// image names, namespaces. Values of pod labels are only looked up, never added: a cluster makes
// new ones for ever. So a string may be without a symbol although an equal one has one; comparison
// falls back to the text (equal() in objects.hpp).

#include <plimsoll/objects.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace plimsoll {

// Thread-safe; texts and ids live as long as the table. PLIMSOLL_SYMBOL_CPU and so on are always
// there.
class SymbolTable {
 public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // The interned form of `text`, added if it is new.
  [[nodiscard]] plimsoll_str intern(std::string_view text);

  // The interned form if there is one; otherwise symbol 0 and the caller's text.
  [[nodiscard]] plimsoll_str find(std::string_view text) const;

  // The text of a symbol; empty for ids that were never given out.
  [[nodiscard]] std::string_view text(plimsoll_symbol symbol) const;

  // Position of a resource in resource vectors, added if it is new: cpu 0, memory 1,
  // ephemeral-storage 2, pods 3.
  [[nodiscard]] uint32_t resource_index(std::string_view name);
  [[nodiscard]] std::string_view resource_name(uint32_t index) const;
  [[nodiscard]] uint32_t resource_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
