/* What a block of doubles has: tables beside what they describe, each the only text of its order.
 *
 * A table is a macro that is given others, one for each kind of entry:
 *
 *     NUMBER(index, "name")        a number; the indices of a table count its entries from 0
 *     COUNT(index, "name", most)   likewise, of rows that are in use: a whole number from 0 to most
 *     ARRAY(member, "name", axes, rows, columns)
 *
 * From a table come the indices, the size of a block, the pointers into it, and the layout that
 * Python packs and unpacks states by (listing.h). An array has rows times columns numbers, and the
 * last `axes` of these two are its shape. A name is that of an attribute of the Python state, and a
 * dotted one a path of attributes. The first number of every memory counts the rounds. */

#define SF_INDEX(index, ...) index,
#define SF_MEMBER(type, name) type name;
#define SF_SIZE(member, name, axes, rows, columns) +(size_t)(rows) * (size_t)(columns)
/* One array after the other, in a function that has the parts and where the next of them begins. */
#define SF_PLACE(member, name, axes, rows, columns)                                                \
    parts->member = next;                                                                          \
    next += (size_t)(rows) * (size_t)(columns);

/* Whether a count in a block is a whole number from 0 to a limit; a NaN is none. */
static inline int sf_counts(double count, double most)
{
    return count >= 0.0 && count <= most && count == (int)count;
}
#define SF_FITS_NUMBER(index, name)
#define SF_FITS_COUNT(index, name, most) &&sf_counts(block[index], most)
