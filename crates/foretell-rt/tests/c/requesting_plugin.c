/* A library that makes requests as it is loaded, and later. */
#include "requests.h"
static int object;
__attribute__((constructor)) static void load(void) { request(HAPPENS_BEFORE, &object); }
void use(void) { request(HAPPENS_AFTER, &object); }
