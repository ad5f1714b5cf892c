#pragma once
// Names as small integers, and texts that many objects share. main creates one table per process
// and passes it to the decoders.
//
// There are three kinds of text:
//  - Names have a symbol and are never freed: the resources that nodes and plugins name, and the
//    texts that plugins intern. Whoever adds names must make sure that there are few.
//  - Shared texts have no symbol. Many objects have the same label keys, namespaces, images and the
//    like, so such a text is stored once with a reference count. The last object that has it frees
//    it.
//  - All other texts are stored in their objects.
// So the texts of a tenant's object are freed with the object. A text may have no symbol although
// an equal text has one; comparison then uses the text (equal() in objects.hpp).
//
// Positions in resource vectors are never freed either, so their number is limited. Pods may take
// only a few of them. Further resources that only pods name have PLIMSOLL_RESOURCE_OF_NO_NODE,
// until a node or a plugin names them (reindexed() in decode.hpp).

#include <plimsoll/objects.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace plimsoll {

// Thread-safe. Names and ids live as long as the table. Shared texts live as long as they are held,
// which may be longer than the table. PLIMSOLL_SYMBOL_CPU and so on always exist.
class SymbolTable {
 public:
  // How many of the positions pods may take.
  static constexpr uint32_t kMostOfPods = 64;

  explicit SymbolTable(uint32_t most_of_pods = kMostOfPods);
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // ---- names
  // The interned form of `text`. Adds it if it is new.
  [[nodiscard]] plimsoll_str intern(std::string_view text);
  // The interned form if there is one; otherwise symbol 0 and the caller's text.
  [[nodiscard]] plimsoll_str find(std::string_view text) const;
  // The text of a symbol; empty for unknown symbols.
  [[nodiscard]] std::string_view text(plimsoll_symbol symbol) const;

  // ---- shared texts
  // The name, if `text` is one. Otherwise the shared text with symbol 0, which the caller holds
  // until release().
  [[nodiscard]] plimsoll_str share(std::string_view text);
  // Releases a text that share() returned with symbol 0. Any thread, also after the table is
  // destroyed.
  static void release(const plimsoll_str& shared) noexcept;
  [[nodiscard]] size_t shared_count() const;

  // ---- resources: name and position in resource vectors: cpu 0, memory 1, ephemeral-storage 2,
  // pods 3
  struct Resource {
    plimsoll_str name;  // a name; with index OF_NO_NODE: the result of find()
    uint32_t index;
  };
  // For resources that nodes and plugins name. Adds the resource if it is new and there is room.
  [[nodiscard]] Resource resource(std::string_view name);
  // Whether the name has a position.
  [[nodiscard]] bool resource_known(std::string_view name) const;
  // For resources that pods name.
  [[nodiscard]] Resource resource_of_pod(std::string_view name);
  [[nodiscard]] uint32_t resource_index(std::string_view name) { return resource(name).index; }
  [[nodiscard]] std::string_view resource_name(uint32_t index) const;
  // Increases when a name gets a position. Cheap to call.
  [[nodiscard]] uint32_t resource_count() const;

 private:
  struct Impl;
  Impl* impl_;  // may outlive the table: see release()
};

}  // namespace plimsoll
