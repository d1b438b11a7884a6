/*
 * Lattice Boltzmann, D3Q19, single relaxation time, in a periodic cube.
 *
 * Kind: fluid dynamics that streams through more memory than the caches hold. The flow is an ABC
 * flow, whose curl is k times itself. It therefore solves the Navier-Stokes equations exactly and
 * decays as exp(-viscosity k^2 t). Checks: mass and momentum are conserved, the energy decays at
 * the expected rate, and the flow keeps its shape.
 */
#include "shared/sp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char PROGRAM[] = "lbm";
static const char SUMMARY[] =
    "Simulate the decay of a flow in a periodic cube (lattice Boltzmann, D3Q19). Print its energy\n"
    "and a digest of its density and velocity.";

static const double PI = 0x1.921fb54442d18p+1;

enum { DIRECTIONS = 19, AXES = 3 };

/* Qian, d'Humieres and Lallemand, "Lattice BGK models for Navier-Stokes equation", 1992: rest, 6
 * faces, 12 edges. */
static const int VELOCITY[DIRECTIONS][AXES] = {
    {0, 0, 0},  {1, 0, 0},   {-1, 0, 0},  {0, 1, 0},  {0, -1, 0}, {0, 0, 1},   {0, 0, -1},
    {1, 1, 0},  {-1, -1, 0}, {1, -1, 0},  {-1, 1, 0}, {1, 0, 1},  {-1, 0, -1}, {1, 0, -1},
    {-1, 0, 1}, {0, 1, 1},   {0, -1, -1}, {0, 1, -1}, {0, -1, 1}};
static const double WEIGHT[DIRECTIONS] = {1.0 / 3,  1.0 / 18, 1.0 / 18, 1.0 / 18, 1.0 / 18,
                                          1.0 / 18, 1.0 / 18, 1.0 / 36, 1.0 / 36, 1.0 / 36,
                                          1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36,
                                          1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};

/* Lattice units. The fastest amplitude keeps the Mach number below 0.1. */
static const double VISCOSITY = 0.05;
static const double FASTEST = 0.02;

struct fluid {
    uint64_t edge, cells;
    double *now, *next; /* [cell][direction] */
};

struct state {
    double density, velocity[AXES];
};

/* Totals over the cube; overlap is the sum of u . w for the initial flow w. */
struct totals {
    double mass, momentum[AXES], energy, overlap;
};

static struct state observe_cell(const double *populations) {
    struct state state = {.density = 0};
    for (int i = 0; i < DIRECTIONS; i++) {
        state.density += populations[i];
        for (int axis = 0; axis < AXES; axis++) {
            state.velocity[axis] += populations[i] * VELOCITY[i][axis];
        }
    }
    for (int axis = 0; axis < AXES; axis++) {
        state.velocity[axis] /= state.density;
    }
    return state;
}

static void equilibrium(const struct state *state, double populations[DIRECTIONS]) {
    const double *u = state->velocity;
    double square = 1.5 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    for (int i = 0; i < DIRECTIONS; i++) {
        double along = 3 * (VELOCITY[i][0] * u[0] + VELOCITY[i][1] * u[1] + VELOCITY[i][2] * u[2]);
        populations[i] = WEIGHT[i] * state->density * (1 + along + 0.5 * along * along - square);
    }
}

/* Collide one cell and send its populations to the neighboring cells. */
static void collide_and_send(const struct fluid *fluid, uint64_t cell,
                             const uint64_t neighbour[AXES][3], double relaxation) {
    const double *from = fluid->now + cell * DIRECTIONS;
    const struct state state = observe_cell(from);
    double balanced[DIRECTIONS];
    equilibrium(&state, balanced);
    for (int i = 0; i < DIRECTIONS; i++) {
        uint64_t to = neighbour[0][VELOCITY[i][0] + 1] + neighbour[1][VELOCITY[i][1] + 1] +
                      neighbour[2][VELOCITY[i][2] + 1];
        fluid->next[to * DIRECTIONS + (uint64_t)i] = from[i] + relaxation * (balanced[i] - from[i]);
    }
}

