/*
 * Ray tracer: spheres over a chequered floor, with soft shadows and reflections.
 *
 * Kind: rendering: branches and a tree of pointers between square roots. Checks: the tree finds
 * the same sphere as a test of all spheres, and points lie on their surface. Reflected rays leave
 * at the angle of incidence. The fraction of random rays that hit a sphere equals the fraction of
 * the sky that it covers.
 */
#include "shared/sp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char PROGRAM[] = "raytrace";
static const char SUMMARY[] =
    "Render random spheres with soft shadows and reflections. Print the mean brightness and\n"
    "digest of the image.";

enum { AXES = 3, LEAF = 4, STACK = 64, BOUNCES = 5, ALL_TRIED_EVERY = 499, LONE_RAYS = 200000 };
static const double NEAREST = 1e-6, FAR = 1e30;
static const double SCENE_SIZE = 40; /* maximum distance of spheres from the origin */

struct vector {
    double at[AXES];
};

struct ray {
    struct vector origin, direction; /* the direction has length one */
};

struct sphere {
    struct vector centre, colour;
    double radius, mirror; /* mirror: fraction of reflected light */
};

/* A box around spheres [first, first + count). If count is 0, a box around two nodes: the next in
 * the array and `second`. */
struct node {
    struct vector low, high;
    uint64_t first, count, second;
};

struct scene {
    struct sphere *spheres;
    uint64_t count;
    struct node *nodes;
    uint64_t nodes_used, rays;
};

struct hit {
    double distance;
    const struct sphere *sphere; /* NULL: nothing or the floor */
};

static double dot(struct vector a, struct vector b) {
    return a.at[0] * b.at[0] + a.at[1] * b.at[1] + a.at[2] * b.at[2];
}

/* a + b * factor */
static struct vector along(struct vector a, struct vector b, double factor) {
    return (struct vector){
        {a.at[0] + b.at[0] * factor, a.at[1] + b.at[1] * factor, a.at[2] + b.at[2] * factor}};
}

static struct vector scaled(struct vector a, double factor) {
    return (struct vector){{a.at[0] * factor, a.at[1] * factor, a.at[2] * factor}};
}

static struct vector unit(struct vector a) {
    return scaled(a, 1 / sqrt(dot(a, a)));
}

/* ---- the tree ---- */

static struct node box_around(const struct sphere *spheres, uint64_t first, uint64_t count) {
    struct node node = {.low = {{FAR, FAR, FAR}}, .high = {{-FAR, -FAR, -FAR}}, .first = first};
    for (uint64_t i = first; i < first + count; i++) {
        for (int axis = 0; axis < AXES; axis++) {
            double centre = spheres[i].centre.at[axis], radius = spheres[i].radius;
            double low = centre - radius, high = centre + radius;
            node.low.at[axis] = low < node.low.at[axis] ? low : node.low.at[axis];
            node.high.at[axis] = high > node.high.at[axis] ? high : node.high.at[axis];
        }
    }
    return node;
}

/* Partition the spheres at the middle of the longest side of the box. Return the number in the
 * first part, or half of all if one part is empty. */
static uint64_t part(struct sphere *spheres, const struct node *box, uint64_t count) {
    int longest = 0;
    for (int axis = 1; axis < AXES; axis++) {
        if (box->high.at[axis] - box->low.at[axis] > box->high.at[longest] - box->low.at[longest]) {
            longest = axis;
        }
    }
    double middle = (box->low.at[longest] + box->high.at[longest]) / 2;
    uint64_t below = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (spheres[i].centre.at[longest] < middle) {
            struct sphere swapped = spheres[i];
            spheres[i] = spheres[below];
            spheres[below++] = swapped;
        }
    }
    return below == 0 || below == count ? count / 2 : below;
}

static void build(struct scene *scene, uint64_t first, uint64_t count) {
    struct node *node = &scene->nodes[scene->nodes_used++];
    *node = box_around(scene->spheres, first, count);
    if (count <= LEAF) {
        node->count = count;
        return;
    }
    uint64_t below = part(scene->spheres + first, node, count);
    build(scene, first, below);
    node->second = scene->nodes_used;
    build(scene, first + below, count - below);
}

