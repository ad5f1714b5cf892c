// A note and no create function.
#include "broken.hpp"
BROKEN_NOTE("MissingSymbol", )
