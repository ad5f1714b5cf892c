#pragma once
// Where fuzzing begins: inputs of every target, made of what the tests already have.

#include <map>
#include <set>
#include <string>

namespace plimsoll::fuzz {

// By target. Of fuzz/seeds/TARGET, fuzz/found/TARGET, tests/vectors, examples/ and the fixtures of
// tests; the working directory is the root of the tree. Throws if one of them cannot be read.
[[nodiscard]] std::map<std::string, std::set<std::string>> seeds();

}  // namespace plimsoll::fuzz
