import torch, pickle, copy, io, torch.nn as nn

m = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.LSTM(2, 2))
opt = torch.optim.Adam(m.parameters())
sch = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)
for o in (
    m,
    torch.ones(2),
    nn.Parameter(torch.ones(1)),
    torch.float32,
    torch.device("cpu"),
    torch.Size([1, 2]),
    torch.distributions.Normal(0.0, 1.0),
    torch.utils.data.TensorDataset(torch.ones(3)),
    torch.ones(2, 2).max(0),
    nn.CrossEntropyLoss(),
    torch.strided,
    torch.contiguous_format,
):
    b = pickle.loads(pickle.dumps(o))
    print(type(o), type(b) == type(o))
print(
    type(sch),
    type(opt),
    type(opt.state),
    torch.optim.lr_scheduler.StepLR,
    nn.CrossEntropyLoss,
    nn.LSTMCell,
    nn.Softmax,
    type(torch.nn.utils.rnn.pack_sequence([torch.ones(2)])),
)
torch.save(m, "m.pt")
print(type(torch.load("m.pt", weights_only=False)))
try:
    torch.linalg.inv(torch.zeros(2, 2))
except Exception as e:
    print(type(e))
print(
    type(torch.utils.data.DataLoader([1])),
    type(iter(torch.utils.data.DataLoader([1]))),
    type(torch.utils.data.RandomSampler([1])),
)
print(
    type(torch.nn.Parameter(torch.ones(1))),
    type(torch.float),
    type(torch.strided),
    type(m.state_dict()),
    torch.autograd.Variable,
    torch.typename(m),
    type(torch.ones(1).storage()),
    type(torch.ones(1).untyped_storage()),
)
print(
    type(torch.distributions.Normal(0, 1)),
    type(torch.distributions.constraints.positive),
    type(torch.no_grad()),
    torch.enable_grad,
    torch.cuda.amp.GradScaler,
    torch.amp.autocast,
    torch.nn.Module,
    torch.utils.data.Dataset,
    type(nn.ModuleDict()),
    type(nn.ParameterList()),
    type(torch.finfo(torch.float32)),
    torch.optim.Optimizer,
    torch.optim.LBFGS,
    torch.nn.MultiheadAttention,
    torch.nn.TransformerEncoder,
    torch.nn.BatchNorm2d,
    torch.nn.utils.parametrize.ParametrizationList,
    torch.optim.swa_utils.AveragedModel,
    torch.nn.GroupNorm,
)
