"""Every public name of the packages that rules are made of, all of it loaded."""

from surefoot import certified, guarantees, knowledge, proposers, rules, sets
from surefoot.core.lazy import public_names

KINDS = public_names(knowledge)
NAMES = {
    **public_names(sets),
    **KINDS,
    **public_names(certified),
    **public_names(proposers),
    **public_names(guarantees),
    **public_names(rules),
}
