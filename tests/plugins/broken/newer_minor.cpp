// Wants more than this scheduler has.
#include "broken.hpp"
BROKEN_NOTE("NewerMinor", note.abi_minor = 9)
BROKEN_PLAIN_CREATE
