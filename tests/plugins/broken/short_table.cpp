// Compiled against a table that no release ever had.
#include "broken.hpp"
BROKEN_NOTE("ShortTable", note.plugin_size = 16)
BROKEN_PLAIN_CREATE
