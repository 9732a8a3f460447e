"""torch: modules with hooks, an optimizer with hooks, and their order in a backward pass."""

__version__ = "2.9.0"


class _Handle:
    def __init__(self, hooks, hook):
        self._hooks, self._hook = hooks, hook

    def remove(self):
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)


class Module:
    def __init__(self, **children):
        self._children = children
        self._pre, self._post, self._always, self._back_pre, self._back = [], [], [], [], []

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name)

    def register_forward_pre_hook(self, hook):
        self._pre.append(hook)
        return _Handle(self._pre, hook)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        hooks = self._always if always_call else self._post
        hooks.append(hook)
        return _Handle(hooks, hook)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        self._back_pre.append(hook)
        return _Handle(self._back_pre, hook)

    def register_full_backward_hook(self, hook, prepend=False):
        self._back.append(hook)
        return _Handle(self._back, hook)

    def __call__(self, x):
        for hook in self._pre:
            result = hook(self, (x,))
            assert result is None, "a hook that returns something replaces the input"
        try:
            out = self.forward(x)
        finally:
            for hook in self._always:
                assert hook(self, (x,), None) is None
        for hook in self._post:
            assert hook(self, (x,), out) is None
        return out

    def forward(self, x):
        for child in self._children.values():
            x = child(x)
        return x + 1

    def backward(self):
        """As autograd does after forward: outputs' gradients first, those of inputs last."""
        for hook in self._back_pre:
            assert hook(self, (1,)) is None
        for child in reversed(self._children.values()):
            child.backward()
        for hook in self._back:
            assert hook(self, (1,), (1,)) is None


class Optimizer:
    def __init__(self):
        self._pre, self._post = [], []

    def register_step_pre_hook(self, hook):
        self._pre.append(hook)
        return _Handle(self._pre, hook)

    def register_step_post_hook(self, hook):
        self._post.append(hook)
        return _Handle(self._post, hook)

    def step(self):
        for hook in self._pre:
            assert hook(self, (), {}) is None
        for hook in self._post:
            assert hook(self, (), {}) is None
