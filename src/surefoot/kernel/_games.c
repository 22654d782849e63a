/* Whole games for Python: the limited API, the buffer protocol, and no headers of NumPy.
 *
 * The numbers of a game have been checked by the constructors of its parts; sizes are checked
 * here. The interpreter is free while rounds are played. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdlib.h>

#include "c/games.h"
#include "c/wide.h"

#define SF_GAME "surefoot.kernel.game"

typedef struct {
    sf_game game;
    Py_ssize_t runs, state, scratch; /* runs, and doubles of a state and of the scratch memory */
    sf_player *players;              /* one a run */
    double *copies;                  /* matrix, vector, centre, lower, upper, gauge */
    PyObject *rules;                 /* the capsules that certified rules were copied from */
} sf_handle;

static void free_handle(sf_handle *handle)
{
    Py_XDECREF(handle->rules);
    free(handle->players);
    free(handle->copies);
    free(handle);
}

static void free_capsule(PyObject *capsule)
{
    free_handle(PyCapsule_GetPointer(capsule, SF_GAME));
}

/* Copy n doubles, or nothing; 0 where there are others. */
static int take(const Py_buffer *view, Py_ssize_t n, double **room, const double **to)
{
    if (view->len == 0) {
        return 1;
    }
    if (view->len != 8 * n) {
        return 0;
    }
    memcpy(*room, view->buf, (size_t)view->len);
    *to = *room;
    *room += n;
    return 1;
}

/* make(codes, numbers, matrix, vector, centre, lower, upper, gauge, players, rules) -> game
 *
 * codes: int64: d, m, cost, constraint, rule, domain, runs, doubles of a state
 * numbers: the curvature of the costs, the radius of the constraint
 * players: for each run the tightening, the radius of the domain, that less its rounding, and
 *     SF_NUMBERS parameters
 * rules: a capsule for each run; empty where the rule is not certified */
