#pragma once
// Names as small integers, and texts that many objects have. One table per process, made by main
// and handed to those who decode.
//
// Three kinds of text:
//  - Names stay for ever and have a symbol: the resources that nodes and plugins name, and what
//    plugins intern. Whoever adds one answers for there being few.
//  - Shared texts have no symbol. Label keys, namespaces, images and the like are the same in many
//    objects, so they are kept once and counted: the last object that has one frees it.
//  - All other texts lie in their objects.
// So what a tenant writes goes when his object goes. A text may be without a symbol although an
// equal one has one; comparison falls back to the text (equal() in objects.hpp).
//
// Positions in resource vectors stay for ever, too, so there is a most of them. Pods take few of
// them; what only pods name beyond that has PLIMSOLL_RESOURCE_OF_NO_NODE, until a node or a plugin
// names it (reindexed() in decode.hpp).

#include <plimsoll/objects.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace plimsoll {

// Thread-safe; names and ids live as long as the table, shared texts as long as they are held, even
// beyond the table. PLIMSOLL_SYMBOL_CPU and so on are always there.
class SymbolTable {
 public:
  // Positions that pods may take, of those that there are.
  static constexpr uint32_t kMostOfPods = 64;

  explicit SymbolTable(uint32_t most_of_pods = kMostOfPods);
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // ---- names
  // The interned form of `text`, added if it is new.
  [[nodiscard]] plimsoll_str intern(std::string_view text);
  // The interned form if there is one; otherwise symbol 0 and the caller's text.
  [[nodiscard]] plimsoll_str find(std::string_view text) const;
  // The text of a symbol; empty for ids that were never given out.
  [[nodiscard]] std::string_view text(plimsoll_symbol symbol) const;

  // ---- shared texts
  // The name, if it is one; otherwise the shared text, with symbol 0, which the caller holds until
  // release().
  [[nodiscard]] plimsoll_str share(std::string_view text);
  // Gives back what share() returned with symbol 0. Any thread, also after the table is gone.
  static void release(const plimsoll_str& shared) noexcept;
  [[nodiscard]] size_t shared_count() const;

  // ---- resources: name and position in resource vectors: cpu 0, memory 1, ephemeral-storage 2,
  // pods 3
  struct Resource {
    plimsoll_str name;  // a name; of OF_NO_NODE: as find() gives it
    uint32_t index;
  };
  // As nodes and plugins name it: added if it is new and there is room.
  [[nodiscard]] Resource resource(std::string_view name);
  // Whether the name has a position.
  [[nodiscard]] bool resource_known(std::string_view name) const;
  // As pods name it.
  [[nodiscard]] Resource resource_of_pod(std::string_view name);
  [[nodiscard]] uint32_t resource_index(std::string_view name) { return resource(name).index; }
  [[nodiscard]] std::string_view resource_name(uint32_t index) const;
  // Grows when a name gets a position; cheap.
  [[nodiscard]] uint32_t resource_count() const;

 private:
  struct Impl;
  Impl* impl_;  // counted: see release()
};

}  // namespace plimsoll
