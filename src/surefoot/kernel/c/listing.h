/* What the blocks of a rule have, for who packs and unpacks them: names, shapes and counts, in order.
 *
 * A listing is asked by a function that is called with every part; it returns 0 to end. The tables
 * are those of layout.h, beside what they describe. */
#ifndef SF_LISTING_H
#define SF_LISTING_H

typedef struct sf_listing sf_listing;

/* One part: of a group, "" for none; `axes` of rows and columns are its shape. most: of a count, the
 * largest that it may be; else below 0. */
typedef int sf_visit(sf_listing *listing, const char *name, int axes, size_t rows, size_t columns,
                     double most);

struct sf_listing {
    sf_visit *visit;
    const char *group;
    void *to;
};

#define SF_LIST(name, axes, rows, columns, most)                                                   \
    &&listing->visit(listing, name, axes, (size_t)(rows), (size_t)(columns), most)
#define SF_LIST_NUMBER(index, name) SF_LIST(name, 0, 1, 1, -1.0)
#define SF_LIST_COUNT(index, name, most) SF_LIST(name, 0, 1, 1, most)
#define SF_LIST_ARRAY(member, name, axes, rows, columns) SF_LIST(name, axes, rows, columns, -1.0)
#define SF_LIST_VECTOR(index, name) SF_LIST(name, 1, 1, d, -1.0)
#define SF_LIST_SPOT(index, name)                                                                  \
    SF_LIST(name ".x", 1, 1, d, -1.0)                                                              \
    SF_LIST(name ".value", 0, 1, 1, -1.0)                                                          \
    SF_LIST(name ".round", 0, 1, 1, -1.0)
#define SF_LIST_INFO(type, name) SF_LIST(#name, 0, 1, 1, -1.0)
#define SF_WRITE_INFO(type, name) *next++ = info->name;
#define SF_ONE_MORE(...) +1

static inline int sf_list_memory(const sf_rule *rule, sf_listing *listing)
{
    const int d = rule->d, m = rule->rows, separately = rule->knowledge == SF_ROWS;
    listing->group = "memory.";
    if (rule->knowledge == SF_HULL) {
        return 1 SF_NUMBERS_OF_HULL(SF_LIST_NUMBER) SF_SPOTS_OF_HULL(SF_LIST_SPOT)
            SF_ARRAYS_OF_HULL(SF_LIST_ARRAY);
    }
    if (rule->knowledge == SF_LENGTH) {
        return 1 SF_NUMBERS_OF_LENGTH(SF_LIST_NUMBER) SF_VECTORS_OF_LENGTH(SF_LIST_VECTOR);
    }
    return 1 SF_NUMBERS_OF_CURVED(SF_LIST_NUMBER) SF_ARRAYS_OF_CURVED(SF_LIST_ARRAY);
}

static inline int sf_list_learner(const sf_rule *rule, sf_listing *listing)
{
    const int d = rule->d, K = rule->cuts;
    listing->group = "learner.";
    if (rule->proposer == SF_PROBING
        && !(1 SF_NUMBERS_OF_PROBING(SF_LIST_NUMBER, SF_LIST_COUNT)
                 SF_ARRAYS_OF_PROBING(SF_LIST_ARRAY))) {
        return 0;
    }
    if (sf_leads(rule)) {
        const int n = sf_leaders(rule);
        listing->group = rule->proposer == SF_PROBING ? "learner.leader." : "learner.";
        return 1 SF_NUMBERS_OF_LEADER(SF_LIST_NUMBER, SF_LIST_COUNT)
            SF_ARRAYS_OF_LEADER(SF_LIST_ARRAY) SF_NORMALS_OF_LEADER(SF_LIST_ARRAY);
    }
    if (rule->proposer == SF_DESCENT) {
        return 1 SF_NUMBERS_OF_DESCENT(SF_LIST_NUMBER);
    }
    if (rule->proposer == SF_AVERAGING) {
        const int n = rule->points;
        return 1 SF_NUMBERS_OF_AVERAGING(SF_LIST_NUMBER) SF_ARRAYS_OF_AVERAGING(SF_LIST_ARRAY);
    }
    return 1; /* who learns nothing has no numbers */
}