/* ---- rays ---- */

/* Distance along the ray to the sphere; FAR if it misses. */
static double meet_sphere(const struct ray *ray, const struct sphere *sphere) {
    struct vector to = along(sphere->centre, ray->origin, -1);
    double nearest = dot(to, ray->direction);
    struct vector aside = along(to, ray->direction, -nearest);
    double square = sphere->radius * sphere->radius - dot(aside, aside);
    if (square < 0) {
        return FAR;
    }
    double half = sqrt(square);
    return nearest - half > NEAREST   ? nearest - half
           : nearest + half > NEAREST ? nearest + half
                                      : FAR;
}

static void meet_spheres(const struct scene *scene, const struct ray *ray, uint64_t first,
                         uint64_t count, struct hit *hit) {
    for (uint64_t i = first; i < first + count; i++) {
        double distance = meet_sphere(ray, &scene->spheres[i]);
        if (distance < hit->distance) {
            hit->distance = distance;
            hit->sphere = &scene->spheres[i];
        }
    }
}

static int meets_box(const struct ray *ray, struct vector inverse, const struct node *node,
                     double limit) {
    double enters = 0, leaves = limit;
    for (int axis = 0; axis < AXES; axis++) {
        double a = (node->low.at[axis] - ray->origin.at[axis]) * inverse.at[axis];
        double b = (node->high.at[axis] - ray->origin.at[axis]) * inverse.at[axis];
        double near = a < b ? a : b, far = a < b ? b : a;
        enters = near > enters ? near : enters;
        leaves = far < leaves ? far : leaves;
    }
    /* Slightly wider than necessary, to cover rounding errors. */
    return enters <= leaves * (1 + 1e-12) + 1e-12;
}

/* The nearest sphere on the ray that is closer than hit->distance. */
static void meet_tree(struct scene *scene, const struct ray *ray, struct hit *hit) {
    struct vector inverse;
    for (int axis = 0; axis < AXES; axis++) {
        double d = ray->direction.at[axis];
        inverse.at[axis] = fabs(d) < 1e-12 ? 1e12 : 1 / d;
    }
    uint64_t waiting[STACK] = {0}, height = 1;
    scene->rays++;
    while (height > 0) {
        uint64_t index = waiting[--height];
        const struct node *node = &scene->nodes[index];
        if (!meets_box(ray, inverse, node, hit->distance)) {
            continue;
        }
        if (node->count > 0) {
            meet_spheres(scene, ray, node->first, node->count, hit);
        } else if (height + 2 <= STACK) {
            waiting[height++] = node->second;
            waiting[height++] = index + 1;
        } else {
            sp_fail(PROGRAM, "the tree is deeper than %d", STACK);
        }
    }
}

/* ---- light ---- */

/* Normal at the hit point; checks the position of the point. */
static struct vector normal_at(const struct hit *hit, struct vector point) {
    if (hit->sphere == NULL) {
        sp_check_close(PROGRAM, "height of a point on the floor", point.at[1], 0, 1e-8);
        return (struct vector){{0, 1, 0}};
    }
    struct vector out = along(point, hit->sphere->centre, -1);
    sp_check_close(PROGRAM, "distance of a point on a sphere from its centre", sqrt(dot(out, out)),
                   hit->sphere->radius, 1e-8);
    return unit(out);
}

/* Direct light from the lamp, a ball of radius 3 high above, at a random point of it. */
static double lamp_light(struct scene *scene, struct vector point, struct vector normal,
                         struct sp_random *random) {
    struct vector lamp = {{20, 60, -30}};
    for (int axis = 0; axis < AXES; axis++) {
        lamp.at[axis] += sp_random_between(random, -3, 3);
    }
    struct vector to = along(lamp, point, -1);
    struct ray ray = {.origin = point, .direction = unit(to)};
    double cosine = dot(ray.direction, normal);
    struct hit hit = {.distance = sqrt(dot(to, to))};
    if (cosine <= 0) {
        return 0;
    }
    meet_tree(scene, &ray, &hit);
    return hit.sphere == NULL ? cosine : 0;
}

