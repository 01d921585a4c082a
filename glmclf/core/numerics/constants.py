"""Numbers that several layers share."""

import math
import sys

EPS = sys.float_info.epsilon
LOG_2PI = math.log(2 * math.pi)
