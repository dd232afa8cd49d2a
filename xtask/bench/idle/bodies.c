/* Moves bodies that attract each other. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 40, STEPS = 20000 };

struct body {
    double place[3];
    double speed[3];
    double mass;
};

static void attract(struct body *one, struct body *other) {
    double distance[3], square = 0.01;
    for (int axis = 0; axis < 3; axis++) {
        distance[axis] = other->place[axis] - one->place[axis];
        square += distance[axis] * distance[axis];
    }
    double pull = 1e-4 / (square * sqrt(square));
    for (int axis = 0; axis < 3; axis++) {
        one->speed[axis] += distance[axis] * other->mass * pull;
        other->speed[axis] -= distance[axis] * one->mass * pull;
    }
}

int main(void) {
    struct body *bodies = calloc(BODIES, sizeof *bodies);
    for (int i = 0; i < BODIES; i++) {
        bodies[i].mass = 1 + i % 3;
        for (int axis = 0; axis < 3; axis++)
            bodies[i].place[axis] = (i * 7 + axis * 11) % 23;
    }
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < BODIES; i++)
            for (int j = i + 1; j < BODIES; j++)
                attract(&bodies[i], &bodies[j]);
        for (int i = 0; i < BODIES; i++)
            for (int axis = 0; axis < 3; axis++)
                bodies[i].place[axis] += bodies[i].speed[axis];
    }
    double sum = 0;
    for (int i = 0; i < BODIES; i++)
        sum += bodies[i].place[0];
    printf("%.6f\n", sum);
    return 0;
}