static struct vector sky(struct vector direction) {
    double height = direction.at[1] > 0 ? direction.at[1] : 0;
    return (struct vector){{0.9 - 0.5 * height, 0.9 - 0.3 * height, 1}};
}

static struct vector mirrored(struct vector direction, struct vector normal) {
    double against = dot(direction, normal);
    struct vector out = along(direction, normal, -2 * against);
    sp_check_close(PROGRAM, "length of a reflected direction", dot(out, out), 1, 1e-9);
    sp_check_close(PROGRAM, "cosine of the angle of a reflected ray", dot(out, normal), -against,
                   1e-9);
    return unit(out);
}

static struct hit meet(struct scene *scene, const struct ray *ray) {
    struct hit hit = {.distance = FAR};
    if (ray->direction.at[1] < 0 && ray->origin.at[1] > NEAREST) {
        hit.distance = -ray->origin.at[1] / ray->direction.at[1];
    }
    meet_tree(scene, ray, &hit);
    return hit;
}

static struct vector trace(struct scene *scene, struct ray ray, struct sp_random *random) {
    struct vector light = {{0}}, passes = {{1, 1, 1}};
    for (int bounce = 0; bounce <= BOUNCES; bounce++) {
        struct hit hit = meet(scene, &ray);
        struct vector colour = sky(ray.direction), normal = {{0}};
        double mirror = 0;
        if (hit.distance < FAR) {
            ray.origin = along(ray.origin, ray.direction, hit.distance);
            normal = normal_at(&hit, ray.origin);
            double x = ray.origin.at[0] + 1e4, z = ray.origin.at[2] + 1e4;
            double tile =
                x > 0 && z > 0 && x < 1e6 && z < 1e6 && ((int)x + (int)z) % 2 == 0 ? 0.2 : 0.8;
            colour = hit.sphere != NULL ? hit.sphere->colour : (struct vector){{tile, tile, tile}};
            mirror = hit.sphere != NULL ? hit.sphere->mirror : 0.1;
            colour = scaled(colour, 0.2 + 0.8 * lamp_light(scene, ray.origin, normal, random));
        }
        for (int axis = 0; axis < AXES; axis++) {
            light.at[axis] += passes.at[axis] * colour.at[axis] * (1 - mirror);
        }
        if (mirror <= 0) {
            break;
        }
        passes = scaled(passes, mirror);
        ray.direction = mirrored(ray.direction, normal);
    }
    return light;
}

/* ---- independent checks ---- */

static void check_tree(struct scene *scene, const struct ray *ray) {
    struct hit found = {.distance = FAR}, expected = {.distance = FAR};
    meet_tree(scene, ray, &found);
    meet_spheres(scene, ray, 0, scene->count, &expected);
    sp_check_close(PROGRAM, "distance found by the tree", found.distance, expected.distance, 0);
}

static struct vector random_direction(struct sp_random *random) {
    struct vector v;
    do {
        for (int axis = 0; axis < AXES; axis++) {
            v.at[axis] = sp_random_between(random, -1, 1);
        }
    } while (dot(v, v) > 1 || dot(v, v) < 1e-6);
    return unit(v);
}

/* A sphere of radius r at distance D covers the fraction (1 - sqrt(1 - r^2 / D^2)) / 2 of the sky.
 */
static void check_cover(struct sp_random *random) {
    const struct sphere lone = {.centre = {{3, -1, 2}}, .radius = 1.5};
    const double distance_square = dot(lone.centre, lone.centre);
    const double share = (1 - sqrt(1 - lone.radius * lone.radius / distance_square)) / 2;
    double met = 0;
    for (int i = 0; i < LONE_RAYS; i++) {
        struct ray ray = {.origin = {{0}}, .direction = random_direction(random)};
        met += meet_sphere(&ray, &lone) < FAR ? 1 : 0;
    }
    /* Six standard errors. */
    sp_check_close(PROGRAM, "fraction of the sky that a sphere covers", met / LONE_RAYS, share,
                   6 * sqrt(share * (1 - share) / LONE_RAYS));
}