/* Start of the plane or row before, at and after `at`, for planes or rows of `size` cells. */
static void neighbours(uint64_t at, uint64_t edge, uint64_t size, uint64_t found[3]) {
    found[0] = (at + edge - 1) % edge * size;
    found[1] = at * size;
    found[2] = (at + 1) % edge * size;
}

static void step(struct fluid *fluid) {
    const double relaxation = 1 / (3 * VISCOSITY + 0.5);
    const uint64_t edge = fluid->edge;
    uint64_t neighbour[AXES][3];
    for (uint64_t z = 0; z < edge; z++) {
        neighbours(z, edge, edge * edge, neighbour[2]);
        for (uint64_t y = 0; y < edge; y++) {
            neighbours(y, edge, edge, neighbour[1]);
            for (uint64_t x = 0; x < edge; x++) {
                neighbours(x, edge, 1, neighbour[0]);
                collide_and_send(fluid, (z * edge + y) * edge + x, neighbour, relaxation);
            }
        }
    }
    double *swapped = fluid->now;
    fluid->now = fluid->next;
    fluid->next = swapped;
}

/* cos kx, sin kx and so on at a cell. */
struct waves {
    double cosine[AXES], sine[AXES];
};

static struct waves waves_at(const struct fluid *fluid, uint64_t cell) {
    const uint64_t edge = fluid->edge;
    const uint64_t at[AXES] = {cell % edge, cell / edge % edge, cell / edge / edge};
    struct waves waves;
    for (int axis = 0; axis < AXES; axis++) {
        sp_turn(at[axis], edge, &waves.cosine[axis], &waves.sine[axis]);
    }
    return waves;
}

static double wave_number(const struct fluid *fluid) {
    return 2 * PI / (double)fluid->edge;
}

/* Initial flow: ABC flow (Arnold 1965) with one wave along each edge. */
static void start_velocity(const struct waves *waves, const double amplitude[AXES],
                           double velocity[AXES]) {
    for (int axis = 0; axis < AXES; axis++) {
        int next = (axis + 1) % AXES, last = (axis + 2) % AXES;
        velocity[axis] =
            amplitude[axis] * waves->sine[last] + amplitude[last] * waves->cosine[next];
    }
}

/* Add the part of the populations that carries the viscous stress (Chapman and Enskog, first
 * order). Without it the decay would be wrong for about ten steps. */
static void add_stress(const struct waves *waves, const double amplitude[AXES], double wave,
                       double *populations) {
    const double relaxation_steps = 3 * VISCOSITY + 0.5;
    for (int i = 0; i < DIRECTIONS; i++) {
        double strain = 0;
        for (int axis = 0; axis < AXES; axis++) {
            int next = (axis + 1) % AXES, last = (axis + 2) % AXES;
            double gradient = VELOCITY[i][last] * amplitude[axis] * waves->cosine[last] -
                              VELOCITY[i][next] * amplitude[last] * waves->sine[next];
            strain += VELOCITY[i][axis] * wave * gradient;
        }
        populations[i] -= 3 * relaxation_steps * WEIGHT[i] * strain;
    }
}

static void start(const struct fluid *fluid, const double amplitude[AXES]) {
    double mean_square = 0;
    for (int axis = 0; axis < AXES; axis++) {
        mean_square += amplitude[axis] * amplitude[axis];
    }
    for (uint64_t cell = 0; cell < fluid->cells; cell++) {
        struct waves waves = waves_at(fluid, cell);
        struct state state;
        start_velocity(&waves, amplitude, state.velocity);
        const double *u = state.velocity;
        /* Bernoulli, with a speed of sound of 1/sqrt(3). */
        state.density = 1 + 1.5 * (mean_square - u[0] * u[0] - u[1] * u[1] - u[2] * u[2]);
        equilibrium(&state, fluid->now + cell * DIRECTIONS);
        add_stress(&waves, amplitude, wave_number(fluid), fluid->now + cell * DIRECTIONS);
    }
}

