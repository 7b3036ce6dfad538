import math, torch, torch.nn as nn, torch.nn.functional as F, torch.optim as optim, numpy as np
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter

torch.manual_seed(0)
np.random.seed(0)


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.spmm(adj, support)
        return output + self.bias if self.bias is not None else output

    def __repr__(self):
        return self.__class__.__name__ + " (" + str(self.in_features) + " -> " + str(self.out_features) + ")"


def coo_to_torch(rows, cols, vals, shape):
    indices = torch.from_numpy(np.vstack((rows, cols)).astype(np.int64))
    values = torch.from_numpy(vals.astype(np.float32))
    return torch.sparse.FloatTensor(indices, values, torch.Size(shape))


n = 10
r, c = np.random.randint(0, n, 30), np.random.randint(0, n, 30)
adj = coo_to_torch(r, c, np.random.rand(30), (n, n))
print(adj.shape, adj.is_sparse, adj.dtype, adj._nnz(), adj.layout, adj.coalesce()._nnz(), adj.is_coalesced())
gc1, gc2 = GraphConvolution(5, 8), GraphConvolution(8, 3)
print(gc1, gc2)
x = torch.rand(n, 5)
y = torch.randint(0, 3, (n,))
opt = optim.Adam([*gc1.parameters(), *gc2.parameters()], lr=0.05)
for e in range(5):
    opt.zero_grad()
    o = F.log_softmax(gc2(F.dropout(F.relu(gc1(x, adj)), 0.5), adj), 1)
    l = F.nll_loss(o, y)
    l.backward()
    opt.step()
    print("Epoch: {:04d}".format(e + 1), "loss_train: {:.4f}".format(l.item()))
i = torch.tensor([[0, 1, 1], [2, 0, 2]])
v = torch.tensor([3.0, 4.0, 5.0])
s = torch.sparse_coo_tensor(i, v, (2, 3))
print(s)
print(s.to_dense())
d = torch.arange(6.0).view(3, 2)
print(torch.sparse.mm(s, d), s @ d, torch.mm(s, d), s.matmul(d), s.mm(d))
print(s.coalesce().indices(), s.coalesce().values(), s.t().to_dense(), s.size(), s.sparse_dim(), s.dense_dim())
print((s * 2).to_dense(), (s + s).to_dense(), torch.sparse.sum(s), torch.sparse.sum(s, dim=1).to_dense())
w = v.clone().requires_grad_()
t = torch.sparse_coo_tensor(i, w, (2, 3))
(torch.sparse.mm(t, d) ** 2).sum().backward()
print(w.grad)
dd = d.clone().requires_grad_()
torch.sparse.mm(s, dd).pow(2).sum().backward()
print(dd.grad)
print(torch.eye(3).to_sparse())
print(d.to_sparse().values(), torch.sparse.softmax(s, dim=1).to_dense())


class SpecialSpmmFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, indices, values, shape, b):
        assert indices.requires_grad == False
        a = torch.sparse_coo_tensor(indices, values, shape)
        ctx.save_for_backward(a, b)
        ctx.N = shape[0]
        return torch.matmul(a, b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_values = grad_b = None
        if ctx.needs_input_grad[1]:
            grad_a_dense = grad_output.matmul(b.t())
            edge_idx = a._indices()[0, :] * ctx.N + a._indices()[1, :]
            grad_values = grad_a_dense.view(-1)[edge_idx]
        if ctx.needs_input_grad[3]:
            grad_b = a.t().matmul(grad_output)
        return None, grad_values, None, grad_b


ii = torch.tensor([[0, 1, 2], [1, 2, 0]])
vv = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = torch.ones(3, 2, requires_grad=True)
SpecialSpmmFunction.apply(ii, vv, torch.Size([3, 3]), b).sum().backward()
print(vv.grad, b.grad)
