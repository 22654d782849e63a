LISTS = {"family": "FAMILIES", "typical": "TYPICAL"}


def pytest_generate_tests(metafunc):
    """Run the laws for the families that a module lists, and its typical ones on every backend."""
    marked = {mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")}
    for name in LISTS.keys() & set(metafunc.fixturenames) - marked:
        listed = getattr(metafunc.module, LISTS[name])
        metafunc.parametrize(name, listed, ids=lambda made: made.__name__)
