#pragma once
// The shared parts of the decoders of all kinds. Each function reads one value into scratch
// structs and returns false after an error (see wire_value.hpp).

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "framework/api/arena.hpp"
#include "framework/api/decode/wire_value.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/objects.hpp"
#include "framework/api/requests.hpp"
#include "framework/api/selectors.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll {

// How the texts of a field are stored; symbols.hpp has the rule.
enum class Keep {
  kPlain,   // in the object
  kFind,    // as the name, if the text is a name
  kShared,  // once for all objects that have the text
};

class Decoder {
 public:
  // `symbols` may be null: then nothing gets a symbol.
  Decoder(SymbolTable* symbols, Arena& arena) : symbols_(symbols), arena_(arena) {}

  [[nodiscard]] Arena& arena() { return arena_; }
  [[nodiscard]] plimsoll_str keep(std::string_view text, Keep how) const;

  [[nodiscard]] bool text(WireValue& value, plimsoll_str* out, Keep how) const;
  [[nodiscard]] bool flag(WireValue& value, uint32_t* out) const;
  [[nodiscard]] bool int32(WireValue& value, int32_t* out) const;
  [[nodiscard]] bool texts(WireValue& value, plimsoll_list* out, Keep how);
  [[nodiscard]] bool sorted_texts(WireValue& value, plimsoll_list* out, Keep how);
  // A map of texts, sorted by key. Keys are shared. The key `skip` is left out.
  [[nodiscard]] bool labels(WireValue& value, plimsoll_list* out, Keep values,
                            std::string_view skip = {});
  // `finalizers` is called with them, if there are any.
  using Visit = std::function<bool(WireValue& value)>;
  [[nodiscard]] bool meta(WireValue& value, plimsoll_meta* out, Keep label_values,
                          const Visit& finalizers = nullptr);
  [[nodiscard]] bool amounts(WireValue& value, ResourceList* out) const;
  // Values are sorted.
  [[nodiscard]] bool requirement(WireValue& value, RequirementOf where, plimsoll_requirement* out);
  // More than kShortList requirements are in the order in which they are matched fastest: invalid
  // ones, those that want a label to be there, DoesNotExist, NotIn; each of these by key.
  [[nodiscard]] bool label_selector(WireValue& value, plimsoll_label_selector* out);
  [[nodiscard]] bool node_selector_term(WireValue& value, plimsoll_node_selector_term* out);
  [[nodiscard]] bool node_selector_terms(WireValue& value, plimsoll_list* out);
  [[nodiscard]] bool node_affinity(WireValue& value, const plimsoll_node_affinity** out);
  // The text of a quantity, as written.
  [[nodiscard]] bool quantity(WireValue& value, plimsoll_str* out) const;
  // All of a volume but its name and kind, which is the name of this field.
  [[nodiscard]] bool volume_source(std::string_view kind, WireValue& value, plimsoll_volume* out);

  // In base units, sorted by index.
  enum class NamedBy { kNode, kPod };
  [[nodiscard]] plimsoll_list resources(const ResourceList& amounts, NamedBy who,
                                        bool only_of_nodes = false);

  // A list of T, each read by read(WireValue&, T*) -> bool.
  template <typename T, typename Read>
  [[nodiscard]] bool list(WireValue& value, plimsoll_list* out, Read&& read) {
    std::vector<T> elements;
    const auto one = [&](WireValue& item) {
      T element{};
      if (!read(item, &element)) return false;
      elements.push_back(element);
      return true;
    };
    if (!value.items(one)) return false;
    *out = arena_.list(elements);
    return true;
  }

  // The same list if it is sorted.
  template <typename T, typename Less>
  [[nodiscard]] plimsoll_list sorted(const plimsoll_list& of, const Less& less) {
    const sdk::List<T> all(of);
    if (std::is_sorted(all.begin(), all.end(), less)) return of;
    std::vector<T> elements(all.begin(), all.end());
    std::stable_sort(elements.begin(), elements.end(), less);
    return arena_.list(elements);
  }

 private:
  bool rbd_source(WireValue& value, plimsoll_volume* out);

  SymbolTable* symbols_;
  Arena& arena_;
};

}  // namespace plimsoll
