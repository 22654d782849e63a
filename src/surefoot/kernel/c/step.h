/* A proposer that learns and knowledge that certifies: surefoot.certified. */

static inline size_t sf_memory_size(const sf_rule *rule)
{
    const int d = SF_DIM(rule);
    if (rule->knowledge >= SF_CURVATURE) {
        return sf_curved_memory(d, rule->rows);
    }
    return rule->knowledge == SF_HULL ? sf_hull_memory(d) : sf_length_memory(d);
}

/* The part of a state that is saved before a step: all but the normals of the cuts. */
static inline size_t sf_head_size(const sf_rule *rule)
{
    const int d = SF_DIM(rule);
    size_t learner = 0;
    if (sf_leads(rule)) {
        learner = sf_probing_head(rule) + sf_leader_head(rule);
    } else if (rule->proposer == SF_DESCENT) {
        learner = SF_DESCENT_NUMBERS;
    } else if (rule->proposer == SF_AVERAGING) {
        learner = sf_averaging_learner(rule);
    }
    return d + sf_memory_size(rule) + learner;
}

/* Whether a rule is in this text. */
static inline int sf_is_here(const sf_rule *rule)
{
    const int d = SF_DIM(rule), learns = sf_leads(rule), kind = rule->knowledge;
    const int curved = kind == SF_CURVATURE || kind == SF_ROWS;
    const int some = rule->domain != SF_ANYWHERE, box = rule->domain == SF_BOX;
    if (d < 1 || d != rule->d || rule->rows < 1 || (kind != SF_ROWS && rule->rows > 1)
        || rule->proposer < SF_PROPOSALS || rule->proposer > SF_PROBING
        || (box && !(rule->lower && rule->upper)) || (curved && !rule->beta)) {
        return 0;
    }
    if (learns && (kind != SF_HULL || !some || rule->cuts < 2 || SF_CUTS(rule) != rule->cuts)) {
        return 0;
    }
    if (rule->proposer == SF_PROBING && rule->slope_error != HUGE_VAL) {
        return 0; /* slopes are guesses */
    }
    const int averages = rule->proposer == SF_AVERAGING;
    if (averages && !(curved && (rule->points == 1 || rule->points == SF_LEADERS))) {
        return 0;
    }
    if (kind == SF_ROWS) { /* sizes are counted as int */
        const double bounds = rule->rows + (box ? 2.0 * d : 1.0);
        return rule->slope_error < HUGE_VAL && bounds * d <= 0x1p28;
    }
    return kind == SF_HULL || (kind == SF_LENGTH && some)
           || (curved && !box && rule->slope_error == 0.0);
}

static inline size_t sf_state_size(const sf_rule *rule)
{
    if (!sf_is_here(rule)) {
        return 0;
    }
    return sf_head_size(rule) + (sf_leads(rule) ? sf_leader_normals(rule) : 0);
}

static inline size_t sf_scratch_size(const sf_rule *rule)
{
    const size_t cuts = sf_leads(rule) ? SF_CUTS(rule) : 0;
    const size_t vectors = 80 * (size_t)SF_DIM(rule) + 24 * cuts + 24 * (size_t)rule->rows;
    if (!sf_is_here(rule)) {
        return 0;
    }
    return sf_head_size(rule) + vectors + (rule->knowledge == SF_ROWS ? sf_rows_scratch(rule) : 0);
}

static inline int sf_init(const sf_rule *rule, double *state, const double *x1)
{
    const int d = SF_DIM(rule);
    if (!sf_is_here(rule)) {
        return SF_ELSEWHERE;
    }
    if (!sf_all_finite(x1, d)) {
        return SF_NOT_FINITE;
    }
    if (!sf_in_domain(rule, x1)) {
        return SF_START;
    }
    double *memory = state + d, *learner = memory + sf_memory_size(rule);
    sf_copy(state, x1, d);
    if (rule->knowledge == SF_HULL) {
        sf_init_hull(rule, memory, x1);
    } else if (rule->knowledge == SF_LENGTH) {
        sf_init_length(rule, memory, x1);
    } else {
        sf_init_curved(rule, memory, x1);
    }
    if (rule->proposer == SF_PROBING) {
        sf_init_probing(rule, learner, x1);
    }
    if (sf_leads(rule)) {
        sf_init_leader(rule, learner + sf_probing_head(rule), x1);
    } else if (rule->proposer == SF_DESCENT) {
        sf_fill(learner, 0.0, SF_DESCENT_NUMBERS);
    } else if (rule->proposer == SF_AVERAGING) {
        sf_init_averaging(rule, learner, x1);
    }
    return SF_OK;
}

