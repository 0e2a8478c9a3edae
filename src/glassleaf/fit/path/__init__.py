"""One formula for all rows, and what differs: from the shortest model to the longest.

A node's model is its parent's plus a difference, and most entries of a difference are zero. Which
are not is learned on sums over the rows of the leaves alone: around the models of the leaves, the
loss is a quadratic function of the entries (for squared error, everywhere). Entries come in by how
much they lower it per number that somebody has to read, and go again when others make them needless
(``_kernels.selection``). The same is done without each of a few folds of the rows, whose loss then
says how long a model is worth its numbers.

``offer`` says what a formula may name, ``leaf_sums`` what the rows say of it, ``alone`` what they
say of every column by itself, ``shape`` where it may differ and at which price. ``select`` goes
from the shortest model to the longest, ``on_rows`` looks at these models again with the true loss,
``shorten`` rounds their numbers, and ``learn`` tells the story.
"""
