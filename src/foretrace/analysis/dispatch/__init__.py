"""Which backend ``scaled_dot_product_attention`` runs for a call, and why each other one is not it.

``call`` says what dispatch looks at, ``releases`` what each PyTorch release asks for (data), ``checks`` how a rule
is held against a call, ``decide`` puts them together, ``recorded`` reads the calls of a trace.
"""
