"""A class that is written in several files, and is one class to the programs that use it."""

from __future__ import annotations

from types import FunctionType

_OF_THE_PART = {
    "__module__",
    "__qualname__",
    "__doc__",
    "__dict__",
    "__weakref__",
    "__slots__",
    "__annotations__",
    "__annotate_func__",
    "__annotations_cache__",
    "__firstlineno__",
    "__static_attributes__",
}


def take_over(cls: type, *parts: type) -> None:
    """Make the members of these classes `cls`'s own, under its name. So it inherits from none of them.

    >>> class Speaking:
    ...     def speak(self):
    ...         return "woof"
    >>> class Dog: ...
    >>> from penlight._common.one_class import take_over
    >>> take_over(Dog, Speaking)
    >>> Dog().speak(), Dog.speak.__qualname__, Dog.__mro__[1:]
    ('woof', 'Dog.speak', (<class 'object'>,))
    """
    for part in parts:
        for name, value in vars(part).items():
            if name in _OF_THE_PART:
                continue
            for function in (value.fget, value.fset) if isinstance(value, property) else (value,):
                if isinstance(function, FunctionType):
                    function.__qualname__, function.__module__ = f"{cls.__name__}.{name}", cls.__module__
            setattr(cls, name, value)
