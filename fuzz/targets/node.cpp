// Nodes in both encodings.

#include "framework/api/decode/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "framework/api/symbols.hpp"
#include "fuzz/target.hpp"
#include "tests/api/describe.hpp"

namespace plimsoll::fuzz {
namespace {

void decode_one(std::string_view input, Encoding encoding) {
  SymbolTable symbols;
  const auto node = decode_node(input, symbols, encoding);
  if (!node) return require(!node.error().message.empty(), "an error says something");
  require(!test::describe(**node).empty(), "a node can be described");
  for (const auto& amount : items<plimsoll_resource>((*node)->allocatable)) {
    require(symbols.resource_name(amount.index) == view(amount.name), "a resource has its index");
  }
  const plimsoll_list none{};
  for (const auto& taint : items<plimsoll_taint>((*node)->taints)) {
    require(!tolerated(none, taint), "nothing tolerates nothing");
  }
}

}  // namespace

void node_json(std::string_view input) {
  decode_one(input, Encoding::kJson);
}

void node_protobuf(std::string_view input) {
  decode_one(input, Encoding::kProtobuf);
}

}  // namespace plimsoll::fuzz
