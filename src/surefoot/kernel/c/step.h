/* A proposer that learns and knowledge that certifies: surefoot.algorithms.certified. */

static inline size_t sf_memory_size(const sf_rule *rule)
{
    const int d = SF_DIM(rule);
    return rule->knowledge == SF_HULL ? sf_hull_memory(d) : sf_length_memory(d);
}

/* The part of a state that is saved before a step: all but the normals of the cuts. */
static inline size_t sf_head_size(const sf_rule *rule)
{
    const int d = SF_DIM(rule);
    size_t learner = 0;
    if (rule->proposer == SF_LEADER) {
        learner = sf_leader_head(d, SF_CUTS(rule));
    } else if (rule->proposer == SF_DESCENT) {
        learner = SF_DESCENT_NUMBERS;
    }
    return d + sf_memory_size(rule) + learner;
}

/* Whether a rule is in this text. */
static inline int sf_is_here(const sf_rule *rule)
{
    const int d = SF_DIM(rule), learns = rule->proposer == SF_LEADER;
    const int sizes = d > 0 && d == rule->d && rule->rows > 0
                      && (!learns || (rule->cuts >= 2 && SF_CUTS(rule) == rule->cuts));
    const int known = rule->knowledge == SF_HULL ? !learns || rule->domain != SF_ANYWHERE
                                                 : rule->domain != SF_ANYWHERE && !learns;
    return sizes && known && rule->knowledge <= SF_LENGTH && rule->rows == 1;
}

static inline size_t sf_state_size(const sf_rule *rule)
{
    if (!sf_is_here(rule)) {
        return 0;
    }
    const size_t normals = (size_t)SF_CUTS(rule) * SF_DIM(rule);
    return sf_head_size(rule) + (rule->proposer == SF_LEADER ? normals : 0);
}

static inline size_t sf_scratch_size(const sf_rule *rule)
{
    const size_t cuts = rule->proposer == SF_LEADER ? SF_CUTS(rule) : 0;
    return sf_is_here(rule) ? sf_head_size(rule) + 24 * (size_t)SF_DIM(rule) + 8 * cuts : 0;
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
    } else {
        sf_init_length(rule, memory, x1);
    }
    if (rule->proposer == SF_LEADER) {
        sf_init_leader(rule, learner, x1);
    } else if (rule->proposer == SF_DESCENT) {
        sf_fill(learner, 0.0, SF_DESCENT_NUMBERS);
    }
    return SF_OK;
}

/* Whether the constants hold at an action; what is read elsewhere is not used. */
static inline int sf_holds(const sf_rule *rule, const double *x)
{
    if (rule->domain == SF_ANYWHERE && rule->knowledge == SF_HULL) {
        return sf_norm(x, SF_DIM(rule)) <= rule->reach * (1 + 1e-12);
    }
    return sf_in_domain(rule, x);
}

/* Where a step to w is cut off. */
static inline int sf_cut(const sf_region *region, double *out, const double *w, sf_info *info,
                         sf_work work)
{
    (void)info;
    return region->rule->knowledge == SF_HULL ? sf_nearest_hull(region, out, w, work)
                                              : sf_cut_length(region, out, w, work);
}

/* The certified point nearest to w. */
static inline int sf_nearest(const sf_region *region, double *out, const double *w, sf_work work)
{
    return region->rule->knowledge == SF_HULL ? sf_nearest_hull(region, out, w, work)
                                              : sf_nearest_length(region, out, w, work);
}

/* Where the proposer would like to be; wanted: before the region was asked. */
static inline int sf_propose(const sf_region *region, double *learner, const double *x,
                             const sf_feedback *seen, double *wish, double *wanted, sf_undo *undo,
                             sf_info *info, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    if (rule->proposer == SF_LEADER) {
        return sf_propose_leader(region, learner, x, seen, wish, wanted, undo, info, work);
    }
    if (rule->proposer == SF_DESCENT && seen->gradient) {
        return sf_propose_descent(region, learner, x, seen, wish, wanted, info, work);
    }
    const double *told = rule->proposer == SF_PROPOSALS ? seen->proposal : NULL;
    sf_copy(wanted, told ? told : x, d);
    if (told && rule->as_steps) {
        return sf_cut(region, wish, wanted, info, work);
    }
    sf_copy(wish, wanted, d);
    return SF_OK;
}

