"""Functions of numbers, and those that choose between values."""

from __future__ import annotations

from penstock.expressions.functions import type_rules as rules
from penstock.expressions.functions.function import function

NUMBERS = (
    function("abs(x:number)", rules.same, "The absolute value.", "abs(-3)", "3"),
    function("sign(x:number)", rules.same, "-1, 0 or 1; NaN stays.", "sign(-2.5)", "-1.0"),
    function("sqrt(x:number)", rules.FLOAT, "The square root; NaN below zero.", "sqrt(2.25)", "1.5"),
    function("exp(x:number)", rules.FLOAT, "e to the power of x.", "exp(0)", "1.0"),
    function("ln(x:number)", rules.FLOAT, "The natural logarithm; -inf at zero, NaN below.", "ln(1)", "0.0", "log"),
    function("log10(x:number)", rules.FLOAT, "The logarithm to base 10.", "log10(1)", "0.0"),
    function("power(x:number, y:number)", rules.FLOAT, "x to the power of y.", "power(2, 10)", "1024.0", "pow"),
    function("floor(x:number)", rules.same, "The largest whole number that is not above x.", "floor(-1.5)", "-2.0"),
    function(
        "ceil(x:number)", rules.same, "The smallest whole number that is not below x.", "ceil(1.2)", "2.0", "ceiling"
    ),
    function("trunc(x:number)", rules.same, "x without its fraction.", "trunc(-1.5)", "-1.0", "truncate"),
    function(
        "round(x:number, digits:integer?)",
        rules.same,
        "x to so many digits (default 0); halves go away from zero.",
        "round(2.375, 2)",
        "2.38",
    ),
    function(
        "least(x:any*)",
        rules.ordered("least"),
        "The smallest argument that is not null; NaN if one is NaN.",
        "least(3, null, 2)",
        "2",
    ),
    function(
        "greatest(x:any*)",
        rules.ordered("greatest"),
        "The largest argument that is not null; NaN if one is NaN.",
        "greatest(3, 2.5)",
        "3.0",
    ),
    function("sin(x:number)", rules.FLOAT, "The sine of x radians.", "sin(0)", "0.0"),
    function("cos(x:number)", rules.FLOAT, "The cosine of x radians.", "cos(0)", "1.0"),
    function("tan(x:number)", rules.FLOAT, "The tangent of x radians.", "tan(0)", "0.0"),
    function(
        "atan2(y:number, x:number)", rules.FLOAT, "The angle of the point (x, y), in radians.", "atan2(0, 1)", "0.0"
    ),
    function("is_nan(x:number)", rules.BOOL, "Whether x is NaN.", "is_nan(0.0 / 0)", "true"),
    function(
        "is_finite(x:number)", rules.BOOL, "Whether x is neither NaN nor infinite.", "is_finite(1.0 / 0)", "false"
    ),
)

CHOICES = (
    function(
        "if(condition:bool, then:any, otherwise:any)",
        rules.alternatives("if", 1),
        "`then` where the condition is true, else `otherwise`.",
        "if(2 > 1, 'yes', 'no')",
        "'yes'",
        "iif",
    ),
    function(
        "coalesce(x:any*)",
        rules.alternatives("coalesce"),
        "The first argument that is not null.",
        "coalesce(null, 5)",
        "5",
    ),
    function("nullif(x:any, y:any)", rules.nullif, "null where x = y, else x.", "nullif(3, 3)", "null"),
    function(
        "select(index:integer, x:any*)",
        rules.alternatives("select", 1),
        "The argument at an index from 0; null outside.",
        "select(1, 'JAN', 'FEB')",
        "'FEB'",
    ),
    function(
        "seq_num()",
        rules.INT,
        "The number of the tuple at its operator, from 0; makes the operator stateful.",
        "seq_num()",
        "0",
    ),
)
