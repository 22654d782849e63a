/* The step for Python: the limited API, the buffer protocol, and no headers of NumPy.
 *
 * A rule is a capsule named SF_CAPSULE whose pointer is an sf_capsule. Arrays that are not rows of
 * aligned native doubles, and numbers that are no floats, are answered with SF_ELSEWHERE: Python
 * converts or refuses them. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

#include "c/surefoot.h"
#include "c/wide.h"

#define SF_OUT 25 /* numbers of an info, before its vectors */

typedef struct {
    sf_capsule made; /* first: the capsule's pointer is one to it */
    size_t state, scratch;
    double *work;
    double *vectors[5];
} sf_handle;

static const struct {
    const char *name;
    char kind; /* i: int, d: double, v: vector of d entries, r: one of an entry per row */
    size_t offset;
} FIELDS[] = {
#define FIELD(kind, name) {#name, kind, offsetof(sf_rule, name)}
    FIELD('i', d),          FIELD('i', cuts),        FIELD('i', rows),
    FIELD('i', proposer),   FIELD('i', knowledge),   FIELD('i', domain),
    FIELD('i', decreasing), FIELD('i', ratchet),    FIELD('i', as_steps),   FIELD('i', points),   FIELD('d', G_g),         FIELD('d', reach),
    FIELD('d', value_error), FIELD('d', slope_error), FIELD('d', drift),
    FIELD('d', evaluation_error), FIELD('d', rho),   FIELD('d', sigma),
    FIELD('d', radius),     FIELD('d', inner),       FIELD('d', around),
    FIELD('d', diameter),   FIELD('d', strong_convexity), FIELD('d', scale),
    FIELD('d', eta),        FIELD('d', far),         FIELD('r', beta),
    FIELD('v', centre),     FIELD('v', lower),       FIELD('v', upper),
    FIELD('v', middle),
};

static PyObject *dtype_name; /* "dtype" */
static PyObject *doubles;    /* the dtype of an array whose format is that of doubles */

/* Whether an array has the dtype of one whose format was looked at. */
static int has_doubles(PyObject *object)
{
    PyObject *dtype = doubles ? PyObject_GetAttr(object, dtype_name) : NULL;
    if (doubles && !dtype) {
        PyErr_Clear();
    }
    Py_XDECREF(dtype); /* the array has it */
    return dtype && dtype == doubles;
}

/* Look at n doubles of an array of one axis, or rows of one of two; 0 where there are none. NumPy
 * takes long to write a format: one is asked for where nobody knows that these are doubles. */
static int look(PyObject *object, Py_buffer *view, size_t n, int rows, int flags, int known)
{
    flags |= PyBUF_C_CONTIGUOUS | (known ? 0 : PyBUF_FORMAT);
    if (PyObject_GetBuffer(object, view, flags) < 0) {
        PyErr_Clear();
        return 0;
    }
    const char *format = known ? "d" : view->format;
    if (view->itemsize == 8 && format && format[0] == 'd' && !format[1]
        && view->ndim == (rows ? 2 : 1) && (!rows || view->shape[0] == rows)
        && (size_t)view->len == 8 * n && (uintptr_t)view->buf % sizeof(double) == 0) {
        if (!known && !doubles && !(doubles = PyObject_GetAttr(object, dtype_name))) {
            PyErr_Clear(); /* no array of NumPy */
        }
        return 1;
    }
    PyBuffer_Release(view);
    return 0;
}

static void free_handle(sf_handle *handle)
{
    for (int i = 0; i < 5; i++) {
        free(handle->vectors[i]);
    }
    free(handle->work);
    free(handle);
}

static void free_capsule(PyObject *capsule)
{
    free_handle(PyCapsule_GetPointer(capsule, SF_CAPSULE));
}

/* Read one field of a rule from a dictionary; 0 with an exception where it is wrong. */
static int read_field(sf_handle *handle, size_t i, PyObject *value, int *taken)
{
    char *to = (char *)&handle->made.rule + FIELDS[i].offset;
    if (FIELDS[i].kind == 'i') {
        const long number = PyLong_AsLong(value);
        if (number < 0 || number > 1 << 24) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "%s must be from 0 to 2^24", FIELDS[i].name);
            }
            return 0;
        }
        *(int *)to = (int)number;
    } else if (FIELDS[i].kind == 'd') {
        *(double *)to = PyFloat_AsDouble(value);
    } else {
        Py_buffer view;
        const size_t n = (size_t)(FIELDS[i].kind == 'v' ? handle->made.rule.d : handle->made.rule.rows);
        if (!look(value, &view, n, 0, 0, 0)) {
            PyErr_Format(PyExc_ValueError, "%s must be %zu doubles", FIELDS[i].name, n);
            return 0;
        }
        double *copy = malloc(8 * n + 8);
        if (copy) {
            memcpy(copy, view.buf, 8 * n);
        }
        PyBuffer_Release(&view);
        handle->vectors[(*taken)++] = copy;
        *(const double **)to = copy;
        if (!copy) {
            PyErr_NoMemory();
        }
    }
    return !PyErr_Occurred();
}

