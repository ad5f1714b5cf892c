#pragma once
// Static types: what is known of a value before there is a device.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "plugins/dynamicresources/cel/data/value.hpp"

namespace plimsoll::dra::cel {

struct Type {
  Kind kind = Kind::kDyn;
  const Type* first = nullptr;   // element, key, what is optional
  const Type* second = nullptr;  // value of a map
  int param = 0;                 // kParam: which one
  int depth = 0;
};

// Makes types; equal types are one object.
class Types {
 public:
  const Type* make(Kind kind, const Type* first = nullptr, const Type* second = nullptr,
                   int param = 0);
  // "list(A)", "map(A, B)", "string"; A and B are parameters.
  const Type* read(std::string_view* text);

 private:
  std::map<std::tuple<Kind, const Type*, const Type*, int>, const Type*> known_;
  std::deque<Type> types_;
};

[[nodiscard]] std::string text_of(const Type& type);

// Finds out what parameters stand for while an expression is checked.
class Unifier {
 public:
  [[nodiscard]] Types& types() { return types_; }
  [[nodiscard]] const Type* make(Kind kind, const Type* first = nullptr,
                                 const Type* second = nullptr) {
    constexpr int kDeepest = 1000;
    const Type* made = types_.make(kind, first, second);
    if (made->depth > kDeepest) left_ = -1;
    return made;
  }
  // A parameter that stands for nothing yet.
  [[nodiscard]] const Type* fresh();
  // A copy of a signature's type with parameters of its own; `mine` holds them by letter.
  [[nodiscard]] const Type* instantiate(const Type& type, std::vector<const Type*>* mine);

  // May a value of `given` stand where `wanted` is asked for? What that says of parameters is kept
  // if so.
  bool assignable(const Type* wanted, const Type* given) {
    return all_assignable({wanted}, {given});
  }
  bool all_assignable(const std::vector<const Type*>& a, const std::vector<const Type*>& b);

  // With parameters replaced by what they stand for; those that stand for nothing stay.
  [[nodiscard]] const Type* resolved(const Type* type);
  // The same, and those that stand for nothing are any type.
  [[nodiscard]] const Type* settled(const Type* type);
  [[nodiscard]] const Type* more_general(const Type* a, const Type* b);
  // The types are so large that nothing more is said of them.
  [[nodiscard]] bool spent() const { return left_ < 0; }

 private:
  bool charge() { return --left_ >= 0; }
  bool unify(const Type* a, const Type* b);
  bool unify_null(const Type* type);
  // Lets the parameter stand for the type, if it may.
  enum class Bound : uint8_t { kYes, kNo, kNoSinceKnown };
  Bound bind(const Type* type, const Type* param);
  bool free_of(const Type* param, const Type* type);
  bool less_specific(const Type* a, const Type* b);
  const Type* replace(const Type* type, bool settle);
  void set(const Type* param, const Type* type);
  void undo(size_t mark);

  static constexpr int64_t kMostSteps = 1'000'000;
  Types types_;
  std::vector<const Type*> bound_;  // by parameter
  std::vector<std::pair<int, const Type*>> changed_;
  int64_t left_ = kMostSteps;
};

}  // namespace plimsoll::dra::cel
