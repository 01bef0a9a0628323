/* A counter without a lock. */
static int count;

void add(void) { count++; }

int value(void) { return count; }
