"""Loop over values inside one test: what would be hundreds of items of one assertion is one, and says which failed."""

import functools
import inspect


def each(names, values, ids=repr):
    """
    Return a decorator that runs a test for each of some values in turn, as `pytest.mark.parametrize` names them.

    All of them run, each as a subtest; a failure shows the values that it is about. Fixtures are shared by all.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [row if len(wanted) > 1 else (row,) for row in values]
    assert rows, f"expected values of {names}, got none: the test would assert nothing"

    def decorate(test):
        own = inspect.signature(test).parameters
        takes = [parameter for name, parameter in own.items() if name not in wanted]
        subtests = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        looped = "subtests" in own

        @functools.wraps(test)
        def loop(*, subtests, **fixtures):
            if looped:
                fixtures["subtests"] = subtests
            for row in rows:
                shown = {name: str(ids(value)) for name, value in zip(wanted, row, strict=True)}
                with subtests.test(**shown):
                    test(**fixtures, **dict(zip(wanted, row, strict=True)))

        kept = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in takes if p.name != "subtests"]
        loop.__signature__ = inspect.Signature([*kept, subtests])
        return loop

    return decorate
