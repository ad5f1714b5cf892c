// A shared object with the right symbol, but not made with the macro.
#include "broken.hpp"
BROKEN_PLAIN_CREATE
