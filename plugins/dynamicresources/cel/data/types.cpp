#include "plugins/dynamicresources/cel/data/types.hpp"

#include <algorithm>

namespace plimsoll::dra::cel {
namespace {

struct TypeWord {
  std::string_view text;
  Kind kind;
};

constexpr TypeWord kWords[] = {
    {"dyn", Kind::kDyn},           {"null", Kind::kNull},
    {"bool", Kind::kBool},         {"int", Kind::kInt},
    {"uint", Kind::kUint},         {"double", Kind::kDouble},
    {"string", Kind::kString},     {"bytes", Kind::kBytes},
    {"list", Kind::kList},         {"map", Kind::kMap},
    {"optional", Kind::kOptional}, {"quantity", Kind::kQuantity},
    {"semver", Kind::kSemver},     {"type", Kind::kType},
    {"duration", Kind::kDuration}, {"timestamp", Kind::kTimestamp},
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string_view take_word(std::string_view* text) {
  size_t length = 0;
  while (length < text->size() && is_letter((*text)[length])) ++length;
  const std::string_view word = text->substr(0, length);
  text->remove_prefix(length);
  return word;
}

bool take_mark(std::string_view* text, std::string_view mark) {
  if (!text->starts_with(mark)) return false;
  text->remove_prefix(mark.size());
  return true;
}

bool is_dyn(const Type& type) {
  return type.kind == Kind::kDyn || type.kind == Kind::kError;
}

void append_text(const Type& type, std::string& text) {
  constexpr size_t kLongest = 200;
  if (text.size() > kLongest) return;
  text += name_of(type.kind);
  if (type.first == nullptr) return;
  text += '(';
  append_text(*type.first, text);
  if (type.second != nullptr) {
    text += ", ";
    append_text(*type.second, text);
  }
  text += ')';
}

}  // namespace

const Type* Types::make(Kind kind, const Type* first, const Type* second, int param) {
  const Type*& known = known_[{kind, first, second, param}];
  if (known != nullptr) return known;
  const int depth =
      std::max(first != nullptr ? first->depth : 0, second != nullptr ? second->depth : 0);
  known = &types_.emplace_back(Type{kind, first, second, param, depth + 1});
  return known;
}

const Type* Types::read(std::string_view* text) {
  const std::string_view word = take_word(text);
  if (word.size() == 1) return make(Kind::kParam, nullptr, nullptr, word[0] - 'A');
  const auto found = std::find_if(std::begin(kWords), std::end(kWords),
                                  [&](const TypeWord& known) { return known.text == word; });
  const Kind kind = found == std::end(kWords) ? Kind::kError : found->kind;
  if (!take_mark(text, "(")) return make(kind);
  const Type* first = read(text);
  const Type* second = take_mark(text, ", ") ? read(text) : nullptr;
  take_mark(text, ")");
  return make(kind, first, second);
}

std::string text_of(const Type& type) {
  std::string text;
  append_text(type, text);
  return text;
}

const Type* Unifier::fresh() {
  bound_.push_back(nullptr);
  return types_.make(Kind::kParam, nullptr, nullptr, static_cast<int>(bound_.size()) - 1);
}

const Type* Unifier::instantiate(const Type& type, std::vector<const Type*>* mine) {
  if (type.kind == Kind::kParam) {
    const auto at = static_cast<size_t>(type.param);
    if (mine->size() <= at) mine->resize(at + 1);
    if ((*mine)[at] == nullptr) (*mine)[at] = fresh();
    return (*mine)[at];
  }
  const Type* first = type.first != nullptr ? instantiate(*type.first, mine) : nullptr;
  return make(type.kind, first, type.second != nullptr ? instantiate(*type.second, mine) : nullptr);
}

bool Unifier::all_assignable(const std::vector<const Type*>& a, const std::vector<const Type*>& b) {
  if (a.size() != b.size()) return false;
  const size_t mark = changed_.size();
  for (size_t i = 0; i < a.size(); ++i) {
    if (unify(a[i], b[i])) continue;
    undo(mark);
    return false;
  }
  return true;
}

bool Unifier::unify(const Type* a, const Type* b) {
  if (!charge()) return true;  // ends soon
  if (b->kind == Kind::kParam) {
    const Bound bound = bind(a, b);
    if (bound != Bound::kNo) return bound == Bound::kYes;
  }
  if (a->kind == Kind::kParam) return bind(b, a) == Bound::kYes;
  if (is_dyn(*a) || is_dyn(*b)) return true;
  if (a->kind == Kind::kNull) return unify_null(b);
  if (b->kind == Kind::kNull) return unify_null(a);
  if (a->kind != b->kind) return false;
  if (a->kind == Kind::kType || a == b) return true;
  const auto alike = [&](const Type* x, const Type* y) {
    return x == nullptr || y == nullptr || unify(x, y);
  };
  return alike(a->first, b->first) && alike(a->second, b->second);
}

bool Unifier::unify_null(const Type* type) {
  switch (type->kind) {
    case Kind::kNull:
    case Kind::kOptional:
    case Kind::kQuantity:
    case Kind::kSemver:
    case Kind::kDevice:
    case Kind::kDuration:
    case Kind::kTimestamp:
      return true;
    default:
      return false;
  }
}

Unifier::Bound Unifier::bind(const Type* type, const Type* param) {
  if (type == param) return Bound::kYes;
  const Type* now = bound_[static_cast<size_t>(param->param)];
  if (now == type) return Bound::kYes;
  if (now == nullptr) {
    if (!free_of(param, type)) return Bound::kNo;
    set(param, type);
    return Bound::kYes;
  }
  if (!unify(type, now)) return Bound::kNoSinceKnown;
  const Type* general = more_general(type, now);
  if (free_of(param, general)) set(param, general);
  return Bound::kYes;
}

bool Unifier::free_of(const Type* param, const Type* type) {
  if (!charge()) return true;
  if (type == param) return false;
  if (type->kind == Kind::kParam) {
    const Type* now = bound_[static_cast<size_t>(type->param)];
    return now == nullptr || free_of(param, now);
  }
  return (type->first == nullptr || free_of(param, type->first)) &&
         (type->second == nullptr || free_of(param, type->second));
}

bool Unifier::less_specific(const Type* a, const Type* b) {
  if (!charge()) return true;
  if (a->kind == Kind::kDyn || a->kind == Kind::kParam) return true;
  if (b->kind == Kind::kDyn || b->kind == Kind::kParam) return false;
  if (a->kind != b->kind) return false;
  if (a->kind == Kind::kType) return true;
  return (a->first == nullptr || less_specific(a->first, b->first)) &&
         (a->second == nullptr || less_specific(a->second, b->second));
}

const Type* Unifier::more_general(const Type* a, const Type* b) {
  return less_specific(a, b) ? a : b;
}

const Type* Unifier::replace(const Type* type, bool settle) {
  if (!charge()) return type;
  if (type->kind == Kind::kParam) {
    const Type* now = bound_[static_cast<size_t>(type->param)];
    if (now != nullptr) return replace(now, settle);
    return settle ? make(Kind::kDyn) : type;
  }
  if (type->first == nullptr) return type;
  const Type* first = replace(type->first, settle);
  return make(type->kind, first, type->second != nullptr ? replace(type->second, settle) : nullptr);
}

const Type* Unifier::resolved(const Type* type) {
  return replace(type, false);
}

const Type* Unifier::settled(const Type* type) {
  return replace(type, true);
}

void Unifier::set(const Type* param, const Type* type) {
  const Type*& now = bound_[static_cast<size_t>(param->param)];
  changed_.emplace_back(param->param, now);
  now = type;
}

void Unifier::undo(size_t mark) {
  for (; changed_.size() > mark; changed_.pop_back())
    bound_[static_cast<size_t>(changed_.back().first)] = changed_.back().second;
}

}  // namespace plimsoll::dra::cel