/* ---- scene and image ---- */

static struct scene make_scene(uint64_t count, struct sp_random *random) {
    struct scene scene = {.count = count};
    scene.spheres = sp_allocate(PROGRAM, count, sizeof *scene.spheres);
    scene.nodes = sp_allocate(PROGRAM, 2 * count, sizeof *scene.nodes);
    for (uint64_t i = 0; i < count; i++) {
        struct sphere *sphere = &scene.spheres[i];
        double size = sp_random_uniform(random);
        sphere->radius = 0.2 + 1.3 * size * size * size;
        sphere->mirror = sp_random_below(random, 3) == 0 ? 0.8 : 0.05;
        for (int axis = 0; axis < AXES; axis++) {
            sphere->centre.at[axis] = sp_random_between(random, -SCENE_SIZE, SCENE_SIZE);
            sphere->colour.at[axis] = sp_random_between(random, 0.1, 1);
        }
        sphere->centre.at[1] = sphere->radius + sp_random_uniform(random) * 10;
    }
    build(&scene, 0, count);
    return scene;
}

/* The camera is in front of the scene and looks slightly down; two rays per pixel at random
 * positions. */
static struct ray camera(uint64_t column, uint64_t row, uint64_t width, struct sp_random *random) {
    double x = ((double)column + sp_random_uniform(random)) / (double)width - 0.5;
    double y = 0.5 - ((double)row + sp_random_uniform(random)) / (double)width;
    return (struct ray){.origin = {{0, 14, -60}},
                        .direction = unit((struct vector){{x, y - 0.15, 0.8}})};
}

static uint64_t render(struct scene *scene, uint64_t width, struct sp_random *random,
                       struct sp_digest *digest) {
    uint64_t brightness = 0, since_tried = 0;
    for (uint64_t pixel = 0; pixel < width * width; pixel++) {
        struct vector light = {{0}};
        for (int sample = 0; sample < 2; sample++) {
            struct ray ray = camera(pixel % width, pixel / width, width, random);
            if (since_tried++ % ALL_TRIED_EVERY == 0) {
                check_tree(scene, &ray);
            }
            light = along(light, trace(scene, ray, random), 0.5);
        }
        for (int axis = 0; axis < AXES; axis++) {
            double value = light.at[axis] < 1 ? light.at[axis] : 1;
            uint64_t byte = (uint64_t)(255 * sqrt(value) + 0.5); /* gamma of 2 */
            brightness += byte;
            sp_digest_add(digest, byte);
        }
    }
    return brightness;
}

int main(int argc, char **argv) {
    uint64_t width = 300, spheres = 1000, seed = 1;
    const struct sp_option options[] = {
        {"--width", "pixels along an edge of the image", &width, 1, 20000},
        {"--spheres", "spheres in the scene", &spheres, 1, 1000000},
        {"--seed", "seed of scene, shadows and samples", &seed, 0, UINT64_MAX}};
    sp_options_parse(PROGRAM, SUMMARY, options, sizeof options / sizeof options[0], argc, argv);

    struct sp_random random = {.state = seed};
    check_cover(&random);
    struct scene scene = make_scene(spheres, &random);
    struct sp_digest digest = {0};
    const uint64_t brightness = render(&scene, width, &random, &digest);
    (void)printf("raytrace width %llu spheres %llu seed %llu\nbrightness %.6f rays %llu digest "
                 "%016llx\n",
                 (unsigned long long)width, (unsigned long long)spheres, (unsigned long long)seed,
                 (double)brightness / (double)(3 * 255 * width * width),
                 (unsigned long long)scene.rays, (unsigned long long)digest.state);
    free(scene.spheres);
    free(scene.nodes);
    return sp_close(PROGRAM);
}
