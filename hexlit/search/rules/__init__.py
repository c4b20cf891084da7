"""The rules of the search, one module each.

A rule is a module with

- `Rule`, a `NamedTuple` of numbers and arrays: its settings in the form that compiled code takes;
- `compiled(settings, budgets)`, which makes one from the section `search.NAME`, for searches of
  these numbers of simulations;
- `choose(tree, g, node, rule)`: the child of `node` to go to, in the tree of game `g`; NONE for the
  best action not tried yet;
- `root_result(tree, g, policy, rule)`: writes the policy of the search into `policy` `[A]`, in the
  mover's frame, and returns its best action;
- `DRAWS_MOVE`: whether a player that explores draws its move from this policy.

It may have

- `prepare_root(tree, g, rule)`: writes scores or noise at a fresh root, before any action is tried;
- `needs_all_values(tree, g, rule)`: whether the next choice at the root must wait for the values of
  all waiting leaves;
- `with_budget(rule, simulations)`: the rule for a search of one position, whose visits at the root
  follow a plan for a known number of simulations.

The functions over a `Tree` are compiled into the kernels of the search.

A rule of another package is an entry point of the group `hexlit.searches` that leads to its module.
That module has `Config`, too: a dataclass derived from `hexlit.search.config.SearchConfig`, whose
`algorithm` is the name of the rule, with a field of this name for its settings.
"""
