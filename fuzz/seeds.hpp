#pragma once
// The seeds of fuzzing: inputs for every target, made from the data of the tests.

#include <map>
#include <set>
#include <string>

namespace plimsoll::fuzz {

// The seeds by target, from fuzz/seeds/TARGET, fuzz/found/TARGET, tests/vectors, examples/ and the
// fixtures of tests. The working directory must be the root of the tree. Throws if one of them
// cannot be read.
[[nodiscard]] std::map<std::string, std::set<std::string>> seeds();

}  // namespace plimsoll::fuzz