/* List what a state has. */
static inline int sf_list_state(const sf_rule *rule, sf_listing *listing)
{
    const int d = rule->d;
    listing->group = "";
    return 1 SF_LIST("x", 1, 1, d, -1.0) && sf_list_memory(rule, listing)
           && sf_list_learner(rule, listing);
}

/* How many numbers a proposer notes. */
static inline int sf_notes(const sf_rule *rule)
{
    const int notes[] = {[SF_PROPOSALS] = 0,
                         [SF_LEADER] = SF_LEADER_NOTES,
                         [SF_DESCENT] = SF_DESCENT_NOTES,
                         [SF_AVERAGING] = SF_AVERAGING_NOTES,
                         [SF_PROBING] = SF_LEADER_NOTES};
    return notes[rule->proposer];
}

static inline int sf_list_note(const sf_rule *rule, sf_listing *listing)
{
    listing->group = "note.";
    switch (rule->proposer) {
    case SF_LEADER:
    case SF_PROBING:
        return 1 SF_NOTE_OF_LEADER(SF_LIST_NUMBER);
    case SF_DESCENT:
        return 1 SF_NOTE_OF_DESCENT(SF_LIST_NUMBER);
    case SF_AVERAGING:
        return 1 SF_NOTE_OF_AVERAGING(SF_LIST_NUMBER);
    default:
        return 1;
    }
}

/* What of a step is an array, and how long; in the order of sf_write_info. */
#define SF_ARRAYS_OF_INFO(ARRAY)                                                                   \
    ARRAY(lags, "lags", 1, 1, n)                                                                   \
    ARRAY(wanted, "wanted", 1, 1, d)                                                               \
    ARRAY(found, "found", 1, 1, d)                                                                 \
    ARRAY(weights, "weights", 1, 1, m)                                                             \
    ARRAY(kept, "kept", 1, 1, d)

static inline int sf_lags(const sf_rule *rule)
{
    return sf_leads(rule) ? sf_leaders(rule) : 0;
}

/* List what sf_write_info writes. */
static inline int sf_list_info(const sf_rule *rule, sf_listing *listing)
{
    const int d = rule->d, m = rule->rows, n = sf_lags(rule);
    listing->group = "";
    const int good = 1 SF_NUMBERS_OF_INFO(SF_LIST_INFO) && sf_list_note(rule, listing);
    listing->group = "";
    return good SF_ARRAYS_OF_INFO(SF_LIST_ARRAY);
}

/* How many doubles that are. */
static inline size_t sf_info_size(const sf_rule *rule)
{
    const size_t d = (size_t)rule->d, m = (size_t)rule->rows, n = (size_t)sf_lags(rule);
    const size_t numbers = 0 SF_NUMBERS_OF_INFO(SF_ONE_MORE);
    return numbers + (size_t)sf_notes(rule) SF_ARRAYS_OF_INFO(SF_SIZE);
}

/* Write what a step knew: 0 for an array that it does not have. */
static inline void sf_write_info(const sf_rule *rule, const sf_info *info, double *next)
{
    const int d = rule->d, m = rule->rows, n = sf_lags(rule);
    const double *lags = info->lags, *wanted = info->wanted, *weights = info->weights;
    const double *found = info->found ? info->found : wanted, *kept = info->kept;
    SF_NUMBERS_OF_INFO(SF_WRITE_INFO)
    for (int i = 0; i < sf_notes(rule); i++) {
        *next++ = info->note[i];
    }
#define SF_WRITE_ARRAY(array, name, axes, rows, columns)                                           \
    for (int i = 0; i < (rows) * (columns); i++) {                                                 \
        *next++ = array ? array[i] : 0.0;                                                          \
    }
    SF_ARRAYS_OF_INFO(SF_WRITE_ARRAY)
}

#endif
