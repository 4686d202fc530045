"""Guards in the syntax tree: each loop, copy, comparison and joined text goes through a counting function.

The cost of a template cannot be seen from outside while it runs, so its tree is changed before it is compiled: the
nodes that can grow a value or repeat work become calls of the internal filters named here.
"""

from __future__ import annotations

from typing import Any

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

LOOP = "_loop"
SPEND = "_spend"
WEIGH = "_weigh"
CONCAT = "_concat"
COMPARE = "_compare"
SLICE = "_slice"
_LITERALS = (nodes.Const, nodes.TemplateData)


def add_guards(tree: nodes.Template) -> nodes.Template:
    """Change the tree in place, and return it."""
    _Guards().visit(tree)
    return tree


class _Guards(NodeTransformer):
    """Each method changes one kind of node, its children first."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.iter = _guard(node.iter, LOOP)
        node.body = [*_spending(node.body), *node.body]
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:
        self.generic_visit(node)
        node.body = [*_spending(node.body), *node.body]
        return node

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:
        self.generic_visit(node)
        node.body = [*_spending(node.body), *node.body]
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _guard(nodes.Tuple(node.nodes, "load", lineno=node.lineno), CONCAT)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        operands = [operand.expr for operand in node.ops]
        is_membership = any(operand.op in {"in", "notin"} for operand in node.ops)
        has_literal = any(isinstance(side, _LITERALS) for side in (node.expr, *operands))
        if has_literal and len(operands) == 1 and not is_membership:
            return node
        steps = [part for operand in node.ops for part in (nodes.Const(operand.op), operand.expr)]
        return _guard(node.expr, COMPARE, steps)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            bounds = (node.arg.start, node.arg.stop, node.arg.step)
            return _guard(node.node, SLICE, [bound or nodes.Const(None) for bound in bounds])
        if not isinstance(node.arg, _LITERALS):
            node.arg = _guard(node.arg, WEIGH)
        return node

    def visit_List(self, node: nodes.List) -> nodes.Node:
        self.generic_visit(node)
        return node if _is_flat(node.items) else _guard(node, WEIGH)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return node if node.ctx != "load" or _is_flat(node.items) else _guard(node, WEIGH)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        self.generic_visit(node)
        for pair in node.items:
            if not isinstance(pair.key, _LITERALS):
                pair.key = _guard(pair.key, WEIGH)
        return node if _is_flat([pair.value for pair in node.items]) else _guard(node, WEIGH)


def _guard(node: Any, name: str, args: list[Any] | None = None) -> nodes.Filter:
    return nodes.Filter(node, name, args or [], [], None, None, lineno=node.lineno)


def _spending(body: list[nodes.Node]) -> list[nodes.Node]:
    """Return a statement that counts the fixed text of a repeatable body."""
    chars = sum(len(data.data) for part in body for data in _texts(part))
    if not chars or not body:
        return []
    line = body[0].lineno
    return [nodes.ExprStmt(_guard(nodes.Const(chars, lineno=line), SPEND), lineno=line)]


def _texts(node: nodes.Node) -> list[nodes.TemplateData]:
    own = [node] if isinstance(node, nodes.TemplateData) else []
    return [*own, *node.find_all(nodes.TemplateData)]


def _is_flat(items: list[Any]) -> bool:
    return all(isinstance(item, _LITERALS) for item in items)
