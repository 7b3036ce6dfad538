from ._continuous import HalfCauchy as HalfCauchy
