/* The step for Python: the limited API, the buffer protocol, and no headers of NumPy.
 *
 * A rule is a capsule named SF_CAPSULE whose pointer is an sf_capsule. Arrays that are not rows of
 * aligned native doubles, and numbers that are no floats, are answered with SF_ELSEWHERE: Python
 * converts or refuses them. So is whatever else was told of a round than what is read here. Numbers
 * with a name, and what the blocks of a rule have, are told to Python, which has neither. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

#include "c/surefoot.h"
#include "c/listing.h"
#include "c/wide.h"

#define SF_MOST_TOLD 64 /* fields of a feedback */

typedef struct {
    sf_capsule made; /* first: the capsule's pointer is one to it */
    size_t state, scratch, info;
    double *work;
    double *vectors[5];
    PyObject *fields; /* of a feedback: name, what the kernel does with it, and the default */
    Py_ssize_t count; /* of these */
    signed char told[SF_MOST_TOLD]; /* for each its place among TOLD, or one of the following */
} sf_handle;

enum { SF_IGNORED = -1, SF_NOT_READ = -2 };

static const struct {
    const char *name;
    char kind; /* i: int, c: code, d: double, v: vector of d entries, r: one of an entry per row */
    size_t offset;
} FIELDS[] = {
#define FIELD(kind, name) {#name, kind, offsetof(sf_rule, name)}
    FIELD('i', d),          FIELD('i', cuts),        FIELD('i', rows),
    FIELD('c', proposer),   FIELD('c', knowledge),   FIELD('c', domain),
    FIELD('i', decreasing), FIELD('i', ratchet),     FIELD('i', as_steps),
    FIELD('i', points),     FIELD('d', G_g),         FIELD('d', reach),
    FIELD('d', value_error), FIELD('d', slope_error), FIELD('d', drift),
    FIELD('d', evaluation_error), FIELD('d', rho),   FIELD('d', sigma),
    FIELD('d', radius),     FIELD('d', inner),       FIELD('d', around),
    FIELD('d', diameter),   FIELD('d', strong_convexity), FIELD('d', scale),
    FIELD('d', probe),      FIELD('d', doubt),       FIELD('d', near),
    FIELD('d', eta),        FIELD('d', far),         FIELD('r', beta),
    FIELD('v', centre),     FIELD('v', lower),       FIELD('v', upper),
    FIELD('v', middle),
#undef FIELD
};

static const struct {
    const char *name;
    int value;
} CODES[] = {
#define CODE(name, value) {#name, value},
    SF_STATUSES(CODE) SF_ALARMS(CODE) SF_CERTIFICATES(CODE)
    SF_PROPOSERS(CODE) SF_KNOWLEDGE(CODE) SF_DOMAINS(CODE)
#undef CODE
};

/* What is read of a feedback, by the names of its fields in Python. */
static const struct {
    const char *name;
    char kind; /* v: vector of d entries, r: one of an entry per row, s: a slope per row, d: number,
                * n: whole number */
    size_t offset;
} TOLD[] = {
#define TELL(name, kind, member) {#name, kind, offsetof(sf_feedback, member)}
    TELL(cost_gradient, 'v', gradient),     TELL(constraint_value, 'r', g),
    TELL(constraint_subgradient, 's', s),   TELL(proposal, 'v', proposal),
    TELL(action, 'v', action),              TELL(value_error, 'd', value_error),
    TELL(slope_error, 'd', slope_error),    TELL(age, 'n', age),
#undef TELL
};
enum { SF_TOLD = sizeof TOLD / sizeof *TOLD };

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
    Py_XDECREF(handle->fields);
    free(handle->work);
    free(handle);
}

static void free_capsule(PyObject *capsule)
{
    free_handle(PyCapsule_GetPointer(capsule, SF_CAPSULE));
}

/* Find the number of a name; 0 with an exception where there is none. */
static int read_code(PyObject *name, int *to)
{
    for (size_t i = 0; PyUnicode_Check(name) && i < sizeof CODES / sizeof *CODES; i++) {
        if (PyUnicode_CompareWithASCIIString(name, CODES[i].name) == 0) {
            *to = CODES[i].value;
            return 1;
        }
    }
    PyErr_Format(PyExc_ValueError, "%R is no name of a code", name);
    return 0;
}

