#pragma once
// The functions and operators of the language, one row each: name, signatures and what is computed.
// The checker reads the signatures; the interpreter takes the first that fits the values.

#include <span>
#include <string_view>
#include <vector>

#include "plugins/dynamicresources/cel/data/run.hpp"
#include "plugins/dynamicresources/cel/data/types.hpp"

namespace plimsoll::dra::cel {

using Arguments = std::span<const Value>;
using Compute = Value (*)(Run&, Arguments);

// Signatures are separated by "|": "string.(int) string" is called as member of a string, "(int)
// string" is not. A and B stand for any type; C stands for each type that can be ordered, S for
// each that can be summed up.
struct Function {
  std::string_view name, signatures;
  Compute compute;
};

[[nodiscard]] std::span<const Function> operators();
[[nodiscard]] std::span<const Function> conversions();
[[nodiscard]] std::span<const Function> string_functions();
[[nodiscard]] std::span<const Function> pattern_functions();
[[nodiscard]] std::span<const Function> list_functions();
[[nodiscard]] std::span<const Function> optional_functions();
[[nodiscard]] std::span<const Function> quantity_functions();
[[nodiscard]] std::span<const Function> version_functions();

struct Overload {
  bool member = false;
  std::vector<const Type*> parameters;  // with what stands in front of the point
  const Type* result = nullptr;
  Compute compute = nullptr;

  // May it be called with these values?
  [[nodiscard]] bool fits(Arguments arguments) const;
};

// Nullptr: there is no such function.
[[nodiscard]] const std::vector<Overload>* find_function(std::string_view name);
// A function of the reference that this language leaves out.
[[nodiscard]] bool is_unsupported(std::string_view name);
// Is it one of the functions that convert a value to a type?
[[nodiscard]] bool is_conversion(std::string_view name);

}  // namespace plimsoll::dra::cel