/* make(fields) -> capsule, doubles of a state, of what is before the learner, of the scratch;
   None where the rule is not here. */
static PyObject *make(PyObject *self, PyObject *fields)
{
    (void)self;
    sf_handle *handle = calloc(1, sizeof *handle);
    int taken = 0;
    if (!handle || !PyDict_Check(fields)) {
        free(handle);
        return handle ? PyErr_Format(PyExc_TypeError, "fields must be a dict") : PyErr_NoMemory();
    }
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) { /* sizes come first */
        PyObject *value = PyDict_GetItemString(fields, FIELDS[i].name);
        if (value && value != Py_None && !read_field(handle, i, value, &taken)) {
            free_handle(handle);
            return NULL;
        }
    }
    const sf_rule *rule = &handle->made.rule;
    handle->made.step = SF_WIDEST(sf_step);
    handle->state = sf_state_size(rule);
    handle->scratch = sf_scratch_size(rule);
    if (!handle->state) {
        free_handle(handle);
        Py_RETURN_NONE;
    }
    handle->work = malloc(8 * handle->scratch);
    if (!handle->work) {
        free_handle(handle);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(handle, SF_CAPSULE, free_capsule);
    if (!capsule) {
        free_handle(handle);
        return NULL;
    }
    return Py_BuildValue("Nnnn", capsule, (Py_ssize_t)handle->state,
                         (Py_ssize_t)(rule->d + sf_memory_size(rule)),
                         (Py_ssize_t)handle->scratch);
}

/* Write what a step knew: SF_OUT numbers, then wanted, found and weights. */
static void write_info(const sf_rule *rule, const sf_info *info, double *out)
{
    const int d = rule->d;
    const double numbers[SF_OUT] = {
        info->bound, info->cut, info->alarms, info->kind, info->row, info->round, info->value,
        info->anchor_value, info->anchor_round, info->share, info->distance, info->room,
        info->rho, info->slope, info->note[0], info->note[1], info->note[2], info->note[3],
        info->note[4], info->note[5], info->drawn, info->lags[0], info->lags[1], info->lags[2],
        info->lags[3],
    };
    sf_copy(out, numbers, SF_OUT);
    sf_copy(out + SF_OUT, info->wanted, d);
    sf_copy(out + SF_OUT + d, info->found ? info->found : info->wanted, d);
    if (info->weights) {
        sf_copy(out + SF_OUT + 2 * d, info->weights, rule->rows);
    } else {
        sf_fill(out + SF_OUT + 2 * d, 0.0, rule->rows);
    }
    if (info->kept) {
        sf_copy(out + SF_OUT + 2 * d + rule->rows, info->kept, d);
    }
}

/* One step; out has what it knew. */
static int step_one(const sf_handle *handle, double *block, const sf_feedback *seen, double *out)
{
    sf_info info;
    const int status = handle->made.step(&handle->made.rule, block, seen, handle->work, &info);
    if (status == SF_OK) {
        write_info(&handle->made.rule, &info, out);
    }
    return status;
}

