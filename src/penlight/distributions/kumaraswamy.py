from ._continuous import Kumaraswamy as Kumaraswamy
