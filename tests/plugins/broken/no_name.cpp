// A plugin that no profile could name.
#include "broken.hpp"
BROKEN_NOTE("x", note.name[0] = '\0')
BROKEN_PLAIN_CREATE
