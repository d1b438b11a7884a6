/* The least that a program can be: what is started and ended here is the process, the loader and
 * the C library. Linked with nothing else. */
int main(void) {
    return 0;
}
