/* The minimal program: its start and end are the cost of the process, the loader and the C library.
 * Linked to nothing else. */
int main(void) {
    return 0;
}
