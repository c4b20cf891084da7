"""Types of arrays by their number format; docstrings have the shapes."""

import numpy as np
from numpy.typing import NDArray

Int8Array = NDArray[np.int8]
Int16Array = NDArray[np.int16]
Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
