// Its note ends in the middle.
#include "broken.hpp"
BROKEN_NOTE("ShortNote", note.size = 24; whole.descriptor_size = 24)
BROKEN_PLAIN_CREATE