static PyObject *make(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer views[9];
    PyObject *rules;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*y*O!", &views[0], &views[1], &views[2],
                          &views[3], &views[4], &views[5], &views[6], &views[7], &views[8],
                          &PyTuple_Type, &rules)) {
        return NULL;
    }
    const int64_t *codes = views[0].buf;
    const double *numbers = views[1].buf;
    sf_handle *handle = calloc(1, sizeof *handle);
    int fits = handle && views[0].len == 8 * 8 && views[1].len == 2 * 8;
    fits = fits && codes[0] > 0 && codes[0] < 1 << 24 && codes[1] > 0 && codes[1] < 1 << 24;
    fits = fits && codes[2] >= 0 && codes[2] < SF_COST_KINDS && codes[3] >= 0
           && codes[3] < SF_CONSTRAINT_KINDS && codes[4] >= 0 && codes[4] < SF_RULE_KINDS && codes[5] >= 0
           && codes[5] <= SF_BOX && codes[6] > 0 && codes[6] < 1 << 28 && codes[7] >= codes[0];
    if (fits) {
        sf_game *game = &handle->game;
        const Py_ssize_t d = (Py_ssize_t)codes[0], m = (Py_ssize_t)codes[1];
        const Py_ssize_t wide = 3 + SF_NUMBERS;
        const double *centre = NULL, *lower = NULL, *upper = NULL, *told = views[8].buf;
        const size_t given = (size_t)(views[2].len + views[3].len + views[7].len) / 8;
        double *room = calloc(given + 3 * (size_t)d, 8);
        handle->copies = room;
        handle->runs = (Py_ssize_t)codes[6];
        handle->state = (Py_ssize_t)codes[7];
        handle->players = calloc((size_t)handle->runs, sizeof(sf_player));
        game->d = (int)d;
        game->m = (int)m;
        game->cost = (int)codes[2];
        game->constraint = (int)codes[3];
        game->rule = (int)codes[4];
        game->curvature = numbers[0];
        game->radius = numbers[1];
        game->faces = (int)(views[7].len / 8 / d);
        const int gauged = game->rule == SF_GAUGE_DESCENT || game->rule == SF_ADAPTIVE_GAUGE;
        const int is_affine = game->constraint == SF_AFFINE;
        const int squares = game->constraint == SF_ELLIPSOID || game->constraint == SF_FORM;
        const Py_ssize_t certified = game->rule == SF_CERTIFIED ? handle->runs : 0;
        fits = room && handle->players && PyTuple_Size(rules) == certified
               && views[8].len == 8 * handle->runs * wide
               && take(&views[2], (is_affine ? m : d) * d, &room, &game->matrix)
               && take(&views[3], is_affine ? m : d, &room, &game->vector)
               && take(&views[4], d, &room, &centre) && take(&views[5], d, &room, &lower)
               && take(&views[6], d, &room, &upper)
               && take(&views[7], game->faces * d, &room, &game->gauge)
               && (!gauged || game->gauge) && (is_affine || m == 1)
               && (game->matrix || !(is_affine || squares))
               && (game->vector || !(is_affine || game->constraint == SF_FORM))
               && (certified || codes[5] != SF_BOX || (lower && upper))
               && (game->rule != SF_FRANK_WOLFE || codes[5] != SF_ANYWHERE);
        for (Py_ssize_t run = 0; fits && run < handle->runs; run++, told += wide) {
            sf_player *player = &handle->players[run];
            sf_rule *rule = &player->rule;
            if (certified) {
                const sf_capsule *made = PyCapsule_GetPointer(PyTuple_GetItem(rules, run), SF_CAPSULE);
                fits = made && made->rule.d == d && (made->rule.rows == 1 || made->rule.rows == m)
                       && (Py_ssize_t)sf_state_size(&made->rule) <= handle->state;
                if (fits) {
                    *rule = made->rule;
                    player->step = made->step;
                }
            } else {
                rule->d = (int)d;
                rule->domain = (int)codes[5];
                rule->centre = centre;
                rule->lower = lower;
                rule->upper = upper;
                rule->radius = told[1];
                rule->inner = told[2];
            }
            player->tightening = told[0];
            memcpy(player->numbers, told + 3, SF_NUMBERS * 8);
            fits = fits && (certified || (Py_ssize_t)sf_player_state(game, player) <= handle->state);
            const Py_ssize_t scratch = (Py_ssize_t)sf_play_scratch(game, certified ? rule : NULL);
            handle->scratch = scratch > handle->scratch ? scratch : handle->scratch;
        }
    }
    for (int i = 0; i < 9; i++) {
        PyBuffer_Release(&views[i]);
    }
    if (!fits) {
        if (handle) {
            free_handle(handle);
        }
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "the sizes of a game must fit each other");
        }
        return NULL;
    }
    handle->rules = Py_NewRef(rules);
    PyObject *capsule = PyCapsule_New(handle, SF_GAME, free_capsule);
    if (!capsule) {
        free_handle(handle);
    }
    return capsule;
}

/* play(game, low, high, state, costs, streams, kept, cost, g, actions, gradient, slope, rows)
 *
 * Play the rounds of the costs in the runs from low to high, and write what they leave at these
 * runs of the arrays, which have a row for each run; empty where something is not wanted. streams:
 * int64, which stream of the costs, (rounds, streams, d), each run meets. */
