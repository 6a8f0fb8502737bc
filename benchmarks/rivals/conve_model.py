"""ConvE as Dettmers et al. (AAAI 2018) have it, in PyTorch: what pytorch_conve.py and captum_tracin.py measure."""

import torch


class ConvE(torch.nn.Module):
    """Scores of all entities for (head, relation): [B, N]. Embeddings of 200 as 20 x 10, 32 channels of 3 x 3."""

    def __init__(self, entities, relations, dim=200, width=10, channels=32, dropout=(0.2, 0.2, 0.3)):
        super().__init__()
        self.height, self.width = dim // width, width
        self.entity = torch.nn.Embedding(entities, dim)
        self.relation = torch.nn.Embedding(relations, dim)
        self.input_dropout = torch.nn.Dropout(dropout[0])
        self.feature_dropout = torch.nn.Dropout2d(dropout[1])
        self.hidden_dropout = torch.nn.Dropout(dropout[2])
        self.norm0, self.norm1, self.norm2 = (torch.nn.BatchNorm2d(1), torch.nn.BatchNorm2d(channels),
                                              torch.nn.BatchNorm1d(dim))
        self.convolution = torch.nn.Conv2d(1, channels, 3)
        self.linear = torch.nn.Linear(channels * (2 * self.height - 2) * (self.width - 2), dim)
        self.bias = torch.nn.Parameter(torch.zeros(entities))
        torch.nn.init.xavier_normal_(self.entity.weight)
        torch.nn.init.xavier_normal_(self.relation.weight)

    def forward(self, head, relation):
        shape = (-1, 1, self.height, self.width)
        image = torch.cat([self.entity(head).view(shape), self.relation(relation).view(shape)], 2)
        x = self.input_dropout(self.norm0(image))
        x = self.feature_dropout(torch.relu(self.norm1(self.convolution(x))))
        x = self.hidden_dropout(self.linear(x.flatten(1)))
        x = torch.relu(self.norm2(x))
        return x @ self.entity.weight.t() + self.bias


def queries_of(triples):
    """Distinct (head, relation) with inverses, and their tails; numbers in order of appearance."""
    entities, relations = {}, {}
    for h, r, t in triples:
        entities.setdefault(h, len(entities))
        entities.setdefault(t, len(entities))
        relations.setdefault(r, len(relations))
    tails = {}
    for h, r, t in triples:
        tails.setdefault((entities[h], 2 * relations[r]), []).append(entities[t])
        tails.setdefault((entities[t], 2 * relations[r] + 1), []).append(entities[h])
    return entities, relations, tails
