// Built for another generation of the ABI.
#include "broken.hpp"
BROKEN_NOTE("OtherMajor", note.abi_major = 2)
BROKEN_PLAIN_CREATE