static PyObject *play(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *capsule;
    Py_ssize_t low, high;
    Py_buffer v[10];
    if (!PyArg_ParseTuple(args, "Onnw*y*y*y*w*w*w*w*w*w*", &capsule, &low, &high, &v[0], &v[1],
                          &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9])) {
        return NULL;
    }
    const sf_handle *handle = PyCapsule_GetPointer(capsule, SF_GAME);
    int fits = handle && low >= 0 && low <= high && high <= handle->runs;
    double *work = NULL;
    if (fits) {
        const sf_game *game = &handle->game;
        const Py_ssize_t d = game->d, m = game->m, active = v[2].len / 8, keeps = v[3].len / 8;
        const Py_ssize_t rounds = active > 0 ? v[4].len / 8 / active : 0, n = 8 * active * rounds;
        const Py_ssize_t streams = rounds > 0 ? v[1].len / 8 / rounds / d : 0;
        const int64_t *stream = v[2].buf;
        fits = high <= active && rounds > 0 && v[0].len >= 8 * active * handle->state
               && v[1].len == 8 * rounds * streams * d && v[4].len == n && v[5].len == n
               && (v[6].len == 0 || v[6].len == 8 * active * keeps * d)
               && (v[7].len == 0 || v[7].len == n) && v[7].len == v[8].len
               && (v[9].len == 0 || v[9].len == 8 * active * m);
        for (Py_ssize_t run = low; fits && run < high; run++) {
            fits = stream[run] >= 0 && stream[run] < streams;
        }
        sf_play_of *const play_rounds = SF_WIDEST(sf_play_rounds);
        work = fits ? malloc(8 * (size_t)handle->scratch) : NULL;
        if (work) {
            Py_BEGIN_ALLOW_THREADS
            for (Py_ssize_t run = low; run < high; run++) {
                sf_record out;
                out.cost = (double *)v[4].buf + run * rounds;
                out.g = (double *)v[5].buf + run * rounds;
                out.actions = v[6].len ? (double *)v[6].buf + run * keeps * d : NULL;
                out.gradient = v[7].len ? (double *)v[7].buf + run * rounds : NULL;
                out.slope = v[8].len ? (double *)v[8].buf + run * rounds : NULL;
                out.rows = v[9].len ? (double *)v[9].buf + run * m : NULL;
                out.kept = v[3].buf;
                out.keeps = keeps;
                play_rounds(game, &handle->players[run],
                            (double *)v[0].buf + run * handle->state,
                            (const double *)v[1].buf + stream[run] * d, (size_t)(streams * d),
                            rounds, &out, work);
            }
            Py_END_ALLOW_THREADS
        }
    }
    free(work);
    for (int i = 0; i < 10; i++) {
        PyBuffer_Release(&v[i]);
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (!fits) {
        return PyErr_Format(PyExc_ValueError, "the sizes of a block must fit the game");
    }
    if (!work) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"make", make, METH_VARARGS, "Return the capsule of a game."},
    {"play", play, METH_VARARGS, "Play a block of rounds."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_games", "Compiled games.", -1, METHODS,
                             NULL, NULL, NULL, NULL};

/* What has a number, by name. */
static const struct {
    const char *name;
    int value;
} CODES[] = {
#define CODE(name, value) {#name, value},
#define RULE(name, parameters) {#name, name},
    SF_COSTS(CODE) SF_CONSTRAINTS(CODE) SF_DOMAINS(CODE) SF_RULES(RULE) {"NUMBERS", SF_NUMBERS},
#undef CODE
#undef RULE
};

PyMODINIT_FUNC PyInit__games(void)
{
    PyObject *module = PyModule_Create(&MODULE);
    int done = module && PyModule_AddStringConstant(module, "TEXT", SUREFOOT_TEXT) == 0;
    for (size_t i = 0; done && i < sizeof CODES / sizeof *CODES; i++) {
        done = PyModule_AddIntConstant(module, CODES[i].name, CODES[i].value) == 0;
    }
    /* The parameters of each rule in their order, in one text. */
#define FORMAT(name, parameters) "ss"
#define RULE(name, parameters) , #name, parameters
    PyObject *parameters = done ? Py_BuildValue("{" SF_RULES(FORMAT) "}" SF_RULES(RULE)) : NULL;
    if (!parameters || PyModule_AddObjectRef(module, "PARAMETERS", parameters) < 0) {
        Py_CLEAR(module);
    }
    Py_XDECREF(parameters);
    return module;
}
