"""The compiler: Python functions of scalars and loops over arrays -> one intermediate representation (IR) -> machine
code or NumPy.

Note [The compiler]
A kernel is a Python function over scalars and flat arrays, whose source `python.py` reads; or a function that says what
happens to a row of arrays, which `rows.py` calls once (vectors are `values.py`, their functions `math.py` and `angles.py`); or
a body of NumPy's ufuncs, which `trace.py` calls with stand-ins (`ufuncs.py`). All three build IR (`ir.py`):
typed values in single assignment form, where loops and conditions are nested regions with carried values and no
jumps. `vectorise.py` makes vector loops of innermost ones. `verify.py` checks that the IR is well formed. `bounds.py` derives from every index what sizes the kernel
requires of its arrays. `interpret.py` runs the IR in NumPy: that is what a kernel means, and the fallback where no
machine code runs. `allocate.py` gives each value a register or a stack slot; a test proves of every kernel that no
value is overwritten while it is needed. `selection.py` decides which ops have code of their own, `x86.py` writes it; `llvm.py` writes the kernel in LLVM's words instead,
for other machines, and `llvm_engine.py` has LLVM compile that and keeps the result on disk. `load.py` makes a function of it, whose signature
has the requirements: `kernels/call.py` is the only way into machine code, and checks arrays against it before anything
runs. `text.py` prints IR. `loops.py` is what kernels that are written as loops import.

PENLIGHT_DUMP=name prints the IR of the kernel of that name after each pass.
"""
