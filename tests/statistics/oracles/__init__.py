"""
Methods written a second time, from their papers alone, against which calm's own are tested.

Whoever wrote a module here did not look at calm's code for the method, and calm's code does not import from here. Each
module says which paper it follows, section by section, what that paper leaves open, and what was chosen there. Where
the two disagree, read the paper again before you change either. An oracle prefers the plain way to the fast one.
"""