/* Whether the constants hold at an action; what is read elsewhere is not used. */
static inline int sf_holds(const sf_rule *rule, const double *x)
{
    if (rule->domain == SF_ANYWHERE && rule->knowledge == SF_HULL) {
        return sf_norm(x, SF_DIM(rule)) <= rule->reach * (1 + SF_EXCESS);
    }
    return rule->knowledge >= SF_CURVATURE || sf_in_domain(rule, x);
}

/* The certified point nearest to w. */
static inline int sf_nearest(const sf_region *region, double *out, const double *w, sf_work work)
{
    if (region->rule->knowledge >= SF_CURVATURE) {
        return sf_nearest_curved(region, out, w, work);
    }
    return region->rule->knowledge == SF_HULL ? sf_nearest_hull(region, out, w, work)
                                              : sf_nearest_length(region, out, w, work);
}

/* Where the proposer would like to be; wanted: before the region was asked. */
static inline int sf_propose(const sf_region *region, double *learner, const double *x,
                             const sf_feedback *seen, sf_found *found, double *wanted,
                             sf_undo *undo, sf_info *info, sf_work *work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    if (rule->proposer == SF_LEADER) {
        return sf_propose_leader(region, learner, x, seen, found->point, wanted, undo, info,
                                 *work);
    }
    if (rule->proposer == SF_PROBING) {
        return sf_propose_probing(region, learner, x, seen, found->point, wanted, undo, info,
                                  *work);
    }
    if (rule->proposer == SF_DESCENT && seen->gradient) {
        return sf_propose_descent(region, learner, x, seen, found, wanted, info, *work);
    }
    if (rule->proposer == SF_AVERAGING) {
        return sf_propose_averaging(region, learner, seen, found->point, wanted, found, info,
                                    work);
    }
    const double *told = rule->proposer == SF_PROPOSALS ? seen->proposal : NULL;
    sf_copy(wanted, told ? told : x, d);
    if (told && rule->as_steps) {
        return sf_cut(region, found, wanted, *work);
    }
    sf_copy(found->point, wanted, d);
    return SF_OK;
}

/* The round in place; where it is refused the state is not what it was. */
static inline int sf_play(const sf_rule *rule, double *state, const sf_feedback *seen,
                          const double *before, sf_undo *undo, sf_info *info, sf_work work)
{
    const int d = SF_DIM(rule), m = rule->rows, kind = rule->knowledge;
    double *memory = state + d, *learner = memory + sf_memory_size(rule);
    const double *old = before + d, age = seen->age;
    const sf_errors errors = sf_errors_of(rule, seen);
    double *x = sf_take(&work, d), *wanted = sf_take(&work, d);
    double *wish = sf_take(&work, d), *weights = sf_take(&work, m);
    sf_found found = {wish, weights, 0.0};
    sf_fill(weights, 0.0, m);
    sf_copy(x, seen->action ? seen->action : state, d);
    int status = SF_OK, holds = 1;
    if (!seen->g) {
        if (memory[0] == 0.0) { /* nothing is certified but the start, which stays */
            sf_copy(wanted, state, d);
            info->wanted = wanted;
            info->bound = HUGE_VAL;
            return SF_OK;
        }
        memory[0] += 1.0;
    } else if (!(holds = sf_holds(rule, x))) {
        status = memory[0] == 0.0 ? SF_START : SF_OK;
        memory[0] += 1.0;
    } else if (kind == SF_HULL) {
        status = sf_observe_hull(rule, memory, x, *seen->g, errors, age, work);
    } else if (kind == SF_LENGTH) {
        status = sf_observe_length(rule, memory, x, *seen->g, seen->s, errors, age);
    } else {
        status = sf_observe_curved(rule, memory, old, x, seen->g, seen->s, errors, age, work);
    }
    if (status != SF_OK) {
        return status;
    }
    if (kind >= SF_CURVATURE && seen->g) {
        const double *after = holds ? memory : old;
        info->alarms = sf_curved_alarms(rule, old, after, x, seen->g, errors, age, work);
        if (holds && old[0] > 0.0) {
            sf_keep_inside(rule, memory, old);
        }
    }
    sf_region region;
    sf_balls balls;
    region.rule = rule;
    region.memory = memory;
    region.errors = errors;
    region.round = memory[0];
    if (kind == SF_HULL) {
        sf_find_hull(&region, &balls, &work);
    } else if (kind == SF_LENGTH) {
        status = sf_find_length(&region, &work);
    } else {
        sf_find_curved(&region, memory[0] + 1.0, &work);
    }
    info->round = region.round;
    info->wanted = wanted;
    info->found = wish;
    info->weights = weights;
    if (status == SF_OK) {
        status = sf_propose(&region, learner, x, seen, &found, wanted, undo, info, &work);
    }
    if (status == SF_OK) {
        status = sf_nearest(&region, state, wish, work); /* safety is this line */
    }
    if (status != SF_OK) {
        return status;
    }
    info->cut = sf_differ(state, wanted, d);
    info->projection_error = found.drawn;
    const double *g = seen->g, *s = seen->s, *after = holds ? memory : old;
    if (kind == SF_HULL) {
        sf_certify_hull(&region, state, info, work);
        info->alarms = g ? sf_hull_alarms(rule, old, x, *g, s, errors, age, work) : 0;
    } else if (kind == SF_LENGTH) {
        sf_certify_length(&region, state, info);
        info->moved = sf_moved_length(&region, wanted, state);
        info->alarms = g ? sf_length_alarms(rule, old, after, x, *g, s, errors, age) : 0;
    } else {
        sf_certify_curved(&region, state, info, work);
    }
    return sf_all_finite(state, d) ? SF_OK : SF_RANGE;
}