/* The round in place; where it is refused the state is not what it was. */
static inline int sf_play(const sf_rule *rule, double *state, const sf_feedback *seen,
                          const double *before, sf_undo *undo, sf_info *info, sf_work work)
{
    const int d = SF_DIM(rule), is_hull = rule->knowledge == SF_HULL;
    double *memory = state + d, *learner = memory + sf_memory_size(rule);
    const double *old = before + d, age = seen->age;
    const sf_errors errors = sf_errors_of(rule, seen);
    double *x = sf_take(&work, d), *wish = sf_take(&work, d), *wanted = sf_take(&work, d);
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
    } else if (is_hull) {
        status = sf_observe_hull(rule, memory, x, *seen->g, errors, age, work);
    } else {
        status = sf_observe_length(rule, memory, x, *seen->g, seen->s, errors, age);
    }
    if (status != SF_OK) {
        return status;
    }
    sf_region region;
    region.rule = rule;
    region.memory = memory;
    region.errors = errors;
    region.round = memory[0];
    if (is_hull) {
        sf_find_hull(&region);
    } else {
        status = sf_find_length(&region, &work);
    }
    info->round = region.round;
    info->wanted = wanted;
    info->found = wish;
    if (status == SF_OK) {
        status = sf_propose(&region, learner, x, seen, wish, wanted, undo, info, work);
    }
    if (status == SF_OK) {
        status = sf_nearest(&region, state, wish, work); /* safety is this line */
    }
    if (status != SF_OK) {
        return status;
    }
    info->cut = sf_differ(state, wanted, d);
    if (is_hull) {
        sf_certify_hull(&region, state, info, work);
    } else {
        sf_certify_length(&region, state, info);
    }
    if (seen->g && is_hull) {
        info->alarms = sf_hull_alarms(rule, old, x, *seen->g, seen->s, errors, age, work);
    } else if (seen->g) {
        const double *after = holds ? memory : old;
        info->alarms = sf_length_alarms(rule, old, after, x, *seen->g, seen->s, errors, age);
    }
    return sf_all_finite(state, d) ? SF_OK : SF_RANGE;
}

/* Whether all that was told is finite, and enough. */
static inline int sf_check(const sf_rule *rule, const sf_feedback *seen)
{
    const int d = SF_DIM(rule);
    const double *vectors[] = {seen->gradient, seen->s, seen->proposal, seen->action};
    for (int i = 0; i < 4; i++) {
        if (vectors[i] && !sf_all_finite(vectors[i], d)) {
            return SF_NOT_FINITE;
        }
    }
    const double *numbers[] = {seen->g, seen->value_error, seen->slope_error, &seen->age};
    for (int i = 0; i < 4; i++) {
        if (numbers[i] && !sf_all_finite(numbers[i], 1)) {
            return SF_NOT_FINITE;
        }
    }
    const int negative = (seen->value_error && !(*seen->value_error >= 0))
                         || (seen->slope_error && !(*seen->slope_error >= 0)) || !(seen->age >= 0);
    if (negative) {
        return SF_RANGE;
    }
    return seen->g && !seen->s && rule->knowledge != SF_HULL ? SF_ELSEWHERE : SF_OK;
}

static inline int sf_step(const sf_rule *rule, double *state, const sf_feedback *seen,
                          double *scratch, sf_info *info)
{
    if (!sf_is_here(rule)) {
        return SF_ELSEWHERE;
    }
    int status = sf_check(rule, seen);
    if (status != SF_OK) {
        return status;
    }
    const int d = SF_DIM(rule), head = (int)sf_head_size(rule);
    sf_work work = {scratch};
    sf_undo undo;
    double *saved = sf_take(&work, head);
    undo.count = 0;
    undo.rows = sf_take(&work, rule->proposer == SF_LEADER ? 2 * d : 0);
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
