"""A walk through the backward graph: leaves, grad_fn, next_functions, saved tensors, hooks, and the picture of it all.

python examples/walk_the_graph.py            writes graph.svg
"""

import argparse

import penlight as torch


def walk(node, number=0, depth=0):
    """Print a node and, below it, where its gradients go."""
    saved = [name.removeprefix("_saved_") for name in dir(node) if name.startswith("_saved_")]
    note = f", keeps {', '.join(saved)}" if saved else ""
    print(f"{'    ' * depth}{node.name()} (output {number}{note})")
    for following, place in node.next_functions:
        if following is None:
            print(f"{'    ' * (depth + 1)}nothing: this input does not require grad")
        else:
            walk(following, place, depth + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="graph.svg")
    args = parser.parse_args()

    print("1. A product of a leaf that requires grad and one that does not.\n")
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0)
    c = a * b
    print(f"c = {c}\nleaves: a {a.is_leaf}, b {b.is_leaf}, c {c.is_leaf}")
    walk(c.grad_fn)
    c.backward()
    print(f"a.grad = {a.grad}, which is b; b.grad = {b.grad}\n")

    print("2. unbind has several outputs, and the graph says which one a gradient belongs to.\n")
    a = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    x, y, z = a.unbind()
    e = x * y * z
    walk(e.grad_fn)

    print("\n3. The backward pass by hand: call each node, pass on what it returns.\n")
    through_product, to_z = e.grad_fn(torch.tensor(1.0))
    to_x, to_y = e.grad_fn.next_functions[0][0](through_product)
    print(f"de/dx = {to_x}, de/dy = {to_y}, de/dz = {to_z}")
    e.backward()
    print(f"and by the engine: {a.grad}")

    print("\n4. y = (x + w)(w + 1): two ways lead to w, and their gradients add up. Hooks see them pass.\n")
    w, x = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    s, t = torch.add(w, x), torch.add(w, 1)
    y = torch.mul(s, t)
    for name, tensor in (("y", y), ("x + w", s), ("w + 1", t), ("w", w)):
        tensor.register_hook(lambda grad, name=name: print(f"   a gradient arrives at {name}: {grad.item()}"))
    s.retain_grad()
    y.backward()
    print(f"w.grad = {w.grad.item()} = x + 2w + 1; {s.grad.item()} was kept for x + w, as retain_grad() asked")

    print("\n5. What would give wrong gradients is refused.\n")
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    try:
        y.sum().backward()
    except RuntimeError as error:
        print(f"{error}")

    layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    loss = layer(torch.ones(2, 3)).square().mean()
    loss.backward(retain_graph=True)
    torch.inspect.draw(loss, params=dict(layer.named_parameters())).save(args.out)
    print(f"\n6. The graph of a small network is drawn in {args.out}.")


if __name__ == "__main__":
    main()