/* Read one field of a rule from a dictionary; 0 with an exception where it is wrong. */
static int read_field(sf_handle *handle, size_t i, PyObject *value, int *taken)
{
    char *to = (char *)&handle->made.rule + FIELDS[i].offset;
    if (FIELDS[i].kind == 'c') {
        return read_code(value, (int *)to);
    }
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

/* Whether a text is one of these. */
static int is_text(PyObject *text, const char *wanted)
{
    return PyUnicode_Check(text) && PyUnicode_CompareWithASCIIString(text, wanted) == 0;
}

/* Find what is done with each field of a feedback: its place among TOLD, or that it is ignored or
 * Python's; 0 with an exception for a table that is none. */
static int read_told(sf_handle *handle, PyObject *fields)
{
    handle->count = PyTuple_Check(fields) ? PyTuple_Size(fields) : -1;
    if (handle->count < 0 || handle->count > SF_MOST_TOLD) {
        PyErr_Format(PyExc_TypeError, "the fields of a feedback must be a tuple");
        return 0;
    }
    handle->fields = Py_NewRef(fields);
    for (Py_ssize_t i = 0; i < handle->count; i++) {
        PyObject *field = PyTuple_GetItem(fields, i);
        if (!PyTuple_Check(field) || PyTuple_Size(field) != 3) {
            PyErr_Format(PyExc_TypeError, "a field must have a name, a word and a default");
            return 0;
        }
        PyObject *name = PyTuple_GetItem(field, 0), *word = PyTuple_GetItem(field, 1);
        int place = is_text(word, "ignores") ? SF_IGNORED : SF_NOT_READ;
        for (int k = 0; is_text(word, "reads") && k < SF_TOLD; k++) {
            place = is_text(name, TOLD[k].name) ? k : place;
        }
        if (is_text(word, "reads") && place < 0) {
            PyErr_Format(PyExc_ValueError, "the kernel does not read %R of a feedback", name);
            return 0;
        }
        handle->told[i] = (signed char)place;
    }
    return 1;
}

/* make(fields, told) -> capsule, doubles of a state, of an info, and of the scratch; None where the
   rule is not here.

   fields: of the rule, by name; told: those of a feedback, in order: name, "reads", "ignores" or
   another word for Python, and the default, which says nothing */
static PyObject *make(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *fields, *told;
    if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &fields, &PyTuple_Type, &told)) {
        return NULL;
    }
    sf_handle *handle = calloc(1, sizeof *handle);
    int taken = 0;
    Py_ssize_t known = 0;
    if (!handle) {
        return PyErr_NoMemory();
    }
    if (!read_told(handle, told)) {
        free_handle(handle);
        return NULL;
    }
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) { /* sizes come first */
        PyObject *value = PyDict_GetItemString(fields, FIELDS[i].name);
        known += value != NULL;
        if (value && value != Py_None && !read_field(handle, i, value, &taken)) {
            free_handle(handle);
            return NULL;
        }
    }
    if (known != PyDict_Size(fields)) {
        free_handle(handle);
        return PyErr_Format(PyExc_ValueError, "some of the fields %R are no rule's", fields);
    }
    const sf_rule *rule = &handle->made.rule;
    handle->made.step = SF_WIDEST(sf_step);
    handle->state = sf_state_size(rule);
    handle->scratch = sf_scratch_size(rule);
    if (!handle->state) {
        free_handle(handle);
        Py_RETURN_NONE;
    }
    handle->info = sf_info_size(rule);
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
    return Py_BuildValue("Nnnn", capsule, (Py_ssize_t)handle->state, (Py_ssize_t)handle->info,
                         (Py_ssize_t)handle->scratch);
}

/* Where a listing is written, and how many doubles were listed. */
typedef struct {
    PyObject *list;
    size_t size;
} sf_listed;

static int visit(sf_listing *listing, const char *name, int axes, size_t rows, size_t columns,
                 double most)
{
    sf_listed *to = listing->to;
    const Py_ssize_t n = (Py_ssize_t)rows, m = (Py_ssize_t)columns;
    PyObject *shape = axes == 2   ? Py_BuildValue("(nn)", n, m)
                      : axes == 1 ? Py_BuildValue("(n)", n * m)
                                  : PyTuple_New(0);
    PyObject *whole = PyUnicode_FromFormat("%s%s", listing->group, name), *part = NULL;
    if (shape && whole) {
        part = most < 0.0 ? Py_BuildValue("(OOO)", whole, shape, Py_None)
                          : Py_BuildValue("(OOn)", whole, shape, (Py_ssize_t)most);
    }
    const int done = part && PyList_Append(to->list, part) == 0;
    Py_XDECREF(shape);
    Py_XDECREF(whole);
    Py_XDECREF(part);
    to->size += rows * columns;
    return done;
}