/* Whether the counts of a state fit, its action and all that was told are finite, and enough. */
static inline int sf_check(const sf_rule *rule, const double *state, const sf_feedback *seen)
{
    const int d = SF_DIM(rule);
    const int m = rule->rows;
    const double *learner = state + d + sf_memory_size(rule);
    const int probes = rule->proposer == SF_PROBING;
    if ((sf_leads(rule) && !sf_leader_fits(rule, learner + sf_probing_head(rule)))
        || (probes && !sf_probing_fits(rule, learner))) {
        return SF_NO_STATE;
    }
    const double *parts[] = {state, seen->gradient, seen->proposal, seen->action, seen->s, seen->g,
                             seen->value_error, seen->slope_error, &seen->age};
    const int sizes[] = {d, d, d, d, m * d, m, 1, 1, 1};
    for (int i = 0; i < 9; i++) {
        if (parts[i] && !sf_all_finite(parts[i], sizes[i])) {
            return SF_NOT_FINITE;
        }
    }
    const int negative = (seen->value_error && !(*seen->value_error >= 0))
                         || (seen->slope_error && !(*seen->slope_error >= 0)) || !(seen->age >= 0);
    if (negative) {
        return SF_RANGE;
    }
    if ((seen->g && !seen->s && rule->knowledge != SF_HULL)
        || (rule->knowledge == SF_CURVATURE && seen->slope_error && *seen->slope_error > 0)
        || (probes && (seen->s || seen->slope_error))) {
        return SF_ELSEWHERE;
    }
    return SF_OK;
}

static inline int sf_step(const sf_rule *rule, double *state, const sf_feedback *seen,
                          double *scratch, sf_info *info)
{
    if (!sf_is_here(rule)) {
        return SF_ELSEWHERE;
    }
    int status = sf_check(rule, state, seen);
    if (status != SF_OK) {
        return status;
    }
    const int d = SF_DIM(rule), head = (int)sf_head_size(rule);
    sf_work work = {scratch};
    sf_undo undo;
    double *saved = sf_take(&work, head);
    undo.count = 0;
    undo.rows = sf_take(&work, sf_leads(rule) ? 2 * d : 0);
    sf_copy(saved, state, head);
    sf_info known;
    memset(&known, 0, sizeof known);
    status = sf_play(rule, state, seen, saved, &undo, &known, work);
    if (status != SF_OK) {
        sf_copy(state, saved, head);
        for (int i = 0; i < undo.count; i++) {
            double *normals = state + head + (size_t)undo.index[i] * d;
            sf_copy(normals, undo.rows + i * d, d);
        }
    } else if (info) {
        *info = known;
    }
    return status;
}
