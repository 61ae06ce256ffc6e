"""Contact problems made by rule or at random, for tests, benchmarks and experiments."""

from ._core import make_box_stack as box_stack
from ._core import make_chain as chain
from ._core import make_cube as cube
from ._core import make_pile as pile
from ._core import make_random as random
from ._core import make_wall as wall

__all__ = ["box_stack", "chain", "cube", "pile", "random", "wall"]
