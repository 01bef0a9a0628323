/* A library that is loaded at run time. */
int counter;
void bump(void) { counter++; }