/* step(rule, block, gradient, g, s, proposal, action, value_error, slope_error, age, out) */
static PyObject *step(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    sf_handle *handle = count == 11 ? PyCapsule_GetPointer(args[0], SF_CAPSULE) : NULL;
    if (!handle) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "step takes 11 arguments");
    }
    const sf_rule *rule = &handle->made.rule;
    const size_t d = (size_t)rule->d, m = (size_t)rule->rows;
    sf_feedback seen;
    memset(&seen, 0, sizeof seen);
    const double *vector[11] = {0};
    double number[11];
    Py_buffer views[11];
    int held = 0, status = SF_OK;
    const size_t sizes[11] = {0, handle->state, d, m > 1 ? m : 0, m * d, d, d, 0, 0, 0, SF_OUT + 3 * d + m};
    for (int i = 1; i < 11 && status == SF_OK; i++) {
        PyObject *value = args[i];
        if (value == Py_None) {
            status = i == 1 || i == 10 ? SF_ELSEWHERE : SF_OK;
        } else if (Py_TYPE(value) == Py_TYPE(args[1])) { /* no masked array, whose numbers hide */
            const int own = i == 1 || i == 10; /* of the library, which gives doubles */
            const int rows = i == 4 && m > 1 ? (int)m : 0, flags = own ? PyBUF_WRITABLE : 0;
            const int known = own || has_doubles(value);
            if (sizes[i] && look(value, &views[held], sizes[i], rows, flags, known)) {
                vector[i] = views[held++].buf;
            } else {
                status = SF_ELSEWHERE;
            }
        } else if (PyFloat_Check(value)) {
            number[i] = PyFloat_AsDouble(value);
            vector[i] = &number[i];
            status = (i >= 7 && i <= 9) || (i == 3 && m == 1) ? SF_OK : SF_ELSEWHERE;
        } else {
            status = SF_ELSEWHERE;
        }
    }
    if (status == SF_OK) {
        seen.gradient = vector[2];
        seen.g = vector[3];
        seen.s = vector[4];
        seen.proposal = vector[5];
        seen.action = vector[6];
        seen.value_error = vector[7];
        seen.slope_error = vector[8];
        seen.age = vector[9] ? *vector[9] : 0.0;
        status = step_one(handle, (double *)vector[1], &seen, (double *)vector[10]);
    }
    while (held > 0) {
        PyBuffer_Release(&views[--held]);
    }
    return PyLong_FromLong(status);
}

/* steps(rule, n, blocks, gradients, g, s, proposals, outs, status): n states of one constraint in
   place, one after the other in flat arrays; whose status is not 0 before is left alone. Gradients
   or proposals are None. Returns whether the arrays fit; status has what each step said. */
static PyObject *steps(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    sf_handle *handle = count == 9 ? PyCapsule_GetPointer(args[0], SF_CAPSULE) : NULL;
    const long n = handle ? PyLong_AsLong(args[1]) : -1;
    if (n < 0) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "steps takes 9 arguments");
    }
    const sf_rule *rule = &handle->made.rule;
    const size_t d = (size_t)rule->d, out = SF_OUT + 3 * d + 1, many = (size_t)n;
    const size_t sizes[9] = {0, 0, handle->state, d, 1, d, d, out, 1};
    double *part[9] = {0};
    Py_buffer views[9];
    int held = 0, fits = rule->rows == 1;
    for (int i = 2; i < 9 && fits; i++) {
        if ((i == 3 || i == 6) && args[i] == Py_None) {
            continue;
        }
        const int flags = i == 2 || i > 6 ? PyBUF_WRITABLE : 0;
        fits = look(args[i], &views[held], many * sizes[i], 0, flags, 0);
        part[i] = fits ? views[held++].buf : NULL;
    }
    for (size_t i = 0; fits && i < many; i++) {
        if (part[8][i] != 0.0) {
            continue;
        }
        sf_feedback seen;
        memset(&seen, 0, sizeof seen);
        seen.gradient = part[3] ? part[3] + i * d : NULL;
        seen.g = part[4] + i;
        seen.s = part[5] + i * d;
        seen.proposal = part[6] ? part[6] + i * d : NULL;
        part[8][i] = step_one(handle, part[2] + i * handle->state, &seen, part[7] + i * out);
    }
    while (held > 0) {
        PyBuffer_Release(&views[--held]);
    }
    return PyBool_FromLong(fits);
}

static PyMethodDef METHODS[] = {
    {"make", make, METH_O, "Return the capsule of a rule, and the doubles of a state."},
    {"step", (PyCFunction)(void (*)(void))step, METH_FASTCALL, "Step a state in place."},
    {"steps", (PyCFunction)(void (*)(void))steps, METH_FASTCALL, "Step many states in place."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_step", "The compiled step.", -1, METHODS,
                             NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__step(void)
{
    PyObject *module = PyModule_Create(&MODULE);
    dtype_name = PyUnicode_InternFromString("dtype");
    if (!dtype_name)
        Py_CLEAR(module);
    if (module != NULL && PyModule_AddStringConstant(module, "TEXT", SUREFOOT_TEXT) < 0)
        Py_CLEAR(module);
    return module;
}
