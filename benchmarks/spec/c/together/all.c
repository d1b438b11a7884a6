/* All programs of this folder in one; the first argument selects the program. */
#include <stdio.h>
#include <string.h>

typedef int program(int argc, char **argv);

program cg_main, fft_main, lbm_main, matmul_main, montecarlo_main, nbody_main, raytrace_main,
    search_main;

static const struct {
    const char *name;
    program *main;
} programs[] = {
    {"cg", cg_main},
    {"fft", fft_main},
    {"lbm", lbm_main},
    {"matmul", matmul_main},
    {"montecarlo", montecarlo_main},
    {"nbody", nbody_main},
    {"raytrace", raytrace_main},
    {"search", search_main},
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof programs / sizeof *programs; i++) {
        if (strcmp(argv[1], programs[i].name) == 0) {
            return programs[i].main(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "all: expected a program name as the first argument\n");
    return 2;
}
