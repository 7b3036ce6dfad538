from ._continuous import StudentT as StudentT