/* layout(rule) -> the parts of a state, and those of an info, in their order, one after the other:
   of each the name, the shape, and the largest number that a count may be, else None. */
static PyObject *layout(PyObject *self, PyObject *capsule)
{
    (void)self;
    const sf_handle *handle = PyCapsule_GetPointer(capsule, SF_CAPSULE);
    if (!handle) {
        return NULL;
    }
    sf_listed state = {PyList_New(0), 0}, info = {PyList_New(0), 0};
    sf_listing listing = {visit, "", &state};
    int done = state.list && info.list && sf_list_state(&handle->made.rule, &listing);
    listing.to = &info;
    done = done && sf_list_info(&handle->made.rule, &listing);
    if (done && (state.size != handle->state || info.size != handle->info)) {
        PyErr_Format(PyExc_SystemError, "a table of the kernel's text has not every part");
        done = 0;
    }
    if (done) {
        return Py_BuildValue("NN", state.list, info.list);
    }
    Py_XDECREF(state.list);
    Py_XDECREF(info.list);
    return NULL;
}

/* One step; out has what it knew. */
static int step_one(const sf_handle *handle, double *block, const sf_feedback *seen, double *out)
{
    sf_info info;
    const int status = handle->made.step(&handle->made.rule, block, seen, handle->work, &info);
    if (status == SF_OK) {
        sf_write_info(&handle->made.rule, &info, out);
    }
    return status;
}

/* Read one item of a feedback; SF_ELSEWHERE where it is not as the library has it. */
static int read_item(const sf_handle *handle, int k, PyObject *value, PyTypeObject *array,
                     sf_feedback *seen, double *number, Py_buffer *views, int *held)
{
    const sf_rule *rule = &handle->made.rule;
    const size_t d = (size_t)rule->d, m = (size_t)rule->rows;
    const char kind = TOLD[k].kind;
    char *to = (char *)seen + TOLD[k].offset;
    if (kind == 'n') {
        *(double *)to = PyLong_Check(value) ? PyLong_AsDouble(value) : -1.0;
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return SF_ELSEWHERE;
        }
        return PyLong_Check(value) ? SF_OK : SF_ELSEWHERE;
    }
    if (kind == 'd' || (kind == 'r' && m == 1)) {
        *number = PyFloat_Check(value) ? PyFloat_AsDouble(value) : 0.0;
        *(const double **)to = number;
        return PyFloat_Check(value) ? SF_OK : SF_ELSEWHERE;
    }
    const size_t n = kind == 'r' ? m : kind == 's' ? m * d : d;
    const int rows = kind == 's' && m > 1 ? (int)m : 0;
    /* No masked array, whose numbers hide. */
    if (Py_TYPE(value) != array || !look(value, &views[*held], n, rows, 0, has_doubles(value))) {
        return SF_ELSEWHERE;
    }
    *(const double **)to = views[(*held)++].buf;
    return SF_OK;
}

/* step(rule, block, feedback, out): what is told of a round is a tuple of the fields of make; a field
   that nothing was said of is its default. Anything else that the kernel does not read is Python's,
   and so is a tuple of more fields than these. */
static PyObject *step(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    sf_handle *handle = count == 4 ? PyCapsule_GetPointer(args[0], SF_CAPSULE) : NULL;
    if (!handle) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "step takes 4 arguments");
    }
    PyObject *feedback = args[2];
    PyTypeObject *array = Py_TYPE(args[1]);
    sf_feedback seen;
    memset(&seen, 0, sizeof seen);
    double number[SF_TOLD];
    Py_buffer views[SF_TOLD + 2];
    int held = 0, status = SF_OK;
    /* Both are of the library, which gives doubles. */
    if (!PyTuple_Check(feedback) || PyTuple_Size(feedback) != handle->count
        || Py_TYPE(args[3]) != array
        || !look(args[1], &views[held], handle->state, 0, PyBUF_WRITABLE, 1)) {
        return PyLong_FromLong(SF_ELSEWHERE);
    }
    double *block = views[held++].buf, *out = NULL;
    if (look(args[3], &views[held], handle->info, 0, PyBUF_WRITABLE, 1)) {
        out = views[held++].buf;
    } else {
        status = SF_ELSEWHERE;
    }
    for (Py_ssize_t i = 0; i < handle->count && status == SF_OK; i++) {
        PyObject *value = PyTuple_GetItem(feedback, i);
        const int k = handle->told[i];
        if (k == SF_IGNORED || value == PyTuple_GetItem(PyTuple_GetItem(handle->fields, i), 2)) {
            continue;
        }
        status = k < 0 ? SF_ELSEWHERE
                       : read_item(handle, k, value, array, &seen, &number[k], views, &held);
    }
    if (status == SF_OK) {
        status = step_one(handle, block, &seen, out);
    }
    while (held > 0) {
        PyBuffer_Release(&views[--held]);
    }
    return PyLong_FromLong(status);
}

