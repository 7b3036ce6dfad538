import torch, torch.nn as nn, torch.nn.functional as F, torch.nn.init as init, torch.optim as optim
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(123)


class SuperNet(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(8, 8, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        return self.pixel_shuffle(self.conv4(self.relu(self.conv2(self.relu(self.conv1(x))))))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight)


m = SuperNet(2)
opt = optim.Adam(m.parameters(), lr=0.01)
hi = torch.rand(4, 1, 16, 16)
lo = F.avg_pool2d(hi, 2)
crit = nn.MSELoss()
for e in range(4):
    opt.zero_grad()
    l = crit(m(lo), hi)
    l.backward()
    opt.step()
    from math import log10

    print("===> Epoch[{}]: Loss: {:.4f} PSNR {:.3f} dB".format(e, l.item(), 10 * log10(1 / l.item())))


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((4, 4))
        )
        self.fc = nn.Sequential(nn.Linear(4 * 16 * 2, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()
        self.cnn.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        o = self.cnn(x)
        return o.view(o.size()[0], -1)

    def forward(self, a, b):
        return self.sigmoid(self.fc(torch.cat((self.forward_once(a), self.forward_once(b)), 1)))


s = SiameseNetwork()
opt = optim.Adadelta(s.parameters(), lr=1.0)
sched = StepLR(opt, step_size=1, gamma=0.7)
crit = nn.BCELoss()
a, b = torch.rand(2, 6, 1, 12, 12)
t = torch.tensor([0.0, 1, 0, 1, 1, 0])
for ep in range(4):
    opt.zero_grad()
    out = s(a, b).squeeze()
    l = crit(out, t)
    l.backward()
    opt.step()
    sched.step()
    pred = torch.where(out > 0.5, 1, 0)
    print(ep, l.item(), pred.eq(t.view_as(pred)).sum().item(), sched.get_last_lr(), opt.param_groups[0]["lr"])


class TripletNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Linear(8, 4)

    def forward(self, *xs):
        return tuple(F.normalize(self.e(x), p=2, dim=1) for x in xs)


tn = TripletNet()
l = nn.TripletMarginLoss(margin=1.0, p=2)(*tn(*torch.randn(3, 5, 8)))
l.backward()
print(l, tn.e.weight.grad.norm(), nn.CosineEmbeddingLoss()(torch.ones(2, 3), torch.ones(2, 3), torch.tensor([1, -1])))
