"""The compiler: Python functions of scalars and loops over arrays -> one intermediate representation (IR) -> machine
code or NumPy.

Note [The compiler]
A kernel is a Python function over scalars and flat arrays, whose source `python.py` reads; or a function that describes the work
on one row of arrays, which `rows.py` calls once (vectors are in `values.py`, their functions in `math.py` and `angles.py`); or a
body of NumPy ufuncs, which `trace.py` calls with placeholders (`ufuncs.py`). All three build IR (`ir.py`): typed values in single
assignment form, where loops and conditions are nested regions with carried values, without jumps. `vectorise.py` turns innermost
loops into vector loops. `verify.py` checks that the IR is well formed. `bounds.py` derives from every index the array sizes that
the kernel requires. `interpret.py` runs the IR in NumPy: it defines the IR's meaning, and is the fallback where no machine code
runs. `allocate.py` gives each value a register or a stack slot; a test proves for every kernel that no value is overwritten while
it is needed. `selection.py` decides which ops have their own code, and `x86.py` emits it. For other machines `llvm.py` emits
LLVM's IR instead, and `llvm_engine.py` has LLVM compile it and caches the result on disk. `load.py` makes a function of the code,
whose signature contains the requirements: `kernels/call.py` is the only entry to machine code, and checks arrays against the
signature before anything runs. `text.py` prints IR. Kernels that are written as loops import `loops.py`.

PENLIGHT_DUMP=name prints the IR of the kernel of that name after each pass.
"""
