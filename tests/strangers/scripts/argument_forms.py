"""Many small expressions, in the forms that programs write them in."""

import copy
import math
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.simplefilter("ignore")
i3 = np.int64(3)
KEPT = (copy, math, nn, F)

TESTS = """
torch.zeros(i3)
torch.zeros(np.int64(2), i3).shape
torch.zeros((i3,2)).shape
torch.zeros(torch.tensor(3)).shape
torch.randn(torch.Size([2,2])).shape
torch.zeros([2,3]).shape
torch.zeros(size=(2,)).shape
torch.zeros(2.0)
torch.ones(*x.shape).shape
x.view(np.int64(6)).shape
x.view(-1, np.int32(2)).shape
x.reshape(torch.Size([3,2])).shape
x.reshape(int(6)).shape
x.view(torch.tensor(3), 2).shape
x.sum(axis=0)
x.sum(axis=(0,1), keepdims=True)
x.mean(axis=1, keepdim=True)
x.max(axis=1)
x.argmax(axis=1)
x.std(0, False)
x.std(1, unbiased=False, keepdim=True)
x.var(correction=0)
x.norm(2, 1)
x.norm(p='fro')
x.norm(dim=1, p=1)
x.norm()
torch.norm(x, 2, (0,1))
x.clamp(1)
x.clamp(max=2)
x.clip(1, 3)
x.repeat(2, 1).shape
x.repeat([1,2]).shape
x.expand(4, -1, 3).shape if x[None].shape else 0
x.permute([1,0]).shape
x.permute(1,0).shape
x.transpose(0,-1).shape
x.swapaxes(0,1).shape
x.flip(0)
x.flip([0,1])
x.roll(1)
x.unsqueeze(-1).squeeze().shape
x[np.array([0,1])]
x[np.int64(1)]
x[[0,1],[1,2]]
x[(0,1)]
x[torch.tensor(1)]
x[:, [True,False,True]]
x[:, np.array([True,False,True])]
x[..., None, 0].shape
x[x>2]
x[range(2)]
x[1:, ::2]
x[:, -1:]
x[torch.tensor([0,1]).byte()]
x[slice(0,1)]
x[None, ..., None].shape
x[::-1]
x[5]
x[1.5]
x[0,0,0]
torch.tensor(np.float32(3))
torch.tensor(np.float64(3))
torch.tensor([np.float32(3), 4])
torch.tensor([np.array([1,2]), np.array([3,4])])
torch.tensor([torch.tensor(1.), torch.tensor(2.)])
torch.tensor([x[0], x[1]])
torch.tensor([[1,2],[3]])
torch.tensor('a')
torch.tensor([])
torch.tensor(())
torch.tensor(True)
torch.tensor([1, 2.5, True])
torch.tensor(np.arange(3, dtype=np.int32))
torch.tensor(np.arange(3, dtype=np.uint16))
torch.tensor(range(3))
torch.tensor(1+2j)
torch.Tensor(3).shape
torch.Tensor([3])
torch.Tensor(x[0])
torch.FloatTensor(x.numpy())
torch.LongTensor([1.7, 2])
torch.LongTensor(np.array([1,2]))
torch.FloatTensor([[1,2],[3,4]]).size()
torch.from_numpy(np.array(1.5))
torch.from_numpy([1,2])
torch.as_tensor(np.arange(3))
torch.stack([x,x], -1).shape
torch.cat((x,x), -1).shape
torch.cat([x, x], axis=1).shape
torch.cat([x, torch.zeros(2)])
torch.cat([x, x.long()]).dtype
torch.cat([])
torch.stack([x, x[0]])
torch.max(x, x*2).shape
torch.max(x, 1)
torch.max(x, dim=1, keepdim=True).values.shape
torch.min(x)
torch.add(x, 1, alpha=2)
torch.add(x, x, alpha=.5)
torch.sub(1, x)
torch.pow(2, x)
torch.pow(x, 2).sum()
2 ** x
x ** 2
x // 2
x % 2
-x
abs(-x).sum()
x @ x.T
x @ np.ones(3, dtype=np.float32)
np.float64(2) * x
np.float32(2) + x
x * np.float64(2)
x * np.ones((2,3))
x + np.arange(3)
np.sqrt(x)
np.exp(x).sum()
np.array(x).dtype
np.asarray([x[0,0], x[0,1]])
np.stack([x, x]).shape
np.concatenate([x, x]).shape
np.dot(x, x.T)
np.maximum(x, 2)
np.mean([x[0,1], x[0,2]])
math.sqrt(x[0,2])
math.sqrt(torch.tensor(4))
math.floor(torch.tensor(4.7))
round(x[0,1])
round(torch.tensor(2.567), 2)
int(x[1,2])
float(x[1,2])
bool(x[0,0])
bool(x)
int(x)
len(x)
len(x[0,0])
list(range(torch.tensor(3)))
[0,1,2][torch.tensor(1)]
'%d' % x[1,1]
'%.2f' % x[1,1]
'{:.3f}'.format(x[1,1])
f'{x[1,1]:.2f}'
f'{x[1,1]}'
f'{x[0]}'
f'{x[0]:.2f}'
f'{torch.tensor(3):d}'
f'{torch.tensor(3):5}'
f'{x.shape}'
str(x.shape)
'%s' % x.shape
'%s' % (x.shape,)
'{}'.format(x.dtype)
x.shape + (1,)
(1,) + x.shape
x.shape[:-1] + (5,)
x.shape == (2,3)
x.shape == torch.Size([2,3])
tuple(x.shape)
list(x.size())
x.size()[0]
x.shape.numel()
max(x.shape)
sum(x[0])
max(x[0])
sorted(x[0], reverse=True)
sum([x,x])
sum(p.numel() for p in nn.Linear(2,2).parameters())
x[0] in [x[0]]
1. in x
7 in x
x == x
(x == 1).any()
(x == 1).sum().item()
x is None
x == None
x != None
x.eq(1).all()
(x > 1) & (x < 4)
~(x > 1)
(x > 1) | (x < 0)
not (x > 10).any()
torch.where(x > 2)
torch.where(x > 2, x, 0)
torch.where(x > 2, 1, 0)
torch.where(x > 2, torch.tensor(1.), x)
x.masked_fill(x > 2, float('-inf'))
x.masked_fill((x > 2).byte(), 0)
x.tolist()
x.numpy().shape
x[0].tolist()
x.item()
x.data
x.T.is_contiguous()
x.T.contiguous().stride()
x.T.view(-1)
x.t().reshape(-1)
x.type(torch.LongTensor).dtype
x.type('torch.DoubleTensor').dtype
x.type()
x.type_as(torch.zeros(1).double()).dtype
x.long().float().double().half().dtype
x.bool().dtype
x.new(2,2).shape
x.new([1,2])
x.new_tensor([1])
x.new_full((2,),3)
x.unfold(1,2,1).shape
x.chunk(2,1)[0].shape
x.split([1,2],1)[1].shape
x.split(2, dim=-1)[-1].shape
torch.split(x,1)[0].shape
x.unbind()[0]
x.topk(2)
x.topk(2, largest=False)[1]
x.sort(descending=True)[0]
x.argsort(dim=-1, descending=True)
x.cumsum(-1)
x.cumprod(dim=1)
x.prod()
x.median()
x.median(1)
x.mode(1)
x.quantile(.5)
x.quantile(torch.tensor([.25,.75]), dim=1)
torch.quantile(x, np.float64(.5))
x.histc(3)
x.unique(return_counts=True)
torch.bincount(torch.tensor([0,1,1]))
torch.nonzero(x > 3)
torch.nonzero(x > 3, as_tuple=True)
(x>3).nonzero(as_tuple=False).squeeze()
x.scatter_(1, torch.tensor([[0],[1]]), 9.)
x.gather(1, torch.tensor([[0],[1]]))
x.index_select(0, torch.tensor([1]))
x.index_fill(1, torch.tensor([0]), 5)
torch.take(x, torch.tensor([0,5]))
torch.einsum('ij,kj->ik', x, x)
torch.einsum('ij,kj->ik', [x, x])
torch.einsum('...j->...', x)
torch.einsum('i j, k j -> i k', x, x).shape
torch.tensordot(x, x, dims=([1],[1])).shape
torch.outer(x[0],x[1])
torch.ger(x[0],x[1]).shape
torch.dot(x[0],x[1])
torch.cdist(x,x)
torch.linalg.norm(x)
torch.linalg.inv(torch.eye(2)*2)
torch.det(torch.eye(2))
torch.meshgrid(torch.arange(2),torch.arange(3))[0].shape
torch.arange(0,1,.25)
torch.arange(5,0,-2)
torch.arange(np.int64(3))
torch.arange(torch.tensor(3))
torch.arange(3).float()/2
torch.linspace(0,1,i3)
torch.linspace(0,1,5.0)
torch.randint(0,10,(3,)).shape
torch.randint(10,size=(2,)).shape
torch.randint(low=0,high=2,size=(2,2)).dtype
torch.randperm(i3).shape
torch.normal(torch.zeros(2),torch.ones(2)).shape
torch.normal(0,1,size=(2,)).shape
torch.multinomial(torch.tensor([.5,.5]),1).shape
torch.bernoulli(torch.full((2,),.5)).shape
torch.eye(3)[[0,2]]
F.one_hot(torch.tensor([0,2]))
F.one_hot(torch.tensor([0,2]),4).float()
F.pad(x,(1,1))
F.pad(x,(0,0,1,0),value=-1).shape
F.pad(x[None],[1,1],mode='reflect').shape
F.softmax(x)
F.softmax(x,-1).sum()
torch.softmax(x,dim=1).shape
x.softmax(1).log().shape
F.log_softmax(x,dim=1)[0]
F.normalize(x)[0]
F.cosine_similarity(x[0],x[1],dim=0)
F.relu(x,inplace=True).sum()
F.dropout(x,.5,False).sum()
F.interpolate(x[None,None],scale_factor=2).shape
F.interpolate(x[None,None],size=4).shape
F.interpolate(x[None,None],size=(4,4),mode='bilinear').shape
F.upsample(x[None,None],scale_factor=2,mode='nearest').shape
F.mse_loss(x,x+1,reduce=False).shape
F.mse_loss(x,x+1,size_average=False)
F.smooth_l1_loss(x,x+2,beta=.5)
F.cross_entropy(x,torch.tensor([0,1]),weight=torch.tensor([1.,2.,3.]))
F.cross_entropy(x,torch.softmax(x,1))
F.nll_loss(F.log_softmax(x,1),torch.tensor([0,1]),reduction='none')
F.binary_cross_entropy_with_logits(x,(x>2).float(),pos_weight=torch.tensor(2.))
F.kl_div(x.log_softmax(1),(x**2).softmax(1),reduction='batchmean')
F.gelu(x,approximate='tanh').sum()
F.embedding(torch.tensor([0,1]),x)
F.linear(x,x)
F.conv1d(x[None],torch.ones(1,2,2)).shape
F.max_pool1d(x[None],2).shape
F.avg_pool1d(x,2)
x.requires_grad_().sum().backward()
x.detach().requires_grad
x.detach_().requires_grad
torch.is_tensor(x)
isinstance(x, torch.FloatTensor)
isinstance(x.long(), torch.LongTensor)
isinstance(x, torch.Tensor)
x.is_cuda
x.device.type
x.to('cpu') is x
x.to(x.device, torch.float64).dtype
x.to(torch.zeros(1).double()).dtype
x.cpu().data.numpy().sum()
x.nelement(), x.ndimension(), x.dim(), x.ndim, x.numel(), x.element_size(), x.nbytes, x.itemsize
x.storage().size()
x.storage_offset()
x.T.stride(0)
x.clone().fill_(3)
x.clone().zero_().sum()
x.clone().uniform_(-1,1).shape
x.clone().normal_(0,.02).shape
x.clone().copy_(torch.ones(3))
x.clone().add_(1).mul_(2).sub_(1).div_(3)
x.clone().addcmul_(x,x,value=.5)
x.clone().addcdiv_(x,x+1,value=-.1)
torch.addcmul(x,.5,x,x)
x.clone().add_(.5,x)
torch.addmm(torch.zeros(2,2),x,x.T)
torch.baddbmm(torch.zeros(1,2,2),x[None],x.T[None]).shape
torch.bmm(x[None],x.T[None]).shape
torch.mm(x,x)
torch.matmul(x,x[0])
torch.mv(x,x[0])
torch.manual_seed(0).initial_seed()
torch.get_default_dtype()
torch.finfo(torch.float32).eps
torch.iinfo(torch.int32).max
torch.float32.is_floating_point
torch.pi, torch.inf, torch.nan, torch.e
torch.tensor(float('nan')).isnan()
torch.isclose(x,x+1e-9).all()
torch.allclose(x,x)
torch.equal(x,x.clone())
copy.deepcopy(x).shape
x.T.shape, x.mT.shape, x.H.shape
x[:, 0].unsqueeze(1).expand_as(x).shape
torch.broadcast_tensors(x[0], x)[0].shape
torch.diag(x[0]).shape
torch.diag(x)
torch.tril(x)
x.triu(1)
torch.trace(torch.eye(3))
torch.kron(torch.eye(2),x).shape
torch.logsumexp(x,1)
torch.logsumexp(x,dim=(0,1))
torch.log1p(x).sum()
torch.atan2(x,x+1).sum()
torch.lerp(x,x+1,.5).sum()
torch.sign(x).sum()
torch.fmod(x,2)
torch.remainder(-x,2)
torch.floor_divide(x,2)
torch.true_divide(x,2)
torch.div(x,2,rounding_mode='floor')
x.ceil().int()
x.round(decimals=1)
x.frac().sum()
x.nan_to_num()
x.isfinite().all()
torch.complex(x,x).abs().sum()
torch.view_as_real(torch.complex(x,x)).shape
torch.polar(x,x).real.sum()
torch.fft.fft(x).abs().sum()
torch.searchsorted(x[0],torch.tensor([1.5]))
torch.bucketize(torch.tensor([1.5]),x[0])
torch.combinations(torch.arange(3))
torch.cartesian_prod(torch.arange(2),torch.arange(2))
torch.repeat_interleave(torch.arange(2),2)
x.repeat_interleave(torch.tensor([1,2]),dim=0).shape
torch.tile(x,(2,)).shape
torch.vstack([x,x]).shape, torch.hstack([x,x]).shape, torch.dstack([x,x]).shape
torch.atleast_2d(x[0]).shape
torch.diff(x)
torch.cross(x,x+1)
torch.trapz(x[0])
torch.vander(x[0])
torch.cov(x), torch.corrcoef(x)
"""

for line in TESTS.strip().splitlines():
    x = torch.arange(6.0).view(2, 3)
    torch.manual_seed(0)
    try:
        result = eval(line)
        print(line, "->", type(result).__name__, str(result).replace("\n", " "))
    except Exception as error:
        print(line, "!!", type(error).__name__, str(error).splitlines()[0][:110])