static struct totals observe(const struct fluid *fluid, const double amplitude[AXES],
                             struct sp_digest *digest) {
    struct totals totals = {.mass = 0};
    for (uint64_t cell = 0; cell < fluid->cells; cell++) {
        struct state state = observe_cell(fluid->now + cell * DIRECTIONS);
        struct waves waves = waves_at(fluid, cell);
        double first[AXES];
        start_velocity(&waves, amplitude, first);
        totals.mass += state.density;
        sp_digest_add_double(digest, state.density);
        for (int axis = 0; axis < AXES; axis++) {
            totals.momentum[axis] += state.density * state.velocity[axis];
            totals.energy += state.density * state.velocity[axis] * state.velocity[axis] / 2;
            totals.overlap += state.velocity[axis] * first[axis] / 2;
            sp_digest_add_double(digest, state.velocity[axis]);
        }
    }
    return totals;
}

static void check(const struct fluid *fluid, uint64_t steps, const struct totals *before,
                  const struct totals *after) {
    const double wave = wave_number(fluid);
    const double exponent = 2 * VISCOSITY * wave * wave * (double)steps;
    const double decay = sp_exp(-exponent);
    sp_check_close(PROGRAM, "mass", after->mass, before->mass, 1e-9 * before->mass);
    for (int axis = 0; axis < AXES; axis++) {
        sp_check_close(PROGRAM, "momentum of a cell", after->momentum[axis] / before->mass, 0,
                       1e-9);
    }
    /* The lattice error is proportional to 1/edge^2: at the smallest edge the decay is 1.5 % too
     * fast. The last term is the rounding error of a flow at rest. */
    sp_check_close(PROGRAM, "energy, relative to the initial energy",
                   after->energy / before->energy, decay,
                   decay * (0.005 + 0.02 * exponent) + 1e-12);
    sp_check_close(PROGRAM, "flow of the initial shape, relative to the initial flow",
                   after->overlap / before->overlap, sqrt(decay),
                   sqrt(decay) * (0.005 + 0.01 * exponent) + 1e-6);
}

int main(int argc, char **argv) {
    uint64_t edge = 32, steps = 100, seed = 1;
    const struct sp_option options[] = {
        {"--edge", "cells along an edge of the cube", &edge, 16, 1024},
        {"--steps", "time steps", &steps, 1, 100000},
        {"--seed", "seed of the flow amplitudes", &seed, 0, UINT64_MAX}};
    sp_options_parse(PROGRAM, SUMMARY, options, sizeof options / sizeof options[0], argc, argv);

    struct sp_random random = {.state = seed};
    double amplitude[AXES];
    for (int axis = 0; axis < AXES; axis++) {
        amplitude[axis] = FASTEST * sp_random_between(&random, 0.5, 1);
    }
    struct fluid fluid = {.edge = edge, .cells = edge * edge * edge};
    fluid.now = sp_allocate(PROGRAM, fluid.cells * DIRECTIONS, sizeof(double));
    fluid.next = sp_allocate(PROGRAM, fluid.cells * DIRECTIONS, sizeof(double));
    start(&fluid, amplitude);
    struct sp_digest ignored = {0}, digest = {0};
    const struct totals before = observe(&fluid, amplitude, &ignored);
    for (uint64_t i = 0; i < steps; i++) {
        step(&fluid);
    }
    const struct totals after = observe(&fluid, amplitude, &digest);
    check(&fluid, steps, &before, &after);
    (void)printf("lbm edge %llu steps %llu seed %llu\nenergy %.9e of %.9e digest %016llx\n",
                 (unsigned long long)edge, (unsigned long long)steps, (unsigned long long)seed,
                 after.energy, before.energy, (unsigned long long)digest.state);
    free(fluid.now);
    free(fluid.next);
    return sp_close(PROGRAM);
}
