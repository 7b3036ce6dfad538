import torch

# A small network learns the sine.
torch.manual_seed(0)
nn = torch.nn
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
x = torch.linspace(-3, 3, 100).unsqueeze(1)
for step in range(301):
    loss = nn.functional.mse_loss(model(x), x.sin())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3}  loss {loss.item():.5f}")
