#pragma once
// An expression as a tree, with macros as nodes of their own.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "plugins/dynamicresources/cel/data/value.hpp"

namespace plimsoll::dra::cel {

class Regex;
struct Overload;

enum class Op : uint8_t {
  kLiteral,
  kName,
  kField,   // kids: operand
  kHas,     // has(operand.field)
  kIndex,   // kids: container, key
  kCall,    // operators, too
  kOrElse,  // optional.or and optional.orValue: the second is looked at only if it is needed
  kList,
  kMap,  // kids: key, value, key, value, ...
  kAnd,  // two or more kids
  kOr,
  kTernary,
  // kids: range, predicate
  kAll,
  kExists,
  kExistsOne,
  kFilter,
  kTransform,  // map(): range, perhaps a predicate, result
  // kids: what the variable stands for, result
  kBind,
  kOptMap,
  kOptFlatMap,
};

struct Node {
  Op op = Op::kLiteral;
  bool member = false;    // kCall: kids[0] stands in front of the point
  bool optional = false;  // kField, kIndex: .? and [?
  uint32_t at = 0;        // where in the text
  int slot = -1;          // kName and macros: which variable; -1: device
  std::string text;       // name of the field, function or variable; what a literal refers to
  Value literal;
  std::vector<Node*> kids;
  std::vector<bool> optional_kids;                   // kList: by element; kMap: by entry
  const std::vector<Overload>* overloads = nullptr;  // kCall
  std::shared_ptr<const Regex> regex;                // kCall: a pattern that stands in the text
};

// Nodes keep their addresses, also when the tree is moved.
struct Expression {
  std::deque<Node> nodes;
  Node* root = nullptr;
  int slots = 0;  // how many variables macros declare
};

}  // namespace plimsoll::dra::cel