/* steps(rule, n, blocks, gradients, g, s, proposals, outs, status): n states of one constraint in
   place, one after the other in flat arrays; whose status is not 0 before is left alone. Gradients
   or proposals are None, and slopes where nobody reports them. Returns whether the arrays fit; status has what each step said. */
static PyObject *steps(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    sf_handle *handle = count == 9 ? PyCapsule_GetPointer(args[0], SF_CAPSULE) : NULL;
    const long n = handle ? PyLong_AsLong(args[1]) : -1;
    if (n < 0) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "steps takes 9 arguments");
    }
    const sf_rule *rule = &handle->made.rule;
    const size_t d = (size_t)rule->d, out = handle->info, many = (size_t)n;
    const size_t sizes[9] = {0, 0, handle->state, d, 1, d, d, out, 1};
    double *part[9] = {0};
    Py_buffer views[9];
    int held = 0, fits = rule->rows == 1;
    for (int i = 2; i < 9 && fits; i++) {
        if ((i == 3 || i == 5 || i == 6) && args[i] == Py_None) {
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
        seen.s = part[5] ? part[5] + i * d : NULL;
        seen.proposal = part[6] ? part[6] + i * d : NULL;
        part[8][i] = step_one(handle, part[2] + i * handle->state, &seen, part[7] + i * out);
    }
    while (held > 0) {
        PyBuffer_Release(&views[--held]);
    }
    return PyBool_FromLong(fits);
}

static PyMethodDef METHODS[] = {
    {"make", make, METH_VARARGS, "Return the capsule of a rule, and the doubles of its blocks."},
    {"layout", layout, METH_O, "Return what the blocks of a rule have."},
    {"step", (PyCFunction)(void (*)(void))step, METH_FASTCALL, "Step a state in place."},
    {"steps", (PyCFunction)(void (*)(void))steps, METH_FASTCALL, "Step many states in place."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_step", "The compiled step.", -1, METHODS,
                             NULL, NULL, NULL, NULL};

/* Add a tuple of names to a module. */
static int add_names(PyObject *module, const char *name, PyObject *names)
{
    const int done = names && PyModule_AddObjectRef(module, name, names) == 0;
    Py_XDECREF(names);
    return done;
}

PyMODINIT_FUNC PyInit__step(void)
{
    PyObject *module = PyModule_Create(&MODULE);
    dtype_name = PyUnicode_InternFromString("dtype");
    int done = module && dtype_name
               && PyModule_AddStringConstant(module, "TEXT", SUREFOOT_TEXT) == 0;
    for (size_t i = 0; done && i < sizeof CODES / sizeof *CODES; i++) {
        done = PyModule_AddIntConstant(module, CODES[i].name, CODES[i].value) == 0;
    }
    PyObject *arrays = PyList_New(0);
    for (size_t i = 0; done && arrays && i < sizeof FIELDS / sizeof *FIELDS; i++) {
        PyObject *name = PyUnicode_FromString(FIELDS[i].name);
        const int is_array = FIELDS[i].kind == 'v' || FIELDS[i].kind == 'r';
        done = name && (!is_array || PyList_Append(arrays, name) == 0);
        Py_XDECREF(name);
    }
    done = done && arrays && add_names(module, "ARRAYS", PyList_AsTuple(arrays));
    Py_XDECREF(arrays);
#define NAME(name, value) #name,
#define EACH(name, value) "s"
    /* By number: which inequality certifies the next action. */
    done = done && add_names(module, "CERTIFICATES",
                             Py_BuildValue("(" SF_CERTIFICATES(EACH) ")",
                                           SF_CERTIFICATES(NAME) NULL));
    if (!done) {
        Py_CLEAR(module);
    }
    return module;
}
