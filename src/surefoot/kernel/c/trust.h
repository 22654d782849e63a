/* How far each of several is trusted, by what each would have cost: surefoot.proposers.trust. */

typedef struct {
    int n;
    double *weights, *logs, *squares, *rates; /* one for each */
    double *largest; /* the largest saving so far */
} sf_trust;

#define SF_ARRAYS_OF_TRUST(ARRAY)                                                                  \
    ARRAY(trust.weights, "trust.weights", 1, 1, n)                                                 \
    ARRAY(trust.logs, "trust.logs", 1, 1, n)                                                       \
    ARRAY(trust.squares, "trust.squares", 1, 1, n)                                                 \
    ARRAY(trust.rates, "trust.rates", 1, 1, n)

/* How far one is trusted before the first round. */
static inline double sf_prior(const sf_trust *trust, int k)
{
    const double weights[SF_LEADERS] = SF_INITIAL_WEIGHTS;
    return trust->n == 1 ? 1.0 : weights[k];
}

/* Trust all of a block of zeros as far as before the first round. */
static inline void sf_init_trust(const sf_trust *trust)
{
    for (int k = 0; k < trust->n; k++) {
        trust->weights[k] = sf_prior(trust, k);
        trust->rates[k] = HUGE_VAL;
    }
}

/* ln(1 + x) for |x| <= 1/2, by a series, so that every machine has the same bits. */
static inline double sf_log1p(double x)
{
    static const double shares[] = {1.0 / 37, 1.0 / 35, 1.0 / 33, 1.0 / 31, 1.0 / 29, 1.0 / 27,
                                    1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15,
                                    1.0 / 13, 1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,
                                    1.0};
    const double s = x / (2.0 + x), square = s * s;
    double sum = 0.0;
    for (int k = 0; k < 19; k++) {
        sum = shares[k] + square * sum;
    }
    return 2.0 * s * sum;
}

/* ln x for 0 < x <= 1, likewise; -inf below, where no state of the text's own leads. */
static inline double sf_log(double x)
{
    int doubled = 0;
    if (!(x > 0.0)) {
        return -HUGE_VAL;
    }
    for (; x < 0.75; doubled++) {
        x = 2.0 * x;
    }
    return sf_log1p(x - 1.0) - doubled * 0.6931471805599453;
}

/* e^x for x <= 0, likewise. */
static inline double sf_exp(double x)
{
    int halved = 0;
    double sum = 1.0;
    if (!(x > -700.0)) {
        return 0.0;
    }
    for (; x < -0.0625; halved++) {
        x = 0.5 * x;
    }
    for (int k = 9; k > 0; k--) {
        sum = 1.0 + x * sum / k;
    }
    for (; halved > 0; halved--) {
        sum = sum * sum;
    }
    return sum;
}

static inline void sf_reweigh(const sf_trust *trust, const double *losses, double t)
{
    const double logs[SF_LEADERS] = SF_INITIAL_LOGS;
    double saved[SF_LEADERS], mean = 0.0, worst = 0.0, largest = *trust->largest;
    double highest = -HUGE_VAL, sum = 0.0;
    for (int k = 0; k < trust->n; k++) {
        const double part = trust->weights[k] * losses[k];
        mean += part;
        worst = sf_max(worst, fabs(losses[k]));
    }
    for (int k = 0; k < trust->n; k++) {
        saved[k] = mean - losses[k];
        saved[k] = fabs(saved[k]) > SF_EQUAL * worst ? saved[k] : 0.0;
        largest = sf_max(largest, fabs(saved[k]));
    }
    if (!(largest > SF_LEAST_SAVING && largest < SF_MOST_SAVING)) { /* its square is no double */
        return;
    }
    *trust->largest = largest;
    for (int k = 0; k < trust->n; k++) {
        const double old = trust->rates[k];
        const double rate = sf_min(old, 0.5 / largest);
        const double log = trust->logs[k] * (old < HUGE_VAL ? rate / old : 1.0);
        trust->squares[k] += saved[k] * saved[k];
        const double most = largest * largest + trust->squares[k];
        trust->rates[k] = sf_min(rate, sqrt((1.0 + logs[k]) / most));
        trust->logs[k] = (log + sf_log1p(rate * saved[k])) * (trust->rates[k] / rate);
        highest = sf_max(highest, trust->logs[k]);
    }
    for (int k = 0; k < trust->n; k++) {
        const double weight = sf_prior(trust, k) * trust->rates[k];
        trust->weights[k] = weight * sf_exp(trust->logs[k] - highest);
        sum += trust->weights[k];
    }
    /* None is trusted less than this share of what it was at first: there it begins anew. */
    const double least = 1.0 / (t + 1.0), total = sum, rate = 0.5 / largest;
    double begin = 0.0;
    int some = 0;
    sum = 0.0;
    for (int k = 0; k < trust->n; k++) {
        const double lowest = sf_prior(trust, k) * least;
        trust->weights[k] = trust->weights[k] / total;
        if (trust->weights[k] < (1.0 - SF_EQUAL) * lowest) {
            begin = some ? begin : highest + sf_log(total / (rate * (t + 1.0)));
            some = 1;
            trust->weights[k] = lowest;
            trust->squares[k] = 0.0;
            trust->rates[k] = rate;
            trust->logs[k] = begin;
        }
        sum += trust->weights[k];
    }
    for (int k = 0; some && k < trust->n; k++) {
        trust->weights[k] = trust->weights[k] / sum;
    }
}
